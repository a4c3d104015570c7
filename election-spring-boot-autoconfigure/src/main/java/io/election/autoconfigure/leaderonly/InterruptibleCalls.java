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
 * The calls of one election that are interrupted when their leadership no longer covers them. Whatever
 * the timing, an interruption reaches a call's thread within the call or not at all: the thread belongs
 * to a pool.
 */
final class InterruptibleCalls {

  private static final Logger log = LoggerFactory.getLogger(InterruptibleCalls.class);

  /** Of all elections: the flag that calls within each other share is the thread's. */
  private static final ThreadLocal<Call> INNERMOST = new ThreadLocal<>();

  private final String serviceId;

  private final Set<Call> running = new LinkedHashSet<>();

  private final LongAdder interrupted = new LongAdder();

  InterruptibleCalls(String serviceId) {
    this.serviceId = serviceId;
  }

  /**
   * Begins a call on this thread if this node leads. Asks and enters in one step: a leadership that
   * ends after the question finds the call.
   *
   * @param method what is called, for people
   * @param asksTerm the term in which this node leads; empty if it does not
   * @return whether the call may run; then {@link #end()} must follow on this thread
   */
  boolean begin(String method, Supplier<OptionalLong> asksTerm) {
    Call call;
    synchronized (this.running) {
      OptionalLong term = asksTerm.get();
      if (term.isEmpty()) {
        return false;
      }
      call = new Call(method, term.getAsLong(), INNERMOST.get());
      this.running.add(call);
    }
    INNERMOST.set(call);
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
   * Interrupts the calls that run, each once.
   *
   * @param term the term that no longer covers them, nor do earlier ones
   */
  void interrupt(long term) {
    List<Call> uncovered = new ArrayList<>();
    synchronized (this.running) {
      this.running.removeIf((call) -> call.term <= term && uncovered.add(call));
    }
    for (Call call : uncovered) {
      if (call.interrupt()) {
        this.interrupted.increment();
        log.info(
            "interrupted {}: the leadership of election '{}' in which it began (term {}) no longer covers it",
            call.method,
            this.serviceId,
            call.term);
      }
    }
  }

  /** How many calls have been interrupted. */
  long interrupted() {
    return this.interrupted.sum();
  }

  private static final class Call {

    private final String method;

    private final long term;

    /** The one within which this one runs; may be of another election. */
    private final @Nullable Call enclosing;

    private final Flag flag;

    /** Under {@link #flag}. */
    private boolean interrupted;

    /** Under {@link #flag}. */
    private boolean ended;

    Call(String method, long term, @Nullable Call enclosing) {
      this.method = method;
      this.term = term;
      this.enclosing = enclosing;
      this.flag = enclosing != null ? enclosing.flag : new Flag(Thread.currentThread());
    }

    /** Does nothing, and says so, if the call has ended. */
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
        // The flag may be there for the enclosing call as well: then that one clears it.
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

  /** The interruption of a thread, as far as it came from here; also the lock of all that decide it. */
  private static final class Flag {

    private final Thread thread;

    private boolean ours;

    Flag(Thread thread) {
      this.thread = thread;
    }

    void set() {
      // What somebody else has set before is not ours to clear.
      this.ours |= !this.thread.isInterrupted();
      this.thread.interrupt();
    }

    /** Called on the thread itself. */
    void clear() {
      if (this.ours) {
        this.ours = false;
        Thread.interrupted();
      }
    }
  }
}
