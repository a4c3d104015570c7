package io.election.keyvalue;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.atomic.AtomicLong;
import org.junit.jupiter.api.Test;

class LoginPauseTest {

  private final AtomicLong nanos = new AtomicLong();

  private final LoginPause<String> pause = new LoginPause<>(this.nanos::get);

  private void pass(long millis) {
    this.nanos.addAndGet(Duration.ofMillis(millis).toNanos());
  }

  private void assertPauses() {
    assertThat(this.pause.begin()).isEqualTo("wrong password");
    pass(29_999);
    assertThat(this.pause.begin()).isEqualTo("wrong password");
    pass(15_001);
  }

  @Test
  void aLoginThatWasNeverRefusedDoesNotWait() {
    assertThat(this.pause.begin()).isNull();
    this.pause.failed(true);
    assertThat(this.pause.begin()).isNull();
  }

  @Test
  void eachRefusalIsFollowedByAPause() {
    for (int i = 0; i < 3; i++) {
      assertThat(this.pause.begin()).isNull();
      this.pause.refused("wrong password");
      assertPauses();
    }
    assertThat(this.pause.begin()).isNull();
    this.pause.granted();
    assertThat(this.pause.begin()).isNull();
  }

  @Test
  void anAttemptCountsAsRefusedUntilItEndsAndAfterATimeout() {
    this.pause.refused("wrong password");
    assertPauses();
    assertThat(this.pause.begin()).isNull();
    assertPauses();
    assertThat(this.pause.begin()).isNull();
    pass(10_000);
    this.pause.failed(true);
    assertPauses();
    assertThat(this.pause.begin()).isNull();
    this.pause.failed(false);
    assertThat(this.pause.begin()).as("nothing was sent").isNull();
  }
}
