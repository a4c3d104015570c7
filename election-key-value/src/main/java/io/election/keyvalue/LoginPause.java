package io.election.keyvalue;

import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Keeps the connections of a store from repeating a login that its server has refused, for 30 to 45
 * s. Thread-safe.
 *
 * @param <F> what the server said
 */
public final class LoginPause<F> {

  /** Is spread: nodes that were refused together do not try again together. */
  private static final long NANOS = Duration.ofSeconds(30).toNanos();

  private final LongSupplier ticker;
  private @Nullable F refusal;
  private long until;

  /**
   * Creates a pause that forbids nothing.
   *
   * @param ticker the monotonic clock, in nanoseconds
   */
  public LoginPause(LongSupplier ticker) {
    this.ticker = ticker;
  }

  /**
   * Begins a login. After a refusal it counts as refused until it ends: no other thread logs in too.
   *
   * @return the last refusal, if the login must not be sent yet; {@code null} if it may
   */
  public synchronized @Nullable F begin() {
    if (this.refusal != null) {
      if (this.until - this.ticker.getAsLong() > 0) {
        return this.refusal;
      }
      pause();
    }
    return null;
  }

  /** Ends a login that the server has granted. */
  public synchronized void granted() {
    this.refusal = null;
  }

  /**
   * Ends a login that the server has refused.
   *
   * @param refusal what it said
   */
  public synchronized void refused(F refusal) {
    this.refusal = refusal;
    pause();
  }

  /**
   * Ends a login that has failed otherwise. After a refusal the next one is tried at once, unless
   * this one has timed out: a busy server may refuse a login only then.
   *
   * @param timedOut whether no answer came in time
   */
  public synchronized void failed(boolean timedOut) {
    if (timedOut) {
      pause();
    } else {
      this.until = this.ticker.getAsLong();
    }
  }

  private void pause() {
    long spread = ThreadLocalRandom.current().nextLong(NANOS / 2);
    this.until = this.ticker.getAsLong() + NANOS + spread;
  }
}
