package io.election.mysql.failover.agent;

import io.election.ElectionService;
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

/** Makes the server a replica of the source, if it may be one. Used by the agent's thread. */
final class ReplicaDuty {

  private static final Logger log = LoggerFactory.getLogger(ReplicaDuty.class);

  /** How long a receiver may take to connect at first. */
  private static final long CONNECT_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** For how long a source is not asked that has not answered: a failover must not wait for that. */
  private static final long SILENCE_NANOS = TimeUnit.SECONDS.toNanos(2);

  /** After what time a receiver is started again that has ended by itself. */
  private static final long RETRY_NANOS = TimeUnit.SECONDS.toNanos(10);

  private final AgentProperties properties;
  private final MysqlServer server;
  private final FreshestFirst freshest;
  private final ElectionService election;
  private final SourceDuty duty;
  private final Shows shows;

  /** The source that the server may not join; {@code null} if there is none. */
  private volatile @Nullable Promotion refusedBy;

  /** Whether the server has joined by the rules, and has written nothing itself since. */
  private boolean compared;

  /**
   * What the source had when it was looked at. Once the server has received that too, it has all that
   * it acknowledged before. {@code null} if the source was not looked at since the server joined.
   */
  private @Nullable GtidSet sourceHad;

  /** When it was told to replicate last. */
  private long followedAt = System.nanoTime();

  /** Why its receiver has ended by itself; empty if it has not, or has connected since. */
  private String receiverFailure = "";

  /** Whether its receiver was started, and not stopped by this agent since. */
  private boolean followed;

  /** Whether the receiver was connected when it was looked at last. */
  private boolean connected;

  /** The address of the source that did not answer when it was asked last; empty if there is none. */
  private String silent = "";

  private long silentSince;

  /** Shows what the server is. */
  @FunctionalInterface
  interface Shows {

    void show(Role role, String reason, long lagSeconds);
  }

  ReplicaDuty(
      AgentProperties properties,
      MysqlServer server,
      FreshestFirst freshest,
      ElectionService election,
      SourceDuty duty,
      Shows shows) {
    this.properties = properties;
    this.server = server;
    this.freshest = freshest;
    this.election = election;
    this.duty = duty;
    this.shows = shows;
  }

  /** Returns the source that the server may not join; {@code null} if there is none. For any thread. */
  @Nullable
  Promotion refusedBy() {
    return this.refusedBy;
  }

  /** Sets the source that the server may not join. */
  void refuse(@Nullable Promotion source) {
    this.refusedBy = source;
  }

  /** Lets the rules be applied once more, since the server may have written something itself. */
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

  /** Joins the source, if it may, and shows what it is. */
  void follow(Promotion source, ServerState state) throws Exception {
    boolean isSet = state.source().equals(source.address());
    boolean joined = isSet && state.receiving();
    long tried = System.nanoTime() - this.followedAt;
    if (joined && !state.connected() && tried < CONNECT_NANOS) {
      return; // it connects
    }
    if (joined && !state.connected() && !this.connected) {
      // It acknowledges nothing, and to stop it takes as long as its attempt to connect: now rather
      // than when there is a failover.
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
          "its receiver has stopped: %s. It tries again; if that does not help, rebuild the server from the source (POST /rebuild)"
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
      peer = look(source);
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
      // A replica that connects before the source waits for acknowledgements never acknowledges.
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
      // The newer term may be in what it applies.
      this.shows.show(Role.WAITING, "it applies what it has received", state.lagSeconds());
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
          Role.WAITING, "other agents may still see a final position of it", state.lagSeconds());
      return;
    }
    log.info(
        "{} joins the source {} in term {}",
        this.properties.server(),
        source.server(),
        source.term());
    this.server.follow(
        source.host(),
        source.port(),
        this.properties.replicationUsername(),
        this.properties.replicationPassword());
    this.connected = true; // soon
    this.followed = true;
    this.followedAt = System.nanoTime();
    if (this.receiverFailure.isEmpty()) {
      this.shows.show(
          Role.WAITING, "it connects to the source " + source.server(), state.lagSeconds());
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
    String clash = this.freshest.clashOfReplica(members, source);
    if (!clash.isEmpty() || verdict.allowed()) {
      return clash;
    }
    return state.source().isEmpty() || state.source().equals(source.address())
        ? verdict.reason()
        : "it was set to replicate from %s, which is not the source, and %s"
            .formatted(state.source(), verdict.reason());
  }

  private boolean isWhole(ServerState state) {
    return state.whole() || this.properties.acknowledgingReplicas() == 0;
  }

  /** Notes that the server is whole, once it has caught up since it was killed. */
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
          "its applier has stopped: %s. Mend that and START REPLICA SQL_THREAD, or rebuild the server from the source (POST /rebuild)"
              .formatted(
                  state.applierError().isEmpty() ? "somebody did that" : state.applierError()),
          state.lagSeconds());
    }
  }

  /**
   * Looks at the source. That may take some time, and a failover must not wait for it.
   *
   * @return {@code null} if the election has opened meanwhile
   */
  private @Nullable Peer look(Promotion source) throws SQLException, InterruptedException {
    long began = System.nanoTime();
    Future<Peer> task =
        Daemon.start("look-at-source", () -> Peer.look(source.address(), this.properties));
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
