package io.election.mysql.failover.agent;

import io.election.ElectionOperations;
import io.election.Member;
import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.Joining;
import io.election.mysql.failover.agent.Status.Role;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes the server a replica of the source, if it may join it. Used by the agent's thread. */
final class ReplicaDuty {

  private static final Logger log = LoggerFactory.getLogger(ReplicaDuty.class);

  /** How long a receiver may take for its first connection. */
  private static final long CONNECT_NANOS = TimeUnit.SECONDS.toNanos(2);

  /**
   * How long a source that did not answer is not queried again, so that a failover does not wait
   * for it.
   */
  private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** The time after which a receiver that stopped with an error is restarted. */
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final AgentProperties properties;
  private final MysqlServer server;
  private final FreshestFirst freshest;
  private final ElectionOperations election;
  private final SourceDuty duty;
  private final Shows shows;

  /** The source that refused the server; {@code null} if there is none. */
  private volatile @Nullable Promotion refusedBy;

  /** Whether the server was compared with the source, and has written nothing itself since then. */
  private boolean compared;

  /**
   * The transactions that the source had when it was last queried. Once the server has received
   * them too, it has every transaction that it acknowledged before. {@code null} if the source was
   * not queried since the server joined.
   */
  private @Nullable GtidSet sourceHad;

  /** When replication was last started. */
  private long followedAt = System.nanoTime();

  /** Why the receiver stopped with an error; empty if it did not, or has connected since. */
  private String receiverFailure = "";

  /** Whether this agent started the receiver and has not stopped it since. */
  private boolean followed;

  /** Whether the receiver was connected at the last check. */
  private boolean connected;

  /** The address of the source that did not answer the last query; empty if it did. */
  private String silent = "";

  private long silentSince;

  /** Publishes the status of the server. */
  @FunctionalInterface
  interface Shows {

    void show(Role role, String reason, long lagSeconds);
  }

  ReplicaDuty(
      AgentProperties properties,
      MysqlServer server,
      FreshestFirst freshest,
      ElectionOperations election,
      SourceDuty duty,
      Shows shows) {
    this.properties = properties;
    this.server = server;
    this.freshest = freshest;
    this.election = election;
    this.duty = duty;
    this.shows = shows;
  }

  /**
   * Returns the source that the server may not join; {@code null} if there is none. Thread-safe.
   */
  @Nullable
  Promotion refusedBy() {
    return this.refusedBy;
  }

  /** Sets the source that the server may not join. */
  void refuse(@Nullable Promotion source) {
    this.refusedBy = source;
  }

  /**
   * Requests a new comparison with the source, since the server may have written something itself.
   */
  void hasWritten() {
    this.compared = false;
  }

  boolean isConnected() {
    return this.connected;
  }

  /** Stops the receiver, and returns the state after that. */
  ServerState stopReceiver() throws SQLException {
    this.followed = false;
    this.server.stopReceiver();
    return this.server.state();
  }

