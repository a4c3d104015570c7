package io.election.testing;

import io.election.ElectionService;
import io.election.Leadership;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.Names;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * An election that the test decides: this node leads when the test says so, and loses the leadership
 * when it says so. At first nobody leads.
 *
 * <p>Terms grow with each leadership, this node's and others', and events alternate, as in production.
 * Whoever decides has delivered the events when the call returns; what a listener throws comes out of
 * that call.
 *
 * <p>In a Spring Boot test a bean of this type replaces the auto-configured election:
 *
 * <pre>{@code
 * @Bean
 * DecidedElection election(ApplicationEventPublisher events) {
 *   return new DecidedElection("billing", events::publishEvent);
 * }
 * }</pre>
 *
 * <p>Safe for use by any thread.
 */
public final class DecidedElection implements ElectionService {

  /** The {@link #nodeId()} of every such election. */
  public static final String THIS_NODE = "this-node";

  private final String serviceId;

  private final Consumer<? super LeadershipEvent> listener;

  private final Queue<LeadershipEvent> events = new ArrayDeque<>();

  private boolean delivering;

  private volatile State state = new State(null, 0, Instant.EPOCH);

  /**
   * Who leads.
   *
   * @param leaderId the leader; {@code null} if nobody leads
   * @param term the term of the last leadership
   * @param since when it began
   */
  private record State(@Nullable String leaderId, long term, Instant since) {

    boolean isThisNode() {
      return THIS_NODE.equals(this.leaderId);
    }

    State ledBy(@Nullable String leader) {
      return leader == null || leader.equals(this.leaderId)
          ? new State(leader, this.term, this.since)
          : new State(leader, this.term + 1, Instant.now());
    }
  }

  /**
   * Creates an election that nobody leads.
   *
   * @param serviceId its name; 1 to 128 characters
   * @param listener is given this node's events, in order; in Spring {@code events::publishEvent} of the
   *     {@code ApplicationEventPublisher}
   * @throws IllegalArgumentException if the name cannot be used
   */
  public DecidedElection(String serviceId, Consumer<? super LeadershipEvent> listener) {
    this.serviceId = Names.requireUsable("service id", serviceId);
    this.listener = listener;
  }

  /** This node leads now, in a new term. Does nothing if it leads already. */
  public void lead() {
    decide(THIS_NODE, LeadershipAcquiredEvent.Reason.EXPIRED, LeadershipLostEvent.Reason.DISPLACED);
  }

  /**
   * This node loses its leadership now, and nobody leads. Does nothing if it does not lead.
   *
   * @param reason what the event shall say; {@code EXPIRED} where the database was out of reach
   */
  public synchronized void lose(LeadershipLostEvent.Reason reason) {
    if (isLeader()) {
      decide(null, LeadershipAcquiredEvent.Reason.EXPIRED, reason);
    }
  }

  /**
   * Another node leads now. If this node led, it is {@code DISPLACED}.
   *
   * @param leaderId the other node; 1 to 128 characters
   * @throws IllegalArgumentException if it is {@link #THIS_NODE}, or cannot be used
   */
  public void follow(String leaderId) {
    if (Names.requireUsable("leader id", leaderId).equals(THIS_NODE)) {
      throw new IllegalArgumentException("A node does not follow itself: call lead()");
    }
    decide(leaderId, LeadershipAcquiredEvent.Reason.EXPIRED, LeadershipLostEvent.Reason.DISPLACED);
  }

  @Override
  public boolean isLeader() {
    return this.state.isThisNode();
  }

  /** Leads, unless another node does. */
  @Override
  public synchronized void becomeLeader() {
    if (this.state.leaderId() == null) {
      lead();
    }
  }

  @Override
  public void lostLeader() {
    lose(LeadershipLostEvent.Reason.RESIGNED);
  }

  @Override
  public String serviceId() {
    return this.serviceId;
  }

  @Override
  public String nodeId() {
    return THIS_NODE;
  }

  @Override
  public Optional<Leadership> leadership() {
    State current = this.state;
    return current.isThisNode()
        ? Optional.of(new Leadership(current.term(), current.since(), Leadership.UNLIMITED))
        : Optional.empty();
  }

  @Override
  public Optional<String> leaderId() {
    return Optional.ofNullable(this.state.leaderId());
  }

  @Override
  public OptionalLong term() {
    State current = this.state;
    return current.leaderId() != null ? OptionalLong.of(current.term()) : OptionalLong.empty();
  }

  /** That node leads at once. */
  @Override
  public void designate(String leaderId) {
    decide(
        Names.requireUsable("leader id", leaderId),
        LeadershipAcquiredEvent.Reason.DESIGNATED,
        LeadershipLostEvent.Reason.HANDED_OVER);
  }

  /** Nobody leads until the test decides, or this node stands. */
  @Override
  public void forceElection() {
    decide(null, LeadershipAcquiredEvent.Reason.EXPIRED, LeadershipLostEvent.Reason.RESIGNED);
  }

  private synchronized void decide(
      @Nullable String leaderId,
      LeadershipAcquiredEvent.Reason acquired,
      LeadershipLostEvent.Reason lost) {
    State before = this.state;
    if (Objects.equals(leaderId, before.leaderId())) {
      return;
    }
    State after = before.ledBy(leaderId);
    this.state = after;
    if (before.isThisNode()) {
      this.events.add(new LeadershipLostEvent(this.serviceId, THIS_NODE, before.term(), lost));
    }
    if (after.isThisNode()) {
      this.events.add(
          new LeadershipAcquiredEvent(this.serviceId, THIS_NODE, after.term(), acquired));
    }
    deliver();
  }

  /** Those of a listener that decides follow its own. */
  private void deliver() {
    if (this.delivering) {
      return;
    }
    this.delivering = true;
    try {
      for (LeadershipEvent event = this.events.poll(); event != null; event = this.events.poll()) {
        this.listener.accept(event);
      }
    } finally {
      this.delivering = false;
    }
  }
}
