package io.election.store;

/** A monotonic clock. Implementations must be thread-safe. */
@FunctionalInterface
public interface Ticker {

  /**
   * Reads the clock.
   *
   * @return nanoseconds since an arbitrary origin, which may be negative and may overflow: compare
   *     readings by subtraction only, as with {@link System#nanoTime()}
   */
  long read();
}
