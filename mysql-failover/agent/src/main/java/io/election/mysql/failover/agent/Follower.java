package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.Joining;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.mysql.failover.agent.ServerState.Receiver;
import io.election.mysql.failover.agent.Status.Role;
import io.election.store.LeaseStoreException;
import java.sql.SQLException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes the server a replica of the source, if it may join it. Used by the agent's thread. */
final class Follower {

  private static final Logger log = LoggerFactory.getLogger(Follower.class);

  /** How long a receiver may take for its first connection. */
  private static final long CONNECT_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** How long a source that did not answer is not asked again, so that a failover need not wait. */
  private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** How long to look often after a receiver was started. */
  private static final long SETTLE_NANOS = TimeUnit.SECONDS.toNanos(10);

  /** The time after which a receiver that stopped with an error is restarted. */
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final AgentProperties properties;
  private final MysqlServer server;
  private final Standing standing;
  private final Announcer announcer;
  private final LongSupplier clock;

  /**
   * What was done to the receiver.
   *
   * @param source the promotion that it follows; {@code null} if it was not started, or was stopped
   *     by this agent
   * @param since when it was last started
   * @param connected whether it was connected at the last look, or was just started
   * @param failure why it stopped with an error; empty if it has connected since
   */
  private record Link(@Nullable Promotion source, long since, boolean connected, String failure) {}

  /**
   * What the source had when it was asked: when the server has received that in the same life of its
   * relay log, it has all that it ever acknowledged.
   *
   * @param proof a transaction that the relay log had, and that was executed; empty if there was none
   * @param sourceHad the transactions that the source had
   * @param own the transactions that the server had written itself
   */
  private record Asked(GtidSet proof, GtidSet sourceHad, GtidSet own) {}

  private Link link;

  /** {@code null} if the source was not asked since the server began to follow. */
  private @Nullable Asked asked;

  /** Until when the source is not asked, since it did not answer. */
  private long silentUntil;

  /** The source that the server may not join; {@code null} if there is none. */
  private volatile @Nullable Promotion refusedBy;

  Follower(
      AgentProperties properties,
      MysqlServer server,
      Standing standing,
      Announcer announcer,
      LongSupplier clock) {
    this.properties = properties;
    this.server = server;
    this.standing = standing;
    this.announcer = announcer;
    this.clock = clock;
    this.silentUntil = clock.getAsLong();
    this.link = new Link(null, this.silentUntil, false, "");
  }

  /** Returns the source that the server may not join; {@code null} if there is none. Thread-safe. */
  @Nullable
  Promotion refusedBy() {
    return this.refusedBy;
  }

  void refuse(@Nullable Promotion source) {
    this.refusedBy = source;
  }

  /** Returns whether a look at the server may soon find something new. */
  boolean isUnsettled() {
    return !this.link.connected()
        || (!this.announcer.isWhole() && this.clock.getAsLong() - this.link.since() < SETTLE_NANOS);
  }

  /**
   * Stops the receiver. What it ends with is no failure, also if the answer of the server is late.
   */
  void stopReceiver() throws SQLException {
    this.link = new Link(null, this.link.since(), false, this.link.failure());
    this.asked = null;
    this.server.replication().stopReceiver();
  }

