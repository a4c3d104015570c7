package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.Collections;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tests when followers poll. All times are milliseconds from now. */
class LooksTest {

  private static final long RENEW = 2_000;

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofSeconds(10), Duration.ofMillis(RENEW), Duration.ofSeconds(1), Duration.ZERO, true);

  private final Looks looks = new Looks(Duration.ofMillis(RENEW));

  @Test
  void comeShortlyAfterTheLeadersNextRenewalIsToBeExpected() {
    long lag = next(0) - nanos(RENEW);
    assertThat(lag).isBetween(nanos(RENEW) / 50, nanos(RENEW) / 12);
    assertThat(next(400)).isEqualTo(nanos(RENEW - 400) + lag);
  }

  @Test
  void comeAsMuchLaterAsRenewalsAreSeenLaterAndCloserAgainStepByStep() {
    next(RENEW);
    assertThat(next(RENEW / 5)).isEqualTo(nanos(RENEW));
    assertThat(next(RENEW / 5)).isEqualTo(nanos(RENEW) - nanos(RENEW) / 200);
    assertThat(next(RENEW / 5)).isEqualTo(nanos(RENEW) - nanos(RENEW) / 100);
  }

  @Test
  void doNotComeLaterForWhatTellsOfNoDelay() {
    long lag = next(0) - nanos(RENEW);
    for (long age : new long[] {RENEW / 2, -1}) {
      next(RENEW);
      next(age);
      assertThat(next(0) - nanos(RENEW)).as("%d", age).isEqualTo(lag);
    }
  }

  @Test
  void areSpreadWhereTheyTakeLong() {
    this.looks.took(nanos(RENEW));
    assertThat(spread()).as("a hiccup").isLessThan(nanos(RENEW) / 12);
    this.looks.took(nanos(RENEW));
    assertThat(spread()).isBetween(nanos(RENEW) / 3, nanos(RENEW) / 2);
    for (int i = 0; i < 50; i++) {
      this.looks.took(0);
    }
    assertThat(spread()).as("long ago").isLessThan(nanos(RENEW) / 12);
  }

  @Test
  void comeSoonIfTheLeadersRenewalIsALittleLate() {
    for (long late : new long[] {0, 1, RENEW / 10, RENEW / 5 - 1}) {
      assertThat(next(RENEW + late)).as("%d", late).isBetween(nanos(RENEW) / 20, nanos(RENEW) / 10);
    }
  }

  @Test
  void areElseNeverSoonerThanHalfAnIntervalNorLaterThanOneAndAHalf() {
    long late = RENEW + RENEW / 5;
    for (long age : new long[] {-5_000, 0, 1, 999, late, 1_999, 2 * RENEW, 9_999_999_999L}) {
      assertThat(next(age)).as("%d", age).isBetween(nanos(RENEW) / 2, nanos(RENEW) * 3 / 2);
    }
  }

  private long next(long age) {
    return this.looks.next(node("me"), 0, Duration.ofMillis(age));
  }

  /** The time between the first and the last poll of a hundred nodes. */
  private long spread() {
    List<Long> looks = IntStream.range(0, 100)
        .mapToObj(i -> this.looks.next(node("node-" + i), 0, Duration.ofMillis(5)))
        .toList();
    return Collections.max(looks) - Collections.min(looks);
  }

  private static Candidacy.Node node(String id) {
    return new Candidacy.Node(id, SETTINGS);
  }

  private static long nanos(long millis) {
    return millis * 1_000_000;
  }
}
