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
 * Waits for the holder of what this node follows to hand back, and has the elector look then. Nothing
 * depends on it: what it misses, the next regular look shows.
 */
final class HandBackListener {

  /** After so many waits in vain the rest does not double any more: it is eight leases. */
  private static final int MAX_DOUBLINGS = 4;

  /** Who knows no holder asks the elector again, not the store. */
  private static final long ASK_AGAIN_NANOS = Duration.ofSeconds(1).toNanos();

  private final HandBackSignal signal;

  private final Elector elector;

  private final ElectionLog log;

  private final long renewNanos;

  private final long leaseNanos;

  private final Semaphore dismissals = new Semaphore(0);

  private volatile boolean dismissed;

  /** Whose signal was in vain, how many times in a row, and until when it is not waited for again. */
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
        // Somebody who has no business with this thread.
      } catch (Throwable ex) {
        survive(ex);
      }
    }
  }

  private void survive(Throwable failure) {
    try {
      this.log.signalFailed(failure);
    } catch (Throwable ex) {
      // Without memory nothing can be said.
    }
    LockSupport.parkNanos(Math.min(this.renewNanos, ASK_AGAIN_NANOS));
  }

  /** Ends the listening; from another thread. */
  void dismiss() {
    this.dismissed = true;
    this.dismissals.release();
    this.signal.close();
  }

  /** Waits for a signal if there is one to wait for. Returns how long to wait before the next. */
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
    // It lost its connection, none of its leases is to be had, or nobody keeps us waiting. If it
    // died, somebody else holds them after a lease, and until then all have better things to do.
    this.vainHolder = holder.get();
    this.inVain = Math.min(this.inVain + 1, MAX_DOUBLINGS);
    this.restsUntil = this.elector.now() + (this.leaseNanos << (this.inVain - 1));
    return 0;
  }

  /** Who holds most of what this node follows. */
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
   * Looks at once at what another node holds, and does what follows.
   *
   * @return whether it holds less now
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

  /** Whether waiting was of use, or will be. Whatever goes wrong is survived. */
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
