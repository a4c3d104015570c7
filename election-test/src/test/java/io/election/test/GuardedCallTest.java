package io.election.test;

import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.election.LeaderOnlyAssert;
import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import org.assertj.core.api.Assertions;
import org.junit.jupiter.api.Test;

class GuardedCallTest {

  @Test
  void assertionsOfTheThreadHoldUntilItEnds() {
    assertThatIllegalStateException().isThrownBy(LeaderOnlyAssert::assertGuarded);
    GuardedCall call = GuardedCall.begin();
    LeaderOnlyAssert.assertGuarded();
    LeaderOnlyAssert.assertGuarded("billing");
    Assertions.assertThat(CompletableFuture.runAsync(LeaderOnlyAssert::assertGuarded))
        .failsWithin(Duration.ofSeconds(30));
    call.close();
    assertThatIllegalStateException().isThrownBy(() -> LeaderOnlyAssert.assertGuarded("billing"));
  }
}
