package io.election.test;

import io.election.AuditNote;
import io.election.ElectionOperations;
import io.election.ExpectedLeader;
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
 * An election that the test decides: this node gains and loses leadership when the test says so.
 * Initially no node leads.
 *
 * <p>The term increases with each leadership, of this node and of others, and events alternate, as
 * in production. Events are delivered before the deciding call returns, on the calling thread; an
 * exception of the listener propagates from that call.
 *
 * <p>In a Spring Boot test a bean of this type replaces the auto-configured election:
 *
 * <pre>{@code
 * @Bean
 * ScriptedElection election(ApplicationEventPublisher events) {
 *   return new ScriptedElection("billing", events::publishEvent);
 * }
 * }</pre>
 *
 * <p>Thread-safe.
 */
public final class ScriptedElection implements ElectionOperations {

  /** The {@link #nodeId()} of every such election. */
  public static final String THIS_NODE = "this-node";

  private final String serviceId;

  private final Consumer<? super LeadershipEvent> listener;

  private final Queue<LeadershipEvent> events = new ArrayDeque<>();

  private boolean delivering;

  private volatile State state = new State(null, 0, Instant.EPOCH);

  /**
   * The leader and its term.
   *
   * @param leaderId the leader; {@code null} if no node leads
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
   * Creates an election without a leader.
   *
   * @param serviceId the name of the election; 1 to 128 characters
   * @param listener receives this node's events, in order; with Spring,
   *     {@code events::publishEvent} of the {@code ApplicationEventPublisher}
   * @throws IllegalArgumentException if the name cannot be used
   */
  public ScriptedElection(String serviceId, Consumer<? super LeadershipEvent> listener) {
    this.serviceId = Names.requireUsable("service id", serviceId);
    this.listener = listener;
  }

  /** Makes this node the leader, in a new term. Does nothing if it already leads. */
  public void lead() {
    decide(THIS_NODE, LeadershipAcquiredEvent.Reason.EXPIRED, LeadershipLostEvent.Reason.DISPLACED);
  }

  /**
   * Ends the leadership of this node; no node leads then. Does nothing if this node does not lead.
   *
   * @param reason the reason in the event; {@code EXPIRED} if the database was unreachable
   */
  public synchronized void lose(LeadershipLostEvent.Reason reason) {
    if (isLeader()) {
      decide(null, LeadershipAcquiredEvent.Reason.EXPIRED, reason);
    }
  }

  /**
   * Makes another node the leader. If this node led, it is {@code DISPLACED}.
   *
   * @param leaderId the node id of the other node; 1 to 128 characters
   * @throws IllegalArgumentException if the node id is {@link #THIS_NODE} or cannot be used
   */
  public void follow(String leaderId) {
    if (Names.requireNodeId("leader id", leaderId).equals(THIS_NODE)) {
      throw new IllegalArgumentException("A node does not follow itself: call lead()");
    }
    decide(leaderId, LeadershipAcquiredEvent.Reason.EXPIRED, LeadershipLostEvent.Reason.DISPLACED);
  }

  @Override
  public boolean isLeader() {
    return this.state.isThisNode();
  }

  /** Makes this node the leader, unless another node leads. */
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

  /**
   * Makes the given node the leader at once.
   *
   * @throws IllegalArgumentException if the node id cannot be used
   */
  @Override
  public void designate(String leaderId) {
    decide(
        Names.requireNodeId("leader id", leaderId),
        LeadershipAcquiredEvent.Reason.DESIGNATED,
        LeadershipLostEvent.Reason.HANDED_OVER);
  }

  /**
   * Ends the current leadership. No node leads until the test decides, or {@link #becomeLeader()}
   * is called.
   */
  @Override
  public void forceElection() {
    decide(null, LeadershipAcquiredEvent.Reason.EXPIRED, LeadershipLostEvent.Reason.RESIGNED);
  }

  @Override
  public synchronized void forceElection(AuditNote auditNote, ExpectedLeader expected) {
    expected.require(this.serviceId, this.state.leaderId(), term());
    forceElection();
  }

  @Override
  public void pause(AuditNote auditNote) {
    throw new UnsupportedOperationException("ScriptedElection cannot be paused");
  }

  @Override
  public void resume(AuditNote auditNote) {
    throw new UnsupportedOperationException("ScriptedElection cannot be paused");
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

  /** If a listener decides, the resulting events follow the current one. */
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
