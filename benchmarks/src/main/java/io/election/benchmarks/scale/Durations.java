package io.election.benchmarks.scale;

import java.util.Arrays;
import java.util.concurrent.atomic.AtomicLongArray;

/** How often which duration was measured, to one part in 64, up to a minute. */
final class Durations {

  /** How many counts there are. */
  static final int BUCKETS = 1408;

  private static final int FINE = 64;

  private static final int FINE_BITS = 6;

  private final long[] counts;

  private Durations(long[] counts) {
    this.counts = counts;
  }

  static Durations of(long[] counts) {
    return new Durations(counts);
  }

  static Durations of(AtomicLongArray counts) {
    long[] copy = new long[BUCKETS];
    Arrays.setAll(copy, counts::get);
    return new Durations(copy);
  }

  static Durations none() {
    return new Durations(new long[BUCKETS]);
  }

  /** Where a duration is counted. */
  static int bucket(long nanos) {
    long micros = Math.max(0, nanos / 1000);
    if (micros < FINE) {
      return (int) micros;
    }
    int exponent = Long.SIZE - 1 - Long.numberOfLeadingZeros(micros);
    int fine = (int) (micros >> (exponent - FINE_BITS)) & (FINE - 1);
    return Math.min((exponent - FINE_BITS + 1) * FINE + fine, BUCKETS - 1);
  }

  /** The longest duration in a bucket, in milliseconds. */
  private static double millis(int bucket) {
    if (bucket < FINE) {
      return (bucket + 1) / 1000.0;
    }
    int shift = bucket / FINE - 1;
    return ((long) (FINE + bucket % FINE + 1) << shift) / 1000.0;
  }

  Durations plus(Durations other) {
    long[] sum = new long[BUCKETS];
    Arrays.setAll(sum, (i) -> this.counts[i] + other.counts[i]);
    return new Durations(sum);
  }

  /** What was measured after an earlier state of the same. */
  Durations since(Durations before) {
    long[] difference = new long[BUCKETS];
    Arrays.setAll(difference, (i) -> this.counts[i] - before.counts[i]);
    return new Durations(difference);
  }

  long count() {
    return Arrays.stream(this.counts).sum();
  }

  /**
   * The duration that so many are not longer than.
   *
   * @param part for instance 0.99; 1 for the longest of all
   * @return milliseconds; not a number if nothing was measured
   */
  double millis(double part) {
    long count = count();
    if (count == 0) {
      return Double.NaN;
    }
    long rank = Math.max(1, (long) Math.ceil(count * part));
    long seen = 0;
    for (int i = 0; i < BUCKETS; i++) {
      seen += this.counts[i];
      if (seen >= rank) {
        return millis(i);
      }
    }
    return millis(BUCKETS - 1);
  }
}