  /**
   * Joins the source if the server may. Before that, all agents can read that its position is not
   * final any more.
   *
   * @return the status of the server; {@code null} if nothing has changed
   */
  @Nullable
  Status follow(Promotion source, ServerState state, Snapshot read) throws Exception {
    long now = this.clock.getAsLong();
    String address = this.properties.address(source.server());
    Receiver receiver = state.receiver();
    long lag = state.lagSeconds();
    if (!state.uuid().equals(source.members().get(this.properties.server()))) {
      if (receiver.runs()) {
        stopReceiver(); // what it acknowledges would not be looked for
      }
      return waiting(
          "the source %s has not recorded its server_uuid %s yet; its agent must list %s in as.failover.servers"
              .formatted(source.server(), state.uuid(), this.properties.server()),
          lag);
    }
    boolean isSet = receiver.source().equals(address);
    boolean joined = isSet && receiver.runs();
    long tried = now - this.link.since();
    if (joined && !receiver.connected()) {
      if (tried < CONNECT_NANOS) {
        return null; // it is still connecting
      }
      if (!this.link.connected()) {
        // It acknowledges nothing, and stopping it takes as long as its attempt to connect. It is
        // better stopped now than during a failover.
        stopReceiver();
        joined = false;
      }
    }
    Promotion followed = this.link.source();
    boolean stopped = isSet && !receiver.runs() && source.equals(followed);
    String failure = receiver.connected()
        ? ""
        : stopped && !receiver.error().isEmpty() ? receiver.error() : this.link.failure();
    this.link = new Link(followed, this.link.since(), receiver.connected(), failure);
    GtidSet own = state.received().ofOrigin(state.uuid());
    Asked asked = this.asked;
    if (joined
        && asked != null
        && !asked.proof().isEmpty()
        && receiver.received().contains(asked.proof())
        && asked.own().equals(own)) {
      noteCaughtUp(asked, state, read);
      return replica(source, state);
    }
    if (!failure.isEmpty() && tried < RETRY_NANOS) {
      this.refusedBy = source;
      return new Status(
          Role.REFUSED,
          "its receiver has stopped: %s. It will be restarted; if that does not help, rebuild the server from the source (POST /rebuild)"
              .formatted(failure),
          lag);
    }
    if (now - this.silentUntil < 0) {
      return null;
    }
    Peer peer;
    try {
      peer = ask(source);
    } catch (SQLException ex) {
      this.silentUntil = this.clock.getAsLong() + SILENCE_NANOS;
      return waiting(
          "the source %s does not answer: %s".formatted(source.server(), Refusals.text(ex)), lag);
    }
    if (peer == null) {
      return null; // there is no source
    }
    if (!peer.uuid().equals(source.uuid())) {
      return waiting(
          "%s is another server, with the server_uuid %s instead of %s: the source %s was replaced, or its address belongs to another host now"
              .formatted(address, peer.uuid(), source.uuid(), source.server()),
          lag);
    }
    if (!joined && peer.readOnly() && !peer.asksToAcknowledge()) {
      // A replica that connects before the source asks for acknowledgements never acknowledges.
      return waiting("the source does not accept writes yet", lag);
    }
    GtidSet sourceHas = peer.executed().union(peer.committing());
    String refusal = Joining.refusal(
        state.term(), state.received(), source.term(), source.position(), sourceHas);
    if (!refusal.isEmpty()
        && state.term() < source.term()
        && state.applying()
        && !state.executed().contains(state.received())) {
      // The newer term may be among the transactions that are still being applied.
      if (!joined && receiver.runs()) {
        stopReceiver(); // it receives from another server
      }
      return waiting("it is applying the received transactions", lag);
    }
    String identity = peer.id() == state.id()
        ? "the source %s has the same server_id as this server: change it on this one, and restart the server"
            .formatted(source.server())
        : Candidacy.sameIdentity(read, this.properties.server(), state.uuid(), state.id());
    if (!refusal.isEmpty() || !identity.isEmpty()) {
      if (receiver.runs()) {
        stopReceiver();
      }
      this.refusedBy =
          !refusal.isEmpty() && peer.executed().contains(source.position()) ? source : null;
      String reason = !identity.isEmpty()
          ? identity
          : (receiver.source().isEmpty() || isSet
                  ? ""
                  : "it was set to replicate from %s, which is not the source, and "
                      .formatted(receiver.source()))
              + refusal;
      return new Status(Role.REFUSED, reason, lag);
    }
    this.refusedBy = null;
    if (joined) {
      this.asked = new Asked(receiver.received().intersect(state.executed()).any(), sourceHas, own);
      noteCaughtUp(this.asked, this.server.state(), read);
      return replica(source, state);
    }
    log.info(
        "{} joins the source {} in term {}",
        this.properties.server(),
        source.server(),
        source.term());
    this.asked = null;
    this.announcer.announce(state, Position.MAY_RECEIVE, read);
    this.server
        .replication()
        .follow(
            address, this.properties.replicationUsername(), this.properties.replicationPassword());
    this.link = new Link(source, this.clock.getAsLong(), true, failure);
    return failure.isEmpty()
        ? waiting("it is connecting to the source " + source.server(), lag)
        : null;
  }

  private static Status waiting(String reason, long lag) {
    return new Status(Role.WAITING, reason, lag);
  }

  /** Publishes at once that the server has everything that it ever acknowledged. */
  private void noteCaughtUp(Asked asked, ServerState state, Snapshot read)
      throws LeaseStoreException {
    if (!this.announcer.isWhole()
        && !asked.proof().isEmpty()
        && state.received().contains(asked.sourceHad())
        && state.receiver().received().contains(asked.proof())) {
      this.announcer.caughtUp(asked.proof());
      this.announcer.announce(state, Position.MAY_RECEIVE, read);
    }
  }

  private Status replica(Promotion source, ServerState state) {
    this.refusedBy = state.applying() ? null : source;
    return state.applying()
        ? new Status(Role.REPLICA, "", state.lagSeconds())
        : new Status(
            Role.REFUSED,
            "its applier has stopped: %s. Fix the cause and run START REPLICA SQL_THREAD, or rebuild the server from the source (POST /rebuild)"
                .formatted(
                    state.applierError().isEmpty() ? "no error is recorded" : state.applierError()),
            state.lagSeconds());
  }

  /**
   * Asks the source what it has. That may take some time, so it is abandoned if a failover begins.
   *
   * @return the source; {@code null} if the election has opened in the meantime
   */
  private @Nullable Peer ask(Promotion source) throws Exception {
    long began = this.clock.getAsLong();
    Future<Peer> task = VitalThread.start(
        "ask-source",
        () -> Peer.inspect(this.properties.address(source.server()), this.properties));
    while (!VitalThread.isDone(task, 10)) {
      if (this.standing.hasOpenedSince(began)) {
        return null;
      }
    }
    return task.get();
  }
}
