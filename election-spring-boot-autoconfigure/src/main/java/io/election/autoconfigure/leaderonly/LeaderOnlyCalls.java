package io.election.autoconfigure.leaderonly;

import io.election.ElectionService;
import io.election.ElectionSetupException;
import io.election.Leadership;
import io.election.NotLeaderException;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.TrackedLeaderWork;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationContextAware;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextClosedEvent;

/**
 * The calls that run under {@link io.election.LeaderOnly}, counted by election, so that a leader that
 * steps down can wait for their end, and those among them that are interrupted when it is over.
 */
public final class LeaderOnlyCalls
    implements TrackedLeaderWork, ApplicationContextAware, ApplicationListener<ContextClosedEvent> {

  private final Supplier<Elections> elections;

  /** Gives {@code null} where nothing depends on the term of a call. */
  private final Supplier<@Nullable TermBoundCalls> termBound;

  private final Map<String, Gate> gates = new ConcurrentHashMap<>();

  private final Object ends = new Object();

  private @Nullable ApplicationContext context;

  /** Those of the parent context, which may have elections that this one uses. */
  private @Nullable LeaderOnlyCalls parent;

  private volatile Runnable onEnd = () -> {};

  private volatile boolean closed;

  private volatile @Nullable CallListener listener;

  LeaderOnlyCalls(Supplier<Elections> elections, Supplier<@Nullable TermBoundCalls> termBound) {
    this.elections = elections;
    this.termBound = termBound;
  }

  @Override
  public void setApplicationContext(ApplicationContext context) {
    this.context = context;
    ApplicationContext parent = context.getParent();
    this.parent =
        parent != null ? parent.getBeanProvider(LeaderOnlyCalls.class).getIfAvailable() : null;
  }

  /** From now on no call begins: what runs drains, and nothing comes after it. */
  @Override
  public void onApplicationEvent(ContextClosedEvent event) {
    if (event.getApplicationContext() == this.context) {
      this.closed = true;
    }
  }

  /** Whether no call of this context may begin any more. */
  boolean isClosed() {
    return this.closed;
  }

  @Override
  public void onEnd(Runnable onEnd) {
    this.onEnd = onEnd;
  }

  /**
   * Sets who hears of each call.
   *
   * @param listener the listener
   */
  public void onCall(CallListener listener) {
    this.listener = listener;
  }

  /**
   * Gives the gate that the calls of an election pass.
   *
   * @param name the election; empty for the default one
   * @throws ElectionSetupException if there is no such election
   */
  Gate gate(String name) {
    Elections elections = this.elections.get();
    ElectionService election = elections.meantBy(name);
    if (election == null) {
      throw elections.unknown("@LeaderOnly", name);
    }
    LeaderOnlyCalls owner = owner(election);
    return owner.gates.computeIfAbsent(
        elections.nameOf(election), (id) -> owner.gate(id, election));
  }

  /** Calls are counted in the context that the election is in: its driver waits for them. */
  private LeaderOnlyCalls owner(ElectionService election) {
    LeaderOnlyCalls parent = this.parent;
    return parent != null && parent.elections.get().all().containsValue(election)
        ? parent.owner(election)
        : this;
  }

  private @Nullable Gate known(String serviceId) {
    Gate gate = this.gates.get(serviceId);
    return gate == null && this.parent != null ? this.parent.known(serviceId) : gate;
  }

  private Gate gate(String serviceId, ElectionService election) {
    TermBoundCalls termBound = this.termBound.get();
    return new Gate(
        serviceId, election, termBound != null && termBound.concern(election) ? termBound : null);
  }

  @Override
  public boolean isRunning(String serviceId) {
    Gate gate = this.gates.get(serviceId);
    return gate != null && gate.isOccupied();
  }

  /**
   * How many calls of an election run.
   *
   * @param serviceId the name of the election
   * @return the number of calls
   */
  public int running(String serviceId) {
    Gate gate = known(serviceId);
    return gate != null ? gate.inside.get() : 0;
  }

  /** Names the calls of an election that run, and their ages; the oldest comes first. */
  @Override
  public List<String> describe(String serviceId) {
    Gate gate = this.gates.get(serviceId);
    return gate != null
        ? gate.running.stream()
            .sorted(Comparator.comparingLong(Call::since))
            .map(Call::toString)
            .toList()
        : List.of();
  }

  /**
   * How many calls of an election were interrupted, since leadership went.
   *
   * @param serviceId the name of the election
   * @return the count since the start
   */
  public long interrupted(String serviceId) {
    Gate gate = known(serviceId);
    return gate != null ? gate.interruptible.interrupted() : 0;
  }

  @Override
  public void onUncovered(String serviceId, long term) {
    Gate gate = this.gates.get(serviceId);
    if (gate != null) {
      gate.interruptible.interrupt(term);
    }
  }

  @Override
  public void awaitEnd(Duration patience) {
    long deadline = System.nanoTime() + patience.toNanos();
    try {
      synchronized (this.ends) {
        while (this.gates.values().stream().anyMatch(Gate::isOccupied)) {
          long millis = TimeUnit.NANOSECONDS.toMillis(deadline - System.nanoTime());
          if (millis <= 0) {
            return;
          }
          this.ends.wait(millis);
        }
      }
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }

  private void ended() {
    synchronized (this.ends) {
      this.ends.notifyAll();
    }
    this.onEnd.run();
  }

  /** What came of a call. */
  public enum Outcome {
    /** It ended without an exception. */
    RAN,
    /** It ended with an exception. */
    FAILED,
    /** It did not begin, since this node does not lead. */
    SKIPPED
  }

  /** Hears of each call that has ended or was skipped, on its thread. */
  @FunctionalInterface
  public interface CallListener {

    /**
     * A call has ended or was skipped.
     *
     * @param serviceId the name of the election
     * @param method what was called, for people
     * @param outcome what came of it
     * @param nanos how long it ran; 0 if it was skipped
     */
    void ended(String serviceId, String method, Outcome outcome, long nanos);
  }

  /** A call that runs. */
  static final class Call {

    private final String method;

    private final long since = System.nanoTime();

    private Call(String method) {
      this.method = method;
    }

    private long since() {
      return this.since;
    }

    /** For people. */
    @Override
    public String toString() {
      return "%s since %d s"
          .formatted(this.method, TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - this.since));
    }
  }

  /** Where the calls of one election come through. */
  final class Gate {

    private final String serviceId;

    private final ElectionService election;

    private final @Nullable TermBoundCalls termBound;

    private final InterruptibleCalls interruptible;

    private final AtomicInteger inside = new AtomicInteger();

    private final Set<Call> running = ConcurrentHashMap.newKeySet();

    /** Whether somebody has seen a call inside, and wants to hear of its end. */
    private volatile boolean watched;

    private Gate(String serviceId, ElectionService election, @Nullable TermBoundCalls termBound) {
      this.serviceId = serviceId;
      this.election = election;
      this.termBound = termBound;
      this.interruptible = new InterruptibleCalls(serviceId);
    }

    String serviceId() {
      return this.serviceId;
    }

    NotLeaderException notLeader() {
      return new NotLeaderException(serviceId(), this.election.leaderId().orElse(null));
    }

    /**
     * Begins a call if this node leads. Counts before it asks: a leader that steps down, and then
     * finds nobody inside, has missed none.
     *
     * @param method what is called, for people
     * @return the call, which may run; then {@link #leave} must follow. {@code null} if it may not
     */
    @Nullable
    Call enter(String method) {
      return enter(method, this.election::isLeader);
    }

    /**
     * Begins a call that runs on this thread alone, so that what it does there depends on its term.
     *
     * @param method what is called, for people
     * @return the call, which may run; then {@link #leaveThread()} must follow on this thread, and
     *     {@link #leave} when the call has ended. {@code null} if it may not
     */
    @Nullable
    Call enterThread(String method) {
      return this.termBound != null ? enter(method, () -> begin().isPresent()) : enter(method);
    }

    /**
     * The same for a call that is interrupted when leadership no longer covers it.
     *
     * @param method what is called, for people
     * @return the call, which may run; then {@link #leaveInterruptible()} must follow on this thread,
     *     before the rest. {@code null} if it may not
     */
    @Nullable
    Call enterInterruptible(String method) {
      return enter(method, () -> this.interruptible.begin(method, this::begin));
    }

    /** Binds the call to the term in which this node leads, and gives that; empty if it does not lead. */
    private OptionalLong begin() {
      OptionalLong term = term();
      TermBoundCalls termBound = this.termBound;
      if (termBound != null) {
        term.ifPresent((number) -> termBound.begin(this.election, number));
      }
      return term;
    }

    private OptionalLong term() {
      Leadership leadership = this.election.leadership().orElse(null);
      if (!this.election.isLeader()) {
        return OptionalLong.empty(); // has the last word: a test says it of a spy that leads
      }
      if (leadership != null) {
        return OptionalLong.of(leadership.term());
      }
      // An application's own election need not tell more.
      return this.termBound == null ? OptionalLong.of(0) : OptionalLong.empty();
    }

    /** From now on the call is not interrupted any more. */
    void leaveInterruptible() {
      this.interruptible.end();
    }

    private @Nullable Call enter(String method, BooleanSupplier asksElection) {
      this.inside.incrementAndGet();
      Call call = null;
      try {
        if (!LeaderOnlyCalls.this.closed && asksElection.getAsBoolean()) {
          call = new Call(method);
          this.running.add(call);
        }
      } finally {
        if (call == null) {
          leave();
        }
      }
      return call;
    }

    /** The call leaves this thread; it may go on elsewhere. */
    void leaveThread() {
      TermBoundCalls termBound = this.termBound;
      if (termBound != null) {
        termBound.end();
      }
    }

    /** Tells the listener of a call that did not begin. */
    void skipped(String method) {
      tell(method, Outcome.SKIPPED, 0);
    }

    private void tell(String method, Outcome outcome, long nanos) {
      CallListener listener = LeaderOnlyCalls.this.listener;
      if (listener != null) {
        listener.ended(serviceId(), method, outcome, nanos);
      }
    }

    /** Ends a call, and tells the listener. */
    void leave(Call call, @Nullable Throwable failure) {
      try {
        tell(
            call.method,
            failure == null ? Outcome.RAN : Outcome.FAILED,
            System.nanoTime() - call.since);
      } finally {
        this.running.remove(call);
        leave();
      }
    }

    private void leave() {
      if (this.inside.decrementAndGet() == 0 && this.watched) {
        this.watched = false;
        ended();
      }
    }

    private boolean isOccupied() {
      if (this.inside.get() == 0) {
        return false;
      }
      this.watched = true;
      // The last one may have left before it could see that it is watched.
      return this.inside.get() != 0;
    }
  }
}
