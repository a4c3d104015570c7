package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

/** What an agent tells its guard, and sees of it. */
class GuardTest {

  private final long start = System.nanoTime();

  private final Guard guard = new Guard(this.start);

  private long at(long millis) {
    return this.start + TimeUnit.MILLISECONDS.toNanos(millis);
  }

  private boolean standsStill(long tick, long millis) {
    this.guard.see(tick, at(millis));
    return this.guard.standsStill();
  }

  @Test
  void aGuardThatCountsDoesNotStandStillHoweverSlowItIs() {
    for (int second = 0; second < 20; second++) {
      assertThat(standsStill(1 + second / 2, second * 1_000)).isFalse();
    }
  }

  @Test
  void aGuardThatDoesNotCountForThreeSecondsStandsStill() {
    assertThat(standsStill(7, 0)).isFalse();
    assertThat(standsStill(8, 1_000)).isFalse();
    assertThat(standsStill(8, 2_000)).isFalse();
    assertThat(standsStill(8, 3_000)).isFalse();
    assertThat(standsStill(8, 3_999)).isFalse();
    assertThat(standsStill(8, 4_000)).isTrue();
    assertThat(standsStill(0, 5_000)).isTrue();
    assertThat(standsStill(9, 6_000)).isFalse();
  }

  /** The guard had no time to count. */
  @Test
  void aGuardThatWasPausedDoesNotStandStill() {
    assertThat(standsStill(8, 1_000)).isFalse();
    assertThat(standsStill(8, 9_000)).isFalse();
    assertThat(standsStill(8, 9_100)).isFalse();
  }

  @Test
  void aGuardThatNeverBeginsStandsStill() {
    for (int second = 0; second < 3; second++) {
      assertThat(standsStill(0, second * 1_000)).isFalse();
      assertThat(this.guard.counts()).isFalse();
    }
    assertThat(standsStill(0, 3_100)).isTrue();
  }

  @Test
  void aGuardWhoseServerDidNotAnswerIsNotToldAnythingUntilItsTickIsKnownAgain() {
    this.guard.see(20, at(0));
    this.guard.forget();
    assertThat(this.guard.serving(at(5_000))).isEqualTo(this.guard.ticks());
    this.guard.see(20, at(2_000));
    assertThat(this.guard.serving(at(7_000))).contains(".until.37',");
  }

  /** The last tick ends, and the guard has acted, before the given instant. */
  @Test
  void theLastTickIsRelativeToTheOneThatWasSeen() {
    this.guard.see(20, at(0));
    assertThat(this.guard.serving(at(5_000))).contains(".until.37',").contains(".until.0')");
    assertThat(this.guard.serving(at(5_249))).contains(".until.37',").contains(".until.37')");
    this.guard.see(20, at(1_000));
    assertThat(this.guard.serving(at(5_250))).contains(".until.34',").contains(".until.37')");
  }

  @Test
  void threeChecksInThreeSecondsSuffice() {
    assertThat(standsStill(8, 1_000)).isFalse();
    assertThat(standsStill(8, 2_000)).isFalse();
    assertThat(standsStill(8, 3_000)).isFalse();
    assertThat(standsStill(8, 4_000)).isTrue();
  }

  /** The server refuses the opening if less time is left than the guard needs. */
  @Test
  void theServerIsOpenedInTimeOrNotAtAllAndWithItsGuard() {
    String opening = this.guard.opening("(5000000 - 7)", "SELECT 1 -- clients\n");
    assertThat(opening)
        .startsWith(
            "SET GLOBAL super_read_only = IF((5000000 - 7) < 1250000, 'too late: the lease may have ended', 'OFF');")
        .contains(
            "SET last_tick = FLOOR(((5000000 - 7) - 750000) / 250000);",
            "CURSOR FOR SELECT 1 -- clients;",
            "SET last_tick = GREATEST(last_tick, (SELECT COALESCE(",
            "WHILE NOT EXISTS (SELECT * FROM performance_schema.metadata_locks")
        .doesNotContain("{", "%s");
    assertThat(this.guard.ticks()).contains(".tick.%'");
    String name = this.guard.ticks().replaceAll("(?s).*(mysql_failover[.][0-9]+)[.]tick.*", "$1");
    assertThat(opening).contains("GET_LOCK(CONCAT('" + name + ".tick.', tick), 0)");
  }
}
