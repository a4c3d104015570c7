package io.election.support.process;

import java.time.Duration;

/** The faults of one direction of a {@link TcpProxy}. Thread-safe. */
final class Flow {

  private boolean held;
  private long delayNanos;
  private long jitterNanos;
  private long bytesPerSecond;
  private long freeAt;

  synchronized void hold() {
    this.held = true;
  }

  synchronized void delay(Duration delay, Duration jitter) {
    this.delayNanos = delay.toNanos();
    this.jitterNanos = jitter.toNanos();
  }

  synchronized void limit(int bytesPerSecond) {
    this.bytesPerSecond = bytesPerSecond;
    this.freeAt = System.nanoTime();
  }

  synchronized void heal() {
    this.held = false;
    this.delayNanos = 0;
    this.jitterNanos = 0;
    this.bytesPerSecond = 0;
    notifyAll();
  }

  /** The instant at which data that arrive now may pass. */
  synchronized long due() {
    return System.nanoTime() + this.delayNanos + (long) (Math.random() * this.jitterNanos);
  }

  /** Waits until a number of bytes that were due at an instant may pass. */
  synchronized void pass(long due, int bytes) throws InterruptedException {
    while (this.held || (this.delayNanos > 0 && due - System.nanoTime() > 0)) {
      wait(millis(this.held ? Long.MAX_VALUE : due - System.nanoTime()));
    }
    if (this.bytesPerSecond > 0) {
      long start = Math.max(this.freeAt, System.nanoTime());
      long end = start + bytes * 1_000_000_000L / this.bytesPerSecond;
      this.freeAt = end;
      while (this.bytesPerSecond > 0 && end - System.nanoTime() > 0) {
        wait(millis(end - System.nanoTime()));
      }
    }
  }

  private static long millis(long nanos) {
    return Math.max(1, nanos / 1_000_000);
  }
}
