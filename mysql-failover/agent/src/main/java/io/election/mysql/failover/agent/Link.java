package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.Joining;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.mysql.failover.agent.ServerState.Receiver;
import io.election.mysql.failover.agent.Status.Role;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * What was done to the receiver of a server, and what its source has answered. Decides, without I/O,
 * what to do next.
 *
 * @param source the promotion that it follows; {@code null} if it was not started, or was stopped by
 *     this agent
 * @param connected whether it was connected at the last look, or was just started
 * @param failure why it stopped with an error; empty if it has connected since
 * @param asked {@code null} if the source was not asked since the server began to follow
 */
record Link(
    @Nullable Promotion source,
    long since,
    boolean connected,
    String failure,
    @Nullable Asked asked) {

  /** How long a receiver may take for its first connection. */
  private static final long CONNECT_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** The time after which a receiver that stopped with an error is restarted. */
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** How long to look often after a receiver was started. */
  private static final long SETTLE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /**
   * What the source had when it was asked: when the server has received that in the same life of its
   * relay log, it has all that it ever acknowledged.
   *
   * @param proof a transaction that the relay log had, and that was executed; empty if there was none
   * @param own the transactions that the server had written itself
   */
  record Asked(GtidSet proof, GtidSet sourceHad, GtidSet own) {

    /** Returns the proof that the server has caught up; empty if it has not. */
    private GtidSet proofOf(ServerState state) {
      return state.received().contains(this.sourceHad)
              && state.receiver().received().contains(this.proof)
          ? this.proof
          : GtidSet.EMPTY;
    }
  }

  /** What to do with the receiver. */
  enum Action {
    NOTHING,
    STOP,
    /** Ask the source what it has, then decide by {@link Link#answered}. */
    ASK,
    JOIN
  }

  /**
   * The next step.
   *
   * @param status what to show; {@code null} if nothing has changed
   * @param proof the proof that the server has caught up; empty if it has not
   */
  record Step(Link link, Action action, @Nullable Status status, GtidSet proof) {}

  Step step(Action action, @Nullable Status status) {
    return new Step(this, action, status, GtidSet.EMPTY);
  }

  private Step waiting(Action action, ServerState state, String reason) {
    return step(action, new Status(Role.WAITING, reason, state.lagSeconds()));
  }

  Link stopped() {
    return new Link(null, this.since, false, this.failure, null);
  }

  Link started(Promotion source, long now) {
    return new Link(source, now, true, this.failure, null);
  }

  /** Returns whether a look at the server may soon find something new. */
  boolean isUnsettled(boolean isWhole, long now) {
    return !this.connected || (!isWhole && now - this.since < SETTLE_NANOS);
  }

  private static boolean isSet(AgentProperties set, Promotion source, Receiver receiver) {
    return receiver.source().equals(set.address(source.server()));
  }

  /** Decides whether the server goes on, or has to ask the source. */
  Step look(AgentProperties set, Promotion source, ServerState state, long now) {
    Receiver receiver = state.receiver();
    if (!state.uuid().equals(source.members().get(set.server()))) {
      return waiting(
          receiver.runs()
              ? Action.STOP
              : Action.NOTHING, // what it acknowledges would not be looked for
          state,
          "the source %s has not recorded its server_uuid %s yet; its agent must list %s in as.failover.servers"
              .formatted(source.server(), state.uuid(), set.server()));
    }
    boolean isSet = isSet(set, source, receiver);
    long tried = now - this.since;
    if (isSet && receiver.runs() && !receiver.connected()) {
      if (tried < CONNECT_NANOS) {
        return step(Action.NOTHING, null); // it is still connecting
      }
      if (!this.connected) {
        // It acknowledges nothing, and stopping it takes as long as its attempt to connect. It is
        // better stopped now than during a failover.
        return step(Action.STOP, null);
      }
    }
    boolean stopped = isSet && !receiver.runs() && source.equals(this.source);
    String failure = receiver.connected()
        ? ""
        : stopped && !receiver.error().isEmpty() ? receiver.error() : this.failure;
    Link next = new Link(this.source, this.since, receiver.connected(), failure, this.asked);
    if (isSet
        && receiver.runs()
        && this.asked != null
        && !this.asked.proof().isEmpty()
        && receiver.received().contains(this.asked.proof())
        && this.asked.own().equals(state.received().ofOrigin(state.uuid()))) {
      return next.joined(source, state, this.asked);
    }
    return failure.isEmpty() || tried >= RETRY_NANOS
        ? next.step(Action.ASK, null)
        : next.step(
            Action.NOTHING,
            new Status(
                Role.REFUSED,
                "its receiver has stopped: %s. It will be restarted; if that does not help, rebuild the server from the source (POST /rebuild)"
                    .formatted(failure),
                state.lagSeconds(),
                source));
  }

  private Step joined(Promotion source, ServerState state, Asked asked) {
    Status status = state.applying()
        ? new Status(Role.REPLICA, "", state.lagSeconds())
        : new Status(
            Role.REFUSED,
            "its applier has stopped: %s. Fix the cause and run START REPLICA SQL_THREAD, or rebuild the server from the source (POST /rebuild)"
                .formatted(
                    state.applierError().isEmpty() ? "no error is recorded" : state.applierError()),
            state.lagSeconds(),
            source);
    return new Step(this, Action.NOTHING, status, asked.proofOf(state));
  }

  Step unanswered(Promotion source, ServerState state, String failure) {
    return waiting(
        Action.NOTHING,
        state,
        "the source %s does not answer: %s".formatted(source.server(), failure));
  }

  /**
   * Decides by what the source has answered.
   *
   * @param read tells apart servers with one identity
   */
  Step answered(
      AgentProperties set, Promotion source, ServerState state, Peer peer, Snapshot read) {
    Receiver receiver = state.receiver();
    boolean isSet = isSet(set, source, receiver);
    boolean joined = isSet && receiver.runs();
    if (!peer.uuid().equals(source.uuid())) {
      return waiting(
          Action.NOTHING,
          state,
          "%s is another server, with the server_uuid %s instead of %s: the source %s was replaced, or its address belongs to another host now"
              .formatted(
                  set.address(source.server()), peer.uuid(), source.uuid(), source.server()));
    }
    if (!joined && peer.readOnly() && !peer.asksToAcknowledge()) {
      // A replica that connects before the source asks for acknowledgements never acknowledges.
      return waiting(Action.NOTHING, state, "the source does not accept writes yet");
    }
    GtidSet sourceHas = peer.executed().union(peer.committing());
    String refusal = Joining.refusal(
        state.term(), state.received(), source.term(), source.position(), sourceHas);
    if (!refusal.isEmpty()
        && state.term() < source.term()
        && state.applying()
        && !state.executed().contains(state.received())) {
      // The newer term may be among the transactions that are still being applied.
      return waiting(
          joined || !receiver.runs()
              ? Action.NOTHING
              : Action.STOP, // it receives from another server
          state,
          "it is applying the received transactions");
    }
    String identity = peer.id() == state.id()
        ? "the source %s has the same server_id as this server: change it on this one, and restart the server"
            .formatted(source.server())
        : Candidacy.sameIdentity(read, set.server(), state.uuid(), state.id());
    if (!refusal.isEmpty() || !identity.isEmpty()) {
      String reason = !identity.isEmpty()
          ? identity
          : (receiver.source().isEmpty() || isSet
                  ? ""
                  : "it was set to replicate from %s, which is not the source, and "
                      .formatted(receiver.source()))
              + refusal;
      boolean mayRebuild = !refusal.isEmpty() && peer.executed().contains(source.position());
      return step(
          receiver.runs() ? Action.STOP : Action.NOTHING,
          new Status(Role.REFUSED, reason, state.lagSeconds(), mayRebuild ? source : null));
    }
    if (joined) {
      Asked asked = new Asked(
          receiver.received().intersect(state.executed()).any(),
          sourceHas,
          state.received().ofOrigin(state.uuid()));
      return new Link(this.source, this.since, this.connected, this.failure, asked)
          .joined(source, state, asked);
    }
    return new Link(this.source, this.since, this.connected, this.failure, null)
        .step(
            Action.JOIN,
            this.failure.isEmpty()
                ? new Status(
                    Role.WAITING,
                    "it is connecting to the source " + source.server(),
                    state.lagSeconds())
                : null);
  }
}
