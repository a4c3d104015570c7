package io.election.lease;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;

/**
 * Waits for the holder of most followed leases to hand them back, and makes the elector read the
 * records then. Nothing depends on it: whatever it misses, the next regular read shows.
 */
final class HandBackListener {

  /**
   * The number of fruitless waits after which the pause no longer doubles: it is eight leases then.
   */
  private static final int MAX_DOUBLINGS = 4;

  /** How long to wait if no holder is known. Only the elector is asked then, not the store. */
  private static final long ASK_AGAIN_NANOS = Duration.ofSeconds(1).toNanos();

  private final HandBackSignal signal;

  private final Elector elector;

  private final ElectionLog log;

  private final long renewNanos;

  private final long leaseNanos;

  private final Semaphore dismissals = new Semaphore(0);

  private volatile boolean dismissed;

  /**
   * The holder whose signal was fruitless, how often in a row, and until when not to wait for it.
   */
  private String vainHolder = "";

  private int inVain;

  private long restsUntil;

  HandBackListener(HandBackSignal signal, Elector elector, ElectionLog log) {
    this.signal = signal;
    this.elector = elector;
    this.log = log;
    this.renewNanos = elector.settings().renewInterval().toNanos();
    this.leaseNanos = elector.settings().leaseDuration().toNanos();
  }

  /** Listens until it is dismissed. */
  void run() {
    while (!this.dismissed) {
      try {
        this.dismissals.tryAcquire(listen(), NANOSECONDS);
      } catch (InterruptedException ex) {
        // Interrupted by unrelated code.
      } catch (Throwable ex) {
        survive(ex);
      }
    }
  }

  private void survive(Throwable failure) {
    try {
      this.log.signalFailed(failure);
    } catch (Throwable ex) {
      // Out of memory: logging is not possible.
    }
    LockSupport.parkNanos(Math.min(this.renewNanos, ASK_AGAIN_NANOS));
  }

  /** Ends the listening. Called by another thread. */
  void dismiss() {
    this.dismissed = true;
    this.dismissals.release();
    this.signal.close();
  }

  /** Waits for a signal if a holder is known. Returns how long to pause before the next call. */
  long listen() {
    Optional<String> holder = mainHolder();
    if (!holder.equals(Optional.of(this.vainHolder))) {
      this.inVain = 0;
    }
    long now = this.elector.now();
    if (holder.isEmpty() || (this.inVain > 0 && now - this.restsUntil < 0)) {
      return Math.min(this.renewNanos, ASK_AGAIN_NANOS);
    }
    if (isFruitful(holder.get(), now)) {
      this.inVain = 0;
      return 0;
    }
    // The holder lost its connection, none of its leases is available, or the wait ended at once.
    // If the holder died, another node holds the leases after one lease; until then this wait has
    // no value.
    this.vainHolder = holder.get();
    this.inVain = Math.min(this.inVain + 1, MAX_DOUBLINGS);
    this.restsUntil = this.elector.now() + (this.leaseNanos << (this.inVain - 1));
    return 0;
  }

  /** Returns the node that holds most of the leases that this node follows. */
  private Optional<String> mainHolder() {
    Map<String, Integer> holdings = new LinkedHashMap<>();
    for (Candidate candidate : this.elector.candidates()) {
      candidate.heldByAnother().ifPresent((holder) -> holdings.merge(holder, 1, Integer::sum));
    }
    return holdings.entrySet().stream().max(Map.Entry.comparingByValue()).map(Map.Entry::getKey);
  }

  private List<Candidate> heldBy(String holder) {
    return this.elector.candidates().stream()
        .filter((candidate) -> candidate.heldByAnother().filter(holder::equals).isPresent())
        .toList();
  }

  /**
   * Reads the records of all leases of a holder at once, and does what follows.
   *
   * @return whether the holder holds fewer leases now
   */
  private boolean lookAt(String holder) {
    List<Candidate> held = heldBy(holder);
    if (held.isEmpty()) {
      return true;
    }
    try {
      this.elector.ask(
          held.get(0),
          () -> held.forEach(
              (candidate) -> candidate.change((candidacy) -> candidacy.look(this.elector.now()))));
    } catch (Exception ex) {
      this.log.lookFailed(ex);
    }
    return heldBy(holder).size() < held.size();
  }

  /** Returns whether the wait was fruitful, or the next one may be. Never throws. */
  private boolean isFruitful(String holder, long since) {
    try {
      boolean[] found = new boolean[1];
      boolean signalled = this.signal.await(holder, () -> found[0] = lookAt(holder));
      this.log.signalAnswered();
      return signalled ? found[0] : this.elector.now() - since > this.renewNanos;
    } catch (Throwable ex) {
      if (!this.dismissed) {
        this.log.signalFailed(ex);
      }
      return false;
    }
  }
}
