package io.election.benchmarks.sidebyside;

import java.time.Duration;
import org.springframework.context.SmartLifecycle;

/** Work that runs where the leader is, until its stop, which takes a while, has ended. */
final class Consumer implements SmartLifecycle {

  private static final Duration STOP = Duration.ofSeconds(3);

  private final int phase;

  private volatile boolean running;

  Consumer(int phase) {
    this.phase = phase;
  }

  @Override
  public void start() {
    this.running = true;
  }

  /** Ends what it has begun, even if it is interrupted. */
  @Override
  public void stop() {
    long end = System.nanoTime() + STOP.toNanos();
    boolean interrupted = false;
    for (long left = STOP.toNanos(); left > 0; left = end - System.nanoTime()) {
      try {
        Thread.sleep(Duration.ofNanos(left).toMillis() + 1);
      } catch (InterruptedException ex) {
        interrupted = true;
      }
    }
    this.running = false;
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Override
  public boolean isRunning() {
    return this.running;
  }

  @Override
  public int getPhase() {
    return this.phase;
  }

  @Override
  public boolean isAutoStartup() {
    return false;
  }
}
