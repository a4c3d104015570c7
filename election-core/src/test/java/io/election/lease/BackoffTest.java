package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;

/** How long the elector sends only renewals after a failure. */
class BackoffTest {

  private static final long INTERVAL = Duration.ofSeconds(2).toNanos();

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofSeconds(10), Duration.ofSeconds(2), Duration.ofSeconds(1), Duration.ZERO, true);

  private static final long NOW = Long.MAX_VALUE - INTERVAL / 8;

  private final Backoff backoff = new Backoff(new Candidacy.Node("a", SETTINGS));

  @Test
  void nothingHasFailedAtFirst() {
    assertThat(this.backoff.isOver(NOW)).isTrue();
    assertThat(this.backoff.remaining(NOW)).isZero();
  }

  @Test
  void aFirstFailureIsFollowedByAQuarterOfTheInterval() {
    this.backoff.failed(NOW);
    assertThat(this.backoff.remaining(NOW)).isEqualTo(INTERVAL / 4);
    assertThat(this.backoff.isOver(NOW + INTERVAL / 4 - 1)).isFalse();
    assertThat(this.backoff.isOver(NOW + INTERVAL / 4)).isTrue();
  }

  @Test
  void aRequestEndsIt() {
    this.backoff.failed(NOW);
    this.backoff.end();
    assertThat(this.backoff.isOver(NOW)).isTrue();
  }

  @Test
  void followersWaitLongerWithEachFailureEachForItsOwnTimeAndNoLongerThanAnInterval() {
    long[] waits = new long[6];
    for (int i = 0; i < waits.length; i++) {
      this.backoff.failed(NOW);
      waits[i] = this.backoff.remaining(NOW);
    }
    assertThat(waits).isSorted().endsWith(waits[3], waits[3]);
    assertThat(LongStream.of(waits).distinct()).hasSize(4);
    assertThat(waits[5]).isLessThanOrEqualTo(INTERVAL);
    Backoff other = new Backoff(new Candidacy.Node("b", SETTINGS));
    other.failed(NOW);
    other.failed(NOW);
    assertThat(other.remaining(NOW)).isNotEqualTo(waits[1]);
  }

  @Test
  void whoLedLastDoesNotWaitLonger() {
    this.backoff.answered(false);
    for (int i = 0; i < 4; i++) {
      this.backoff.failed(NOW);
    }
    assertThat(this.backoff.remaining(NOW)).isEqualTo(INTERVAL / 4);
  }

  @Test
  void anAnswerBeginsAnew() {
    this.backoff.failed(NOW);
    this.backoff.failed(NOW);
    this.backoff.answered(true);
    this.backoff.failed(NOW);
    assertThat(this.backoff.remaining(NOW)).isEqualTo(INTERVAL / 4);
  }
}