  /** Joins the source if the server may, and publishes its status. */
  void follow(Promotion source, ServerState state) throws Exception {
    boolean isSet = state.source().equals(source.address());
    boolean joined = isSet && state.receiving();
    long tried = System.nanoTime() - this.followedAt;
    if (joined && !state.connected() && tried < CONNECT_NANOS) {
      return; // it is still connecting
    }
    if (joined && !state.connected() && !this.connected) {
      // The receiver acknowledges nothing, and stopping it takes as long as its attempt to connect.
      // It is better stopped now than during a failover.
      stopReceiver();
      joined = false;
    }
    this.connected = state.connected();
    if (joined && this.connected) {
      this.receiverFailure = "";
      this.duty.forgetFailure();
    }
    if (!joined) {
      this.sourceHad = null;
    }
    if (joined && this.compared && (isWhole(state) || this.sourceHad != null)) {
      noteWhole(state);
      showReplica(source, state);
      return;
    }
    if (isSet && !state.receiving() && this.followed && !state.receiverError().isEmpty()) {
      this.receiverFailure = state.receiverError();
    }
    if (!this.receiverFailure.isEmpty() && tried < RETRY_NANOS) {
      this.refusedBy = source;
      this.shows.show(
          Role.REFUSED,
          "its receiver has stopped: %s. It will be restarted; if that does not help, rebuild the server from the source (POST /rebuild)"
              .formatted(this.receiverFailure),
          state.lagSeconds());
      return;
    }
    if (source.address().equals(this.silent)
        && System.nanoTime() - this.silentSince < SILENCE_NANOS) {
      return;
    }
    Peer peer;
    try {
      peer = inspect(source);
      if (peer == null) {
        return; // there is no source
      }
    } catch (SQLException ex) {
      this.silent = source.address();
      this.silentSince = System.nanoTime();
      this.shows.show(
          Role.WAITING,
          "the source %s does not answer: %s".formatted(source.server(), Refusals.text(ex)),
          state.lagSeconds());
      return;
    }
    if (!peer.uuid().equals(source.uuid())) {
      this.shows.show(
          Role.WAITING,
          "%s is another server, with the server_uuid %s instead of %s: the source %s was replaced, or its address belongs to another host now"
              .formatted(source.address(), peer.uuid(), source.uuid(), source.server()),
          state.lagSeconds());
      return;
    }
    if (!joined && peer.readOnly() && !peer.asksToAcknowledge()) {
      // A replica that connects before the source asks for acknowledgements never acknowledges.
      this.shows.show(Role.WAITING, "the source does not accept writes yet", state.lagSeconds());
      return;
    }
    GtidSet sourceHas = peer.executed().union(peer.committing());
    Joining.Verdict verdict =
        Joining.decide(state.term(), state.received(), source.term(), source.position(), sourceHas);
    if (!verdict.allowed()
        && state.term() < source.term()
        && state.applying()
        && !state.executed().contains(state.received())) {
      // The newer term may be among the transactions that are still being applied.
      this.shows.show(Role.WAITING, "it is applying the received transactions", state.lagSeconds());
      return;
    }
    Optional<List<Member>> members = this.election.currentMembers();
    String reason = reason(source, state, peer, members.orElse(List.of()), verdict);
    if (!reason.isEmpty()) {
      if (state.receiving()) {
        stopReceiver();
      }
      this.refusedBy =
          !verdict.allowed() && peer.executed().contains(source.position()) ? source : null;
      this.shows.show(Role.REFUSED, reason, state.lagSeconds());
      return;
    }
    this.refusedBy = null;
    this.compared = true;
    this.sourceHad = sourceHas;
    if (joined) {
      showReplica(source, state);
      return;
    }
    if (!this.freshest.isWithdrawn(members)) {
      this.shows.show(
          Role.WAITING, "other agents may still see its final position", state.lagSeconds());
      return;
    }
    log.info(
        "{} joins the source {} in term {}",
        this.properties.server(),
        source.server(),
        source.term());
    this.server.follow(
        source.address(),
        this.properties.replicationUsername(),
        this.properties.replicationPassword());
    this.connected = true; // soon
    this.followed = true;
    this.followedAt = System.nanoTime();
    if (this.receiverFailure.isEmpty()) {
      this.shows.show(
          Role.WAITING, "it is connecting to the source " + source.server(), state.lagSeconds());
    }
  }

  /** Returns why the server may not join the source, and what to do; empty if it may. */
  private String reason(
      Promotion source,
      ServerState state,
      Peer peer,
      List<Member> members,
      Joining.Verdict verdict) {
    if (peer.uuid().equals(state.uuid()) || peer.id() == state.id()) {
      return "the source %s has the same %s as this server: %s"
          .formatted(
              source.server(),
              peer.uuid().equals(state.uuid()) ? "server_uuid" : "server_id",
              peer.uuid().equals(state.uuid())
                  ? "remove auto.cnf from this one, and restart it"
                  : "change it on this one, and restart the server");
    }
    String contradiction = this.freshest.contradictionOfReplica(members, source);
    if (!contradiction.isEmpty() || verdict.allowed()) {
      return contradiction;
    }
    return state.source().isEmpty() || state.source().equals(source.address())
        ? verdict.reason()
        : "it was set to replicate from %s, which is not the source, and %s"
            .formatted(state.source(), verdict.reason());
  }

  private boolean isWhole(ServerState state) {
    return state.whole() || this.properties.acknowledgingReplicas() == 0;
  }

  /** Marks the server as whole once it has caught up after a restart. */
  private void noteWhole(ServerState state) throws SQLException {
    GtidSet sourceHad = this.sourceHad;
    if (!isWhole(state)
        && sourceHad != null
        && state.connected()
        && state.received().contains(sourceHad)) {
      this.server.noteWhole();
    }
  }

  private void showReplica(Promotion source, ServerState state) {
    this.refusedBy = state.applying() ? null : source;
    if (state.applying()) {
      this.shows.show(Role.REPLICA, "", state.lagSeconds());
    } else {
      this.shows.show(
          Role.REFUSED,
          "its applier has stopped: %s. Fix the cause and run START REPLICA SQL_THREAD, or rebuild the server from the source (POST /rebuild)"
              .formatted(
                  state.applierError().isEmpty() ? "no error is recorded" : state.applierError()),
          state.lagSeconds());
    }
  }

  /**
   * Queries the source. That may take some time, so the query is abandoned if a failover begins.
   *
   * @return the source; {@code null} if the election has opened in the meantime
   */
  private @Nullable Peer inspect(Promotion source) throws SQLException, InterruptedException {
    long began = System.nanoTime();
    Future<Peer> task =
        VitalThread.start("look-at-source", () -> Peer.inspect(source.address(), this.properties));
    while (true) {
      try {
        return task.get(10, TimeUnit.MILLISECONDS);
      } catch (TimeoutException ex) {
        if (this.freshest.hasOpenedSince(began)) {
          return null;
        }
      } catch (ExecutionException ex) {
        if (ex.getCause() instanceof SQLException failure) {
          throw failure;
        }
        throw new IllegalStateException(ex);
      }
    }
  }
}
