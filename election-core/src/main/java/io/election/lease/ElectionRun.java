package io.election.lease;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.election.AuditNote;
import io.election.store.LeaseStore;
import java.util.List;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * One run of an elector: from a start to a stop, and beyond until everything is handed back.
 * Decides when the node begins to stand for its elections and when the run ends.
 */
final class ElectionRun {

  private final ElectorContext context;

  private final Node node;

  private final List<Candidate> candidates;

  private final boolean stepped;

  private final DeadlineWatch deadlines;

  private final ElectionLoop loop;

  private final HandBack handBack;

  /** The run that stands for the elections while this one waits to begin. */
  private volatile @Nullable ElectionRun earlier;

  private volatile Phase phase = Phase.NEW;

  private enum Phase {
    /** Not started. */
    NEW,
    /** Started, and waits for the end of an earlier run. */
    WAITING,
    /** Stands for its elections. */
    STANDING,
    /** Stopped, and hands its leases back. */
    LEAVING,
    /** Hands its leases back although the stop has returned, because leader work still runs. */
    UNATTENDED,
    /** Its threads must end as soon as possible. */
    DISMISSED,
    /** Its thread has ended. */
    ENDED
  }

  /**
   * Creates a run that has not begun.
   *
   * @param stepped whether it has no threads
   */
  ElectionRun(ElectorContext context, Node node, List<Candidate> candidates, boolean stepped) {
    this.context = context;
    this.node = node;
    this.candidates = candidates;
    this.stepped = stepped;
    this.deadlines =
        new DeadlineWatch(candidates, context.clocks(), context.pauseAfterFailure(), context.log());
    this.loop = new ElectionLoop(context, node, candidates, this::isRunning, stepped);
    this.handBack = new HandBack(context, node, candidates);
  }

  String nodeId() {
    return this.node.id();
  }

  List<Candidate> candidates() {
    return this.candidates;
  }

  DeadlineWatch deadlines() {
    return this.deadlines;
  }

  ElectionLoop loop() {
    return this.loop;
  }

  boolean isStepped() {
    return this.stepped;
  }

  /** Returns whether it was started and not stopped. */
  boolean isRunning() {
    return isWaiting() || this.phase == Phase.STANDING;
  }

  /** Returns whether it was started but does not stand for its elections yet. */
  boolean isWaiting() {
    return this.phase == Phase.WAITING;
  }

  /** Returns whether it was stopped and hands its leases back. */
  boolean isLeaving() {
    return this.phase == Phase.LEAVING;
  }

  /** Returns the run that stands for its elections or did so last: this one or an earlier one. */
  ElectionRun acting() {
    ElectionRun earlier = this.earlier;
    return earlier != null ? earlier : this;
  }

  /** Begins at once unless an earlier run of this elector still uses the store or keeps a lease. */
  void start(ElectionRun last) {
    this.earlier = last.acting();
    if (this.context.storeUse().isLocked()) {
      for (Candidate candidate : this.candidates) {
        // A pause ends with the run in which it was requested.
        candidate.change((candidacy) -> candidacy.resume(this.context.now()));
        this.context
            .log()
            .waits(
                candidate.serviceId(),
                this.node.id(),
                candidate.keepsLeaseAfterStop() ? candidate.runningWork() : null);
      }
      this.phase = Phase.WAITING;
    } else {
      begin(false);
    }
  }

  /** Waits until earlier runs of this elector neither use the store nor keep a lease. */
  private boolean awaitTurn() {
    while (this.phase != Phase.DISMISSED) {
      try {
        this.context.storeUse().lockInterruptibly();
        boolean begun = false;
        try {
          beginLate();
          begun = this.phase != Phase.DISMISSED;
        } finally {
          if (!begun) {
            this.context.storeUse().unlock();
          }
        }
        if (begun) {
          return true;
        }
      } catch (InterruptedException ex) {
        // Interrupted by a stop, which the loop condition detects, or by unrelated code.
      }
    }
    return false;
  }

  /** Begins after a wait, unless the run has begun already or was stopped. */
  private synchronized void beginLate() {
    if (this.phase == Phase.WAITING) {
      begin(true);
    }
  }

