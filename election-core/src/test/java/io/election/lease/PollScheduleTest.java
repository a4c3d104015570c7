package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.store.LeaseSettings;
import java.time.Duration;
import java.util.List;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;

/** Tests when followers poll. All times are milliseconds from now. */
class PollScheduleTest {

  private static final long RENEW = 2_000;

  @Test
  void aPollComesShortlyAfterTheLeadersNextRenewalIsExpected() {
    long lag = next(0) - nanos(RENEW);
    assertThat(lag).isBetween(nanos(RENEW) / 32, nanos(RENEW) * 3 / 32);
    assertThat(next(900)).isEqualTo(nanos(RENEW - 900) + lag);
  }

  @Test
  void nodesPollOneAfterAnother() {
    List<Long> polls = IntStream.range(0, 100)
        .mapToObj((i) -> schedule("node-" + i).next(0, 0, Duration.ofMillis(5)) - nanos(RENEW - 5))
        .sorted()
        .toList();
    assertThat(polls.get(0)).isBetween(nanos(RENEW) / 32, nanos(RENEW) * 5 / 128);
    assertThat(polls.get(99)).isBetween(nanos(RENEW) * 11 / 128, nanos(RENEW) * 3 / 32);
  }

  @Test
  void thePollsOfManyNodesAreSpreadFurtherButNotThoseOfAFew() {
    assertThat(lastOf(100, 31)).isLessThan(nanos(RENEW) * 3 / 32);
    assertThat(lastOf(100, 32)).isBetween(nanos(RENEW) * 4 / 32, nanos(RENEW) * 5 / 32);
    assertThat(lastOf(100, 1000)).isBetween(nanos(RENEW) * 14 / 32, nanos(RENEW) / 2);
  }

  /** The last poll of some nodes after the leader's next renewal is expected. */
  private static long lastOf(int nodes, int members) {
    return IntStream.range(0, nodes)
            .mapToLong((i) -> schedule("node-" + i, members).next(0, 0, Duration.ZERO))
            .max()
            .orElseThrow()
        - nanos(RENEW);
  }

  @Test
  void aPollFollowsSoonIfTheLeadersRenewalIsALittleLate() {
    for (long late : new long[] {0, 1, RENEW / 10, RENEW / 4 - 1}) {
      assertThat(next(RENEW + late)).as("%d", late).isEqualTo(nanos(RENEW) / 16);
    }
  }

  @Test
  void nodesWhoseIdsDifferInTheLastCharacterDoNotPollTogether() {
    double apart = IntStream.range(1000, 2000)
        .mapToLong((i) -> Math.abs(lag("host:8080:" + i) - lag("host:8080:" + (i + 1))))
        .average()
        .orElseThrow();
    assertThat(apart).isGreaterThan(nanos(RENEW) / 16 / 4.0);
  }

  @Test
  void aRenewalThatIsSeenLateIsPolledAsLateTheNextTimeAndThenSoonerStepByStep() {
    long lag = next(0) - nanos(RENEW);
    long eighth = (nanos(RENEW / 8) - lag) / 8;
    assertThat(next(RENEW / 8)).isEqualTo(nanos(RENEW) - eighth);
    assertThat(next(RENEW / 4)).as("no delay").isEqualTo(nanos(RENEW) - nanos(RENEW) / 4 + lag);
  }

  @Test
  void slowReadsDoNotMakePollsLaterAndLater() {
    PollSchedule schedule = schedule("me");
    long lag = next(0) - nanos(RENEW);
    for (long took : new long[] {nanos(1), nanos(10), nanos(100)}) {
      long sent = nanos(RENEW) / 4 - took;
      for (int i = 1; i <= 50; i++) {
        // The leader renews at the beginning of each interval.
        long begin = (i - 1) * nanos(RENEW);
        long middle = sent + took / 2 - begin;
        sent = schedule.next(sent, sent + took, Duration.ofNanos(middle));
      }
      assertThat(sent % nanos(RENEW)).as("%d", took).isBetween(lag, lag + nanos(RENEW) / 200);
    }
  }

  @Test
  void anAgeThatCannotBeTrueCountsAsThatOfANewRecord() {
    for (long age : new long[] {-1, -5_000, 9_999_999_999L}) {
      assertThat(next(age)).as("%d", age).isEqualTo(next(0));
    }
    Duration hour = LeaseSettings.MAX_LEASE;
    PollSchedule odd = new PollSchedule(
        new Node(
            "me", new LeaseSettings(hour, Duration.ofSeconds(7), hour.dividedBy(4), hour, true)),
        () -> 1000);
    assertThat(odd.next(0, 0, hour)).isNotEqualTo(odd.next(0, 0, Duration.ZERO));
  }

  @Test
  void anyOtherPollComesNeverSoonerThanHalfAnIntervalNorLaterThanOneAndAHalf() {
    long late = RENEW + RENEW / 4;
    for (long age :
        new long[] {-5_000, 0, 1, 999, 1_100, 1_999, late, 2 * RENEW, 2 * RENEW + 1, 9_999_999_999L
        }) {
      assertThat(next(age)).as("%d", age).isBetween(nanos(RENEW) / 2, nanos(RENEW) * 3 / 2);
    }
    long half = nanos(RENEW) / 2;
    assertThat(schedule("me").next(0, 0, Duration.ofNanos(lag("me") - half))).isEqualTo(half);
    assertThat(lastOf(1000, 1000)).as("in a crowd").isLessThan(half);
  }

  @Test
  void nodesThatLostARaceReadOneAfterAnotherWithinAnIntervalAndASixteenth() {
    List<Long> polls = IntStream.range(0, 100)
        .mapToObj((i) -> schedule("node-" + i).afterLostRace(0))
        .sorted()
        .toList();
    assertThat(polls.get(0)).isBetween(nanos(RENEW) / 16, nanos(RENEW) / 8);
    assertThat(polls.get(99)).isBetween(nanos(RENEW), nanos(RENEW) * 17 / 16);
    assertThat(lastLoser(199)).isBetween(nanos(RENEW), nanos(RENEW) * 17 / 16);
    assertThat(lastLoser(200)).isBetween(nanos(RENEW) * 2, nanos(RENEW) * 33 / 16);
    assertThat(lastLoser(1000)).isBetween(nanos(RENEW) * 4, nanos(RENEW) * 65 / 16);
  }

  private static long lastLoser(int members) {
    return IntStream.range(0, 1000)
        .mapToLong((i) -> schedule("node-" + i, members).afterLostRace(0))
        .max()
        .orElseThrow();
  }

  @Test
  void ofManyCandidatesEachTriesLaterThanTheOneBeforeItAndAllWithinAnInterval() {
    assertThat(schedule("me").turn(0)).isZero();
    for (int ahead = 1; ahead < 1000; ahead++) {
      assertThat(schedule("me").turn(ahead))
          .as("%d", ahead)
          .isBetween(schedule("me").turn(ahead - 1) + 1, nanos(RENEW) - 1);
    }
    assertThat(schedule("me").turn(1)).isGreaterThan(nanos(RENEW) / 10);
  }

  private static long lag(String id) {
    return schedule(id).next(0, 0, Duration.ZERO);
  }

  private static long next(long age) {
    return schedule("me").next(0, 0, Duration.ofMillis(age));
  }

  private static PollSchedule schedule(String id) {
    return schedule(id, 0);
  }

  private static PollSchedule schedule(String id, int members) {
    return new PollSchedule(new Node(id, ElectorFixture.SETTINGS), () -> members);
  }

  private static long nanos(long millis) {
    return millis * 1_000_000;
  }
}
