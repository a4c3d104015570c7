package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** How long the elector sends only renewals after a failure. */
class BackoffTest {

  private static final long INTERVAL = Duration.ofSeconds(2).toNanos();

  private static final long NOW = Long.MAX_VALUE - INTERVAL / 8;

  private int members = 3;

  private final Backoff backoff =
      new Backoff(new Node("a", ElectorFixture.SETTINGS), () -> this.members);

  @Test
  void nothingHasFailedAtFirst() {
    assertThat(this.backoff.isOver(NOW)).isTrue();
    assertThat(this.backoff.remaining(NOW)).isZero();
  }

  @Test
  void aFirstFailureIsFollowedByAtMostAQuarterOfTheInterval() {
    this.backoff.failed(NOW, false);
    long pause = this.backoff.remaining(NOW);
    assertThat(pause).isBetween(INTERVAL / 8, INTERVAL / 4);
    assertThat(this.backoff.isOver(NOW + pause - 1)).isFalse();
    assertThat(this.backoff.isOver(NOW + pause)).isTrue();
  }

  @Test
  void aRequestEndsIt() {
    this.backoff.failed(NOW, false);
    this.backoff.end();
    assertThat(this.backoff.isOver(NOW)).isTrue();
  }

  @Test
  void thePauseDoublesWithEachFailureUpToAnIntervalAndDiffersFromNodeToNode() {
    List<Long> pauses = pauses(this.backoff, false);
    long first = pauses.get(0);
    assertThat(pauses).containsExactly(first, 2 * first, 4 * first, 4 * first, 4 * first);
    assertThat(4 * first).isBetween(INTERVAL / 2, INTERVAL);
    Backoff other = new Backoff(new Node("b", ElectorFixture.SETTINGS), () -> this.members);
    assertThat(pauses(other, false)).doesNotContainAnyElementsOf(pauses);
  }

  @Test
  void thePausesOfTheNodeThatLedLastDoNotGrow() {
    assertThat(pauses(this.backoff, true))
        .containsOnly(pauses(this.backoff, true).get(0));
    assertThat(this.backoff.remaining(NOW)).isLessThanOrEqualTo(INTERVAL / 4);
  }

  @Test
  void forEachHundredMembersThePauseGrowsUpToOneMoreIntervalButNeverAboveALease() {
    this.members = 300;
    List<Long> pauses = pauses(this.backoff, false);
    assertThat(pauses.get(0)).isBetween(INTERVAL * 3 / 8, INTERVAL * 3 / 4);
    assertThat(pauses.get(4)).isGreaterThan(2 * pauses.get(0)).isLessThanOrEqualTo(3 * INTERVAL);
    this.members = 100_000;
    assertThat(pauses(this.backoff, false).get(4))
        .isBetween(ElectorFixture.LEASE.toNanos() / 2, ElectorFixture.LEASE.toNanos());
  }

  @Test
  void anAnswerHalvesTheNextPause() {
    List<Long> pauses = pauses(this.backoff, false);
    this.backoff.answered();
    this.backoff.failed(NOW, false);
    assertThat(this.backoff.remaining(NOW)).isEqualTo(pauses.get(1));
    for (int i = 0; i < 10; i++) {
      this.backoff.answered();
    }
    this.backoff.failed(NOW, false);
    assertThat(this.backoff.remaining(NOW)).isEqualTo(pauses.get(0));
  }

  private static List<Long> pauses(Backoff backoff, boolean ledLast) {
    List<Long> pauses = new ArrayList<>();
    for (int i = 0; i < 5; i++) {
      backoff.failed(NOW, ledLast);
      pauses.add(backoff.remaining(NOW));
    }
    return pauses;
  }
}