  /**
   * Begins to stand for the elections.
   *
   * @param late whether it had to wait; a node that was paused meanwhile remains paused
   */
  private void begin(boolean late) {
    this.earlier = null;
    this.loop.calls().begin();
    for (Candidate candidate : this.candidates) {
      candidate.change((candidacy) -> {
        Candidacy first = Candidacy.start(this.node, this.context.now());
        AuditNote pause = late ? candidacy.participation().pausedBy() : null;
        return pause != null ? first.pause(pause, this.context.now()) : first;
      });
      this.context.log().joined(candidate.serviceId(), this.node);
    }
    this.phase = Phase.STANDING;
  }

  /** Stops leading, without waiting. */
  synchronized void leave() {
    if (this.phase == Phase.WAITING) {
      this.phase = Phase.DISMISSED;
      return;
    }
    this.candidates.forEach(
        (candidate) -> candidate.change((candidacy) -> candidacy.stop(this.context.now())));
    // Set last: after this, the thread ends when there is nothing to hand back.
    this.phase = Phase.LEAVING;
  }

  /**
   * Continues after the stop returns if leases are kept for running work. Returns whether it does.
   */
  synchronized boolean goOnUnattended() {
    if (this.phase != Phase.LEAVING || !keepsLeases()) {
      return false;
    }
    this.phase = Phase.UNATTENDED;
    return true;
  }

  /** Returns whether leases are kept after a stop for running work. */
  boolean keepsLeases() {
    return this.candidates.stream()
        .anyMatch((candidate) -> candidate.keepsLeaseAfterStop()
            && this.context.work().mayBeRunning(candidate.serviceId()));
  }

  /** Makes the threads end as soon as possible. */
  synchronized void dismiss() {
    if (this.phase != Phase.ENDED) {
      this.phase = Phase.DISMISSED;
    }
    this.deadlines.dismiss();
  }

  /** Runs on the elector's thread. Until it returns, no other thread uses the store. */
  void run() {
    if (!awaitTurn()) {
      return;
    }
    try {
      this.loop.run(this::isOver);
    } finally {
      try {
        // After a stop has given up waiting, the entry in the register is not deleted.
        this.loop.close(this.phase != Phase.DISMISSED);
      } finally {
        try {
          end();
        } finally {
          this.context.storeUse().unlock();
        }
      }
    }
  }

  /**
   * Does everything that is due. For runs without threads.
   *
   * @return in how many nanoseconds something is due next
   */
  long step() {
    long pause = this.loop.doAllDue();
    if (!isRunning() && !this.handBack.isHandingBack()) {
      this.loop.close(this.phase != Phase.DISMISSED);
    }
    return pause;
  }

  /** Returns what a watch of the store calls. */
  LeaseStore.Wake wake() {
    return new LeaseStore.Wake() {
      @Override
      public void now() {
        if (ElectionRun.this.context.condition() != null) {
          // A leader that is not confirmed any more steps down.
          ElectionRun.this.candidates.forEach(Candidate::isLeader);
        }
        request((followed) -> followed.forEach((candidate) -> candidate.change(
            (candidacy) -> candidacy.readAgainAt(ElectionRun.this.context.now()))));
      }

      @Override
      public void inTurn(int ahead) {
        if (ahead == 0) {
          now();
        } else {
          request((followed) -> ElectionRun.this.loop.calls().awaitTurn(ahead));
        }
      }
    };
  }

  /**
   * Changes the elections that this node follows, if there are any, and waits until what follows is
   * done, or until the calling thread is interrupted, whose flag remains set. Throws nothing.
   */
  private void request(Consumer<List<Candidate>> change) {
    List<Candidate> followed =
        this.candidates.stream().filter(Candidate::follows).toList();
    if (followed.isEmpty() || this.phase != Phase.STANDING) {
      return;
    }
    try {
      this.context
          .inbox()
          .add(this.loop, followed.get(0), () -> change.accept(followed))
          .get(this.context.settings().operationTimeout().toNanos(), NANOSECONDS);
    } catch (InterruptedException ex) {
      // The store ends its watch, whose thread must still see that.
      Thread.currentThread().interrupt();
    } catch (Exception ex) {
      this.context.log().pollFailed(ex);
    }
  }

  private boolean isOver() {
    Phase phase = this.phase;
    if (phase == Phase.UNATTENDED) {
      this.handBack.remind();
    }
    return phase == Phase.DISMISSED || (phase != Phase.STANDING && this.handBack.isOver());
  }

  private void end() {
    Phase last;
    synchronized (this) {
      last = this.phase;
      this.phase = Phase.ENDED;
    }
    this.loop.answerRequest();
    this.deadlines.dismiss();
    if (last == Phase.UNATTENDED) {
      this.handBack.giveUp();
    }
  }
}
