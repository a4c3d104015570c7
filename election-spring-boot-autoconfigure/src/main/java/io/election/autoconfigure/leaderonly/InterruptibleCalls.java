package io.election.autoconfigure.leaderonly;

import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The calls of one election that are interrupted when their leadership no longer protects them.
 * Whatever the timing, an interrupt reaches a call's thread within the call or not at all, because
 * the thread belongs to a pool.
 */
final class InterruptibleCalls {

  private static final Logger log = LoggerFactory.getLogger(InterruptibleCalls.class);

  /**
   * Covers the calls of all elections, because nested calls share the interrupt flag of their
   * thread.
   */
  private static final ThreadLocal<Call> INNERMOST = new ThreadLocal<>();

  private final String serviceId;

  private final Set<Call> running = new LinkedHashSet<>();

  /** The calls whose question is not answered yet. Guarded by {@link #running}. */
  private final Set<Call> asking = new LinkedHashSet<>();

  private final LongAdder interrupted = new LongAdder();

  InterruptibleCalls(String serviceId) {
    this.serviceId = serviceId;
  }

  /**
   * Begins a call on this thread if this node leads. If the leadership ends after the question, the
   * call is found and interrupted. No lock is held while the election is asked, since an
   * application's own election may not answer.
   *
   * @param method the called method, for display
   * @param asksTerm returns the term in which this node leads; empty if it does not
   * @return whether the call may run; {@link #end()} must then follow on this thread
   */
  boolean begin(String method, Supplier<OptionalLong> asksTerm) {
    Call call = new Call(method, INNERMOST.get());
    synchronized (this.running) {
      this.asking.add(call);
    }
    OptionalLong term = OptionalLong.empty();
    boolean lost = false;
    try {
      term = asksTerm.get();
    } finally {
      synchronized (this.running) {
        this.asking.remove(call);
        if (term.isPresent()) {
          call.term = term.getAsLong();
          lost = call.term <= call.lost;
          if (!lost) {
            this.running.add(call);
          }
        }
      }
    }
    if (term.isEmpty()) {
      return false;
    }
    INNERMOST.set(call);
    if (lost) {
      interrupt(call);
    }
    return true;
  }

  /** Ends the call that began last on this thread. */
  void end() {
    Call call = INNERMOST.get();
    synchronized (this.running) {
      this.running.remove(call);
    }
    call.end();
    if (call.enclosing != null) {
      INNERMOST.set(call.enclosing);
    } else {
      INNERMOST.remove();
    }
  }

  /**
   * Interrupts the running calls of a term and of earlier terms, each once.
   *
   * @param term the term that no longer protects them
   */
  void interrupt(long term) {
    List<Call> unprotected = new ArrayList<>();
    synchronized (this.running) {
      this.asking.forEach((call) -> call.lost = Math.max(call.lost, term));
      this.running.removeIf((call) -> call.term <= term && unprotected.add(call));
    }
    unprotected.forEach(this::interrupt);
  }

  private void interrupt(Call call) {
    if (call.interrupt()) {
      this.interrupted.increment();
      log.info(
          "interrupted {}: the leadership of election '{}' in which it began (term {}) no longer covers it",
          call.method,
          this.serviceId,
          call.term);
    }
  }

  /** The number of calls that have been interrupted. */
  long interrupted() {
    return this.interrupted.sum();
  }

  private static final class Call {

    private final String method;

    /** Guarded by {@link InterruptibleCalls#running} until the call runs. */
    private long term;

    /** The last term that ended while the election was asked. Guarded like the term. */
    private long lost = -1;

    /** The call within which this one runs; may belong to another election. */
    private final @Nullable Call enclosing;

    private final Flag flag;

    /** Guarded by {@link #flag}. */
    private boolean interrupted;

    /** Guarded by {@link #flag}. */
    private boolean ended;

    Call(String method, @Nullable Call enclosing) {
      this.method = method;
      this.enclosing = enclosing;
      this.flag = enclosing != null ? enclosing.flag : new Flag(Thread.currentThread());
    }

    /** Interrupts the call. Returns whether it did; it does nothing if the call has ended. */
    boolean interrupt() {
      synchronized (this.flag) {
        if (this.ended) {
          return false;
        }
        this.interrupted = true;
        this.flag.set();
        return true;
      }
    }

    void end() {
      synchronized (this.flag) {
        this.ended = true;
        // If the flag is also set for an enclosing call, that call clears it.
        if (this.interrupted && !isWithinInterrupted()) {
          this.flag.clear();
        }
      }
    }

    private boolean isWithinInterrupted() {
      for (Call call = this.enclosing; call != null; call = call.enclosing) {
        if (call.interrupted) {
          return true;
        }
      }
      return false;
    }
  }

  /**
   * The interrupt flag of a thread as far as it was set here. Also the lock for all decisions about
   * it.
   */
  private static final class Flag {

    private final Thread thread;

    private boolean ours;

    Flag(Thread thread) {
      this.thread = thread;
    }

    void set() {
      // A flag that other code set earlier must not be cleared here.
      this.ours |= !this.thread.isInterrupted();
      this.thread.interrupt();
    }

    /** Clears the flag. Called on the thread itself. */
    void clear() {
      if (this.ours) {
        this.ours = false;
        Thread.interrupted();
      }
    }
  }
}
