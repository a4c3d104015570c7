package io.election.playground;

/** The clock of the page: milliseconds since the playground began. */
final class Moments {

  private static final double MILLISECOND = 1_000_000.0;

  private final long start = System.nanoTime();

  /** Converts an instant of {@link System#nanoTime()}. */
  double at(long nanoTime) {
    return (nanoTime - start) / MILLISECOND;
  }

  double now() {
    return at(System.nanoTime());
  }

  /** The instant that was some milliseconds ago. */
  static long ago(long milliseconds) {
    return System.nanoTime() - milliseconds * 1_000_000;
  }
}
