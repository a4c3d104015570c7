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

  private final Backoff backoff = new Backoff(new Node("a", ElectorFixture.SETTINGS));

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
    Backoff other = new Backoff(new Node("b", ElectorFixture.SETTINGS));
    assertThat(pauses(other, false)).doesNotContainAnyElementsOf(pauses);
  }

  @Test
  void thePausesOfTheNodeThatLedLastDoNotGrow() {
    assertThat(pauses(this.backoff, true))
        .containsOnly(pauses(this.backoff, true).get(0));
    assertThat(this.backoff.remaining(NOW)).isLessThanOrEqualTo(INTERVAL / 4);
  }

  @Test
  void anAnswerBeginsAnew() {
    this.backoff.failed(NOW, false);
    long first = this.backoff.remaining(NOW);
    this.backoff.failed(NOW, false);
    this.backoff.answered();
    this.backoff.failed(NOW, false);
    assertThat(this.backoff.remaining(NOW)).isEqualTo(first);
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
