package io.election.benchmarks.scale;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.within;

import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;

class DurationsTest {

  private final long[] counts = new long[Durations.BUCKETS];

  @Test
  void partsAreWithinOnePartInSixtyFour() {
    for (int millis = 1; millis <= 1000; millis++) {
      record(millis);
    }
    Durations durations = Durations.of(this.counts);
    assertThat(durations.count()).isEqualTo(1000);
    assertThat(durations.millis(0.5)).isCloseTo(500, within(500 / 64.0));
    assertThat(durations.millis(0.99)).isCloseTo(990, within(990 / 64.0));
    assertThat(durations.millis(1)).isCloseTo(1000, within(1000 / 64.0));
  }

  @Test
  void theLongestIsNotLostAmongMany() {
    for (int i = 0; i < 1000; i++) {
      record(2);
    }
    record(30_000);
    assertThat(Durations.of(this.counts).millis(0.999)).isCloseTo(2, within(0.1));
    assertThat(Durations.of(this.counts).millis(1)).isCloseTo(30_000, within(500.0));
  }

  @Test
  void whatWasBeforeDoesNotCount() {
    record(500);
    Durations before = Durations.of(this.counts.clone());
    record(2);
    assertThat(Durations.of(this.counts).since(before).millis(1)).isCloseTo(2, within(0.1));
    assertThat(before.since(before).millis(1)).isNaN();
  }

  private void record(long millis) {
    this.counts[Durations.bucket(TimeUnit.MILLISECONDS.toNanos(millis))]++;
  }
}
