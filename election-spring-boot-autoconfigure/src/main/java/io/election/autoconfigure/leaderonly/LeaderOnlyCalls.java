package io.election.autoconfigure.leaderonly;

import io.election.ElectionService;
import io.election.ElectionSetupException;
import io.election.Fence;
import io.election.LeaderOnlyAssert;
import io.election.Leadership;
import io.election.LeadershipEvent;
import io.election.NotLeaderException;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.TrackedLeaderWork;
import io.election.autoconfigure.leaderonly.Permits.Binding;
import io.election.autoconfigure.leaderonly.Permits.Permit;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.DisposableBean;
import org.springframework.beans.factory.InitializingBean;
import org.springframework.boot.ApplicationArguments;
import org.springframework.boot.context.event.ApplicationReadyEvent;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ApplicationContextAware;
import org.springframework.context.ApplicationEvent;
import org.springframework.context.ApplicationListener;
import org.springframework.context.event.ContextClosedEvent;
import org.springframework.context.event.ContextRefreshedEvent;
import org.springframework.context.event.EventListener;

/**
 * The running {@link io.election.LeaderOnly} calls, counted by election so that a leader that steps
 * down can wait for their end. Interrupts those with {@code interruptOnLoss} when their
 * leadership is over.
 */
public final class LeaderOnlyCalls
    implements TrackedLeaderWork,
        LeaderOnlyAssert.Guard,
        ApplicationContextAware,
        InitializingBean,
        DisposableBean,
        ApplicationListener<ContextClosedEvent> {

  private final Supplier<Elections> elections;

  /** Supplies {@code null} if nothing depends on the term of a call. */
  private final Supplier<@Nullable Fence> fence;

  private final Map<String, Gate> gates = new ConcurrentHashMap<>();

  private final Object ends = new Object();

  private @Nullable ApplicationContext context;

  /** The calls of the parent context, which may have elections that this context uses. */
  private @Nullable LeaderOnlyCalls parent;

  private volatile Runnable onEnd = () -> {};

  private volatile boolean closed;

  /** The thread that starts the application, until it has started. */
  private volatile @Nullable Thread starting = Thread.currentThread();

  private volatile @Nullable CallListener listener;

  LeaderOnlyCalls(Supplier<Elections> elections, Supplier<@Nullable Fence> fence) {
    this.elections = elections;
    this.fence = fence;
  }

  @Override
  public void setApplicationContext(ApplicationContext context) {
    this.context = context;
    ApplicationContext parent = context.getParent();
    this.parent =
        parent != null ? parent.getBeanProvider(LeaderOnlyCalls.class).getIfAvailable() : null;
  }

  /** The start ends with the runners of a SpringApplication, and without one with the refresh. */
  @EventListener({ApplicationReadyEvent.class, ContextRefreshedEvent.class})
  void onStarted(ApplicationEvent event) {
    if (event instanceof ApplicationReadyEvent || !hasRunners()) {
      this.starting = null;
    }
  }

  private boolean hasRunners() {
    ApplicationContext context = this.context;
    return context != null
        && context.getBeanNamesForType(ApplicationArguments.class, false, false).length > 0;
  }

  @Override
  public void afterPropertiesSet() {
    LeaderOnlyAssert.add(this);
  }

  @Override
  public void destroy() {
    LeaderOnlyAssert.remove(this);
  }

  @Override
  public boolean isPassed(@Nullable String serviceId) {
    for (Gate gate : this.gates.values()) {
      if ((serviceId == null || serviceId.equals(gate.serviceId)) && gate.hasThisThread()) {
        return true;
      }
    }
    return false;
  }

  /** Lets no further call begin; running calls drain. */
  @Override
  public void onApplicationEvent(ContextClosedEvent event) {
    if (event.getApplicationContext() == this.context) {
      this.closed = true;
    }
  }

  @Override
  public void onEnd(Runnable onEnd) {
    this.onEnd = onEnd;
  }

  /**
   * Sets the listener for all calls.
   *
   * @param listener the listener
   */
  public void onCall(CallListener listener) {
    this.listener = listener;
  }

  /**
   * Returns the gate that the calls of an election pass.
   *
   * @param name the election; empty for the default one
   * @throws ElectionSetupException if there is no such election
   */
  Gate gate(String name) {
    return gate(name, "@LeaderOnly");
  }

  /**
   * Returns the gate of an election.
   *
   * @param name the election; empty for the default one
   * @param place where it is named, for display
   * @throws ElectionSetupException if there is no such election
   */
  Gate gate(String name, String place) {
    Elections elections = this.elections.get();
    ElectionService election = elections.resolve(name);
    if (election == null) {
      throw elections.unknown(place, name);
    }
    LeaderOnlyCalls owner = owner(election);
    return owner.gates.computeIfAbsent(
        elections.nameOf(election), (id) -> owner.new Gate(id, election));
  }

  /**
   * Lets leader work begin if this node leads and this context is open. The work is counted before
   * the election is asked, so a leader that steps down and then finds no running work has missed
   * none.
   *
   * @param gate the gate of its election
   * @param work what is to run, for display
   * @param binding how this thread depends on the leadership
   * @return the permit, which this thread must close, or {@code null} if the work may not begin
   */
  @Nullable
  Permit enter(Gate gate, String work, Binding binding) {
    return this.closed ? null : gate.enter(work, binding);
  }

  /**
   * Finds the instance that counts an election's calls: that of the election's context, whose
   * backend waits for them.
   */
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

  @Override
  public boolean isRunning(String serviceId) {
    Gate gate = this.gates.get(serviceId);
    return gate != null && gate.isOccupied();
  }

  /**
   * Returns the number of running calls of an election.
   *
   * @param serviceId the name of the election
   * @return the number of calls
   */
  public int running(String serviceId) {
    Gate gate = known(serviceId);
    return gate != null ? gate.count() : 0;
  }

  /**
   * Lists the running calls of an election with their ages, the oldest first. The age of a call is
   * at least the time since {@link #isRunning} was first called while it ran.
   */
  @Override
  public List<String> describe(String serviceId) {
    Gate gate = this.gates.get(serviceId);
    return gate != null ? gate.describe() : List.of();
  }

  /**
   * Returns how many calls of an election were interrupted because leadership was lost.
   *
   * @param serviceId the name of the election
   * @return the count since the start
   */
  public long interrupted(String serviceId) {
    Gate gate = known(serviceId);
    return gate != null ? gate.interruptible.interrupted() : 0;
  }

  @Override
  public void onChange(LeadershipEvent event) {
    Gate gate = this.gates.get(event.serviceId());
    if (gate != null) {
      gate.listeners.forEach((listener) -> listener.accept(event));
    }
  }

  @Override
  public void onLeaseOver(String serviceId, long term) {
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

  /** The outcome of a call. */
  public enum Outcome {
    /** The call ended without an exception. */
    RAN,
    /** The call ended with an exception. */
    FAILED,
    /** The call did not begin, because this node does not lead. */
    SKIPPED
  }

  /** Is notified of each call that has ended or was skipped, on the thread of the call. */
  @FunctionalInterface
  public interface CallListener {

    /**
     * Called when a call has ended or was skipped.
     *
     * @param serviceId the name of the election
     * @param method the called method, for display
     * @param outcome the outcome of the call
     * @param nanos how long the call ran, in nanoseconds; 0 if it was skipped
     */
    void ended(String serviceId, String method, Outcome outcome, long nanos);
  }

  /** The entrance for the leader work of one election. */
  final class Gate extends Permits {

    private final String serviceId;

    private final ElectionService election;

    private final @Nullable Fence fence;

    private final InterruptibleCalls interruptible;

    private final List<Consumer<LeadershipEvent>> listeners = new CopyOnWriteArrayList<>();

    /** Whether another thread has seen running work and must be notified of its end. */
    private volatile boolean watched;

    private Gate(String serviceId, ElectionService election) {
      Fence fence = LeaderOnlyCalls.this.fence.get();
      this.serviceId = serviceId;
      this.election = election;
      this.fence = fence != null && fence.appliesTo(election) ? fence : null;
      this.interruptible = new InterruptibleCalls(serviceId);
    }

    String serviceId() {
      return this.serviceId;
    }

    ElectionService election() {
      return this.election;
    }

    /** The listeners for changes of the leadership, which must not block. */
    List<Consumer<LeadershipEvent>> listeners() {
      return this.listeners;
    }

    NotLeaderException notLeader() {
      return new NotLeaderException(serviceId(), this.election.leaderId().orElse(null));
    }

    /** Whether this thread starts the application, at a time when hardly any node can lead yet. */
    boolean isStarting() {
      return LeaderOnlyCalls.this.starting == Thread.currentThread();
    }

    /** Notifies the listener of a call that did not begin. */
    void skipped(String method) {
      CallListener listener = LeaderOnlyCalls.this.listener;
      if (listener != null) {
        listener.ended(serviceId(), method, Outcome.SKIPPED, 0);
      }
    }

    private @Nullable Permit enter(String work, Binding binding) {
      Permit permit = take(work, LeaderOnlyCalls.this.listener != null);
      boolean begun = false;
      try {
        begun = switch (binding) {
          case NONE -> mayBegin();
          case TERM -> this.fence != null ? bind(permit).isPresent() : mayBegin();
          case INTERRUPTIBLE -> this.interruptible.begin(work, () -> bind(permit));
        };
      } finally {
        if (!begun) {
          free(permit);
        }
      }
      return begun ? permit.begin(binding) : null;
    }

    /**
     * Binds the work to the term in which this node leads and returns that term; empty if it does not
     * lead.
     */
    private OptionalLong bind(Permit permit) {
      OptionalLong term = term();
      if (term.isPresent()) {
        permit.setTerm(term.getAsLong());
        if (this.fence != null) {
          permit.bind(this.fence.bind(this.election, permit.term()));
        }
      }
      return term;
    }

    /** An application's own election may block, so that the context may have closed meanwhile. */
    private boolean mayBegin() {
      return this.election.isLeader() && !LeaderOnlyCalls.this.closed;
    }

    /** The term in which this node leads; 0 without terms, empty if it does not lead. */
    OptionalLong term() {
      Leadership leadership = this.election.leadership().orElse(null);
      if (!mayBegin()) {
        return OptionalLong.empty(); // has the last word: a test may stub it
      }
      if (leadership != null) {
        return OptionalLong.of(leadership.term());
      }
      // An application's own election need not provide a term.
      return this.fence == null ? OptionalLong.of(0) : OptionalLong.empty();
    }

    @Override
    void left(Binding binding) {
      if (binding == Binding.INTERRUPTIBLE) {
        this.interruptible.end();
      }
    }

    /** Notifies the listener, unless the work began before there was one. */
    @Override
    void ended(Permit permit) {
      try {
        CallListener listener = LeaderOnlyCalls.this.listener;
        long nanos = listener != null ? permit.nanos() : -1;
        if (listener != null && nanos >= 0) {
          Outcome outcome = permit.hasSucceeded() ? Outcome.RAN : Outcome.FAILED;
          listener.ended(serviceId(), permit.work(), outcome, nanos);
        }
      } finally {
        free(permit);
      }
    }

    private void free(Permit permit) {
      permit.free();
      if (this.watched && count() == 0) {
        this.watched = false;
        LeaderOnlyCalls.this.ended();
      }
    }

    private boolean isOccupied() {
      if (count() == 0) {
        return false;
      }
      see();
      this.watched = true;
      // The last work may have ended before it could see that it is watched.
      return count() != 0;
    }
  }
}
