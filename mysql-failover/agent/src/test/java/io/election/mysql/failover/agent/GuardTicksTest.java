package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class GuardTicksTest {

  private final GuardTicks ticks = new GuardTicks();

  private boolean standStill(long tick, long millis) {
    this.ticks.see(tick, TimeUnit.MILLISECONDS.toNanos(millis));
    return this.ticks.standStill();
  }

  @Test
  void aGuardThatCountsDoesNotStandStillHoweverSlowItIs() {
    for (int second = 0; second < 20; second++) {
      assertThat(standStill(second / 2, second * 1_000)).isFalse();
    }
  }

  @Test
  void aGuardThatDoesNotCountForThreeSecondsStandsStill() {
    assertThat(standStill(7, 0)).isFalse();
    assertThat(standStill(8, 1_000)).isFalse();
    assertThat(standStill(8, 2_000)).isFalse();
    assertThat(standStill(8, 3_000)).isFalse();
    assertThat(standStill(8, 3_999)).isFalse();
    assertThat(standStill(8, 4_000)).isTrue();
    assertThat(standStill(0, 5_000)).isTrue();
    assertThat(standStill(9, 6_000)).isFalse();
  }

  /** The guard had no time to count. */
  @Test
  void aGuardThatWasPausedOrStartedAgainDoesNotStandStill() {
    assertThat(standStill(8, 1_000)).isFalse();
    assertThat(standStill(8, 9_000)).isFalse();
    assertThat(standStill(8, 9_100)).isFalse();
    this.ticks.forget();
    assertThat(this.ticks.areKnown()).isFalse();
    assertThat(standStill(8, 9_200)).isFalse();
    assertThat(standStill(8, 10_200)).isFalse();
    assertThat(standStill(8, 11_200)).isFalse();
    assertThat(standStill(8, 12_200)).isTrue();
  }
}
