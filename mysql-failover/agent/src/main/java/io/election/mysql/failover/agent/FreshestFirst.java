package io.election.mysql.failover.agent;

import io.election.Member;
import io.election.lease.Precedence;
import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.Succession;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Lets the server that has received most stand for election first when the source is gone. A
 * position counts only after the server's receiver was stopped, so that the server acknowledges
 * nothing more to the old source.
 *
 * <p>Thread-safe: read by the elector's thread, updated by the agent's thread.
 */
final class FreshestFirst implements Precedence {

  private static final String NOT_READY = "its own position is not known yet";

  private final String server;
  private final String address;
  private final Set<String> servers;
  private final Contradictions contradictions;
  private final int acknowledging;
  private final Duration wait;
  private final Duration holdBack;
  private final @Nullable String initialSource;

  private volatile @Nullable Position position;

  /** The value last published; used by the agent's thread. */
  private long finalIn = Position.MAY_RECEIVE;

  /** The latest election term in which the position was final; used by the agent's thread. */
  private long wasFinalIn = Position.MAY_RECEIVE;

  /** The number of changes of {@link #finalIn}; used by the agent's thread. */
  private long changes;

  private volatile Optional<Promotion> last = Optional.empty();
  private volatile boolean lastKnown;
  private volatile long askedAt = System.nanoTime() - Duration.ofHours(1).toNanos();
  private volatile boolean designated;
  private volatile @Nullable Position handedOver;
  private volatile Runnable onAsked = () -> {};
  private volatile String reason = "";

  /**
   * The address of the source from which this server is configured to replicate; empty if there is
   * none.
   */
  private volatile String replicatesFrom = "";

  /** Why this server may not be promoted, whatever it has received; empty if it may. */
  private volatile String unfit = "";

  /** Whether the data of this server may be incomplete; used by the agent's thread. */
  private boolean incomplete;

  /** The positions on which the last decision to stand was based, including this server's own. */
  private volatile List<Position> decidedBy = List.of();

  /** The last promotion as known when the last decision to stand was made. */
  private volatile Optional<Promotion> decidedAfter = Optional.empty();

  /** The fresher servers that did not stand while this one held back. */
  private volatile Set<String> passedOver = Set.of();

  FreshestFirst(AgentProperties properties) {
    this.server = properties.server();
    this.address = properties.address();
    this.servers = new TreeSet<>(properties.servers().keySet());
    this.contradictions = new Contradictions(this.servers);
    this.acknowledging = properties.acknowledgingReplicas();
    this.wait = properties.positionWait();
    this.holdBack = properties.holdBack();
    this.initialSource = properties.initialSource();
  }

  /**
   * Sets the callback that runs when the election is open and the agent must publish a final
   * position.
   */
  void onAsked(Runnable onAsked) {
    this.onAsked = onAsked;
  }

  /** Returns the election term in which the last promotion was recorded; 0 if there was none. */
  private long lastTerm() {
    return this.last.map(Promotion::electionTerm).orElse(0L);
  }

  /** Returns whether the last leader or an operator has designated this node as the next leader. */
  boolean isDesignated() {
    return this.designated;
  }

  /** Sets the transactions that the last source has executed. It is read-only and hands over. */
  void handedOverAt(Promotion last, GtidSet executed) {
    this.handedOver = Position.ofSource(last, this.servers, executed);
  }

  /**
   * Sets the position that this server publishes. Called by the agent's thread only.
   *
   * @return whether the position has become final, or is no longer final
   */
  boolean publish(ServerState state, long finalIn, Status status) {
    boolean changes = finalIn != this.finalIn;
    if (changes) {
      this.finalIn = finalIn;
      this.changes++;
      this.wasFinalIn = Math.max(this.wasFinalIn, finalIn);
    }
    this.replicatesFrom = state.source();
    // A new server may have the name of an earlier one, and lack what that one acknowledged.
    boolean isNew = state.term() == 0
        && !state.whole()
        && this.last
            .filter((each) -> !state.received().contains(each.position()))
            .isPresent();
    boolean mayCount = !this.incomplete && !isNew;
    // A server without a source was not set up to replicate, or has applied what it had received.
    boolean whole = mayCount && (state.whole() || state.source().isEmpty());
    // The address of the source outlives a restart.
    boolean joinedLast =
        this.last.filter((each) -> each.address().equals(state.source())).isPresent();
    this.position = new Position(
        this.server,
        this.address,
        state.uuid(),
        state.id(),
        this.servers,
        finalIn,
        this.changes,
        state.term(),
        state.received(),
        whole,
        whole || (mayCount && !joinedLast),
        status);
    return changes;
  }

  /** Stops publishing a position. */
  void withdraw() {
    this.position = null;
  }

  /**
   * Returns whether no agent can see a position of this server that is final since the last
   * promotion, so that its receiver may start. If such a position was published, it must have been
   * replaced. Called by the agent's thread only.
   *
   * @param members as read from the store; empty if they are not known
   */
  boolean isWithdrawn(Optional<List<Member>> members) {
    List<Position> published = members.stream()
        .flatMap(List::stream)
        .flatMap((member) -> Position.parse(member.position()).stream())
        .filter((each) -> each.server().equals(this.server))
        .toList();
    return members.isPresent()
        && published.stream().noneMatch((each) -> each.isFinal(lastTerm()))
        && (this.wasFinalIn != lastTerm()
            || published.stream().anyMatch((each) -> each.changes() == this.changes));
  }

  /**
   * Sets the reason why this server may not be promoted, whatever it has received; empty if it may.
   * Called by the agent's thread only.
   *
   * @param incomplete whether its data may be incomplete, so that it may lack transactions that it
   *     acknowledged
   */
  void unfit(String reason, boolean incomplete) {
    this.unfit = reason;
    this.incomplete = incomplete;
  }

  void know(Optional<Promotion> last) {
    this.last = last;
    this.lastKnown = true;
  }

  /**
   * Returns whether the election was open to this node within the given time before now.
   *
   * @param since an instant by the monotonic clock; openings before it belong to an earlier
   *     promotion and do not count
   */
  boolean isOpen(Duration within, long since) {
    long askedAt = this.askedAt;
    return System.nanoTime() - askedAt < within.toNanos() && askedAt - since > 0;
  }

  /** Returns whether the election was open to this node after the given instant. */
  boolean hasOpenedSince(long instant) {
    return this.askedAt - instant > 0;
  }

  /**
   * Returns the positions on which the last decision to stand was based, including this server's
   * own.
   */
  List<Position> decidedBy() {
    return this.decidedBy;
  }

  /**
   * Returns the last promotion as known when the last decision to stand was made. Positions that
   * were final then may not be final any more after a later one.
   */
  Optional<Promotion> decidedAfter() {
    return this.decidedAfter;
  }

  @Override
  public String position(String serviceId) {
    Position position = this.position;
    return position != null ? position.print() : "";
  }

  @Override
  public Turn turn(OpenElection opening) {
    Turn turn = decide(opening);
    if (turn.reason().equals(NOT_READY)) {
      this.reason = ""; // it will be known in a moment
    } else if (opening.members().isPresent() || this.reason.isEmpty()) {
      // While the members are being read again, the earlier reason still applies.
      this.reason = turn.reason();
    }
    return turn;
  }

  /** Returns why this server did not stand at once at the last opening; empty if it did. */
  String reason() {
    return this.reason;
  }

  private Turn decide(OpenElection opening) {
    this.askedAt = System.nanoTime();
    this.designated = opening.designated();
    Optional<Promotion> last = this.last;
    Position own = this.position;
    if (own == null || !this.lastKnown || !own.isFinal(lastTerm())) {
      this.onAsked.run();
      return Turn.standAside(NOT_READY);
    }
    if (!this.unfit.isEmpty()) {
      return Turn.standAside(this.unfit);
    }
    List<Position> announced = announced(opening.members().orElse(List.of()));
    String contradiction = this.contradictions.ofCandidate(own, announced, last);
    if (!contradiction.isEmpty()) {
      return Turn.standAside(contradiction);
    }
    List<Position> positions = new ArrayList<>(known(announced));
    positions.removeIf((each) -> each.server().equals(this.server));
    positions.add(own);
    if (last.isEmpty()) {
      return first(own, positions);
    }
    Position source = this.handedOver;
    if (source != null && source.isFinal(lastTerm()) && opening.designated()) {
      positions.removeIf((each) -> each.server().equals(source.server()));
      positions.add(source);
    }
    return turn(own, positions, opening.openFor(), last.get());
  }

  private static List<Position> announced(List<Member> members) {
    return members.stream()
        .flatMap((member) -> Position.parse(member.position()).stream())
        .toList();
  }

  /** Returns the final positions of the servers of the set. */
  private List<Position> known(List<Position> announced) {
    return announced.stream()
        .filter((each) -> each.isFinal(lastTerm()) && this.servers.contains(each.server()))
        .filter((each) -> this.last.map((last) -> last.doubt(each)).orElse("").isEmpty())
        .toList();
  }

  private Turn turn(Position own, List<Position> all, Duration openFor, Promotion last) {
    Succession succession = last.succession(this.servers, this.acknowledging);
    List<Succession.Position> positions =
        all.stream().map((each) -> each.forSuccession(last, own.received())).toList();
    boolean hasSource = positions.stream().anyMatch((each) -> each.server().equals(last.server()));
    Set<String> missing = succession.missing(positions);
    if (!missing.isEmpty() && !hasSource && openFor.compareTo(this.wait) < 0) {
      return Turn.holdBack(this.wait, "positions are missing: " + missing);
    }
    Set<String> passedOver = new TreeSet<>();
    Duration until = this.wait;
    while (true) {
      List<Succession.Position> left = succession.ofFollowers(
          positions.stream()
              .filter((each) -> !passedOver.contains(each.server()))
              .toList(),
          last.uuid(),
          last.position());
      Succession.Verdict verdict = succession.decide(of(this.server, left), left);
      if (verdict.kind() == Succession.Kind.FRESHEST) {
        this.decidedBy = List.copyOf(all);
        this.decidedAfter = Optional.of(last);
        this.passedOver = Set.copyOf(passedOver);
        return Turn.atOnce();
      }
      if (verdict.kind() != Succession.Kind.FRESHER_EXIST) {
        return Turn.standAside(
            passedOver.isEmpty()
                ? verdict.reason()
                : "%s; without %s, which are fresher but did not stand, acknowledged transactions might be lost"
                    .formatted(verdict.reason(), passedOver));
      }
      // The next freshest server takes its turn before the servers behind it.
      until = until.plus(this.holdBack.multipliedBy(verdict.others().size()));
      if (openFor.compareTo(until) < 0) {
        return Turn.holdBack(until, verdict.reason());
      }
      passedOver.addAll(verdict.others());
    }
  }

  /**
   * Returns how many replicas will have each transaction that this server acknowledges as the
   * source, and each one that it has now. If fewer acknowledged to the last source, too few may
   * have the latter, unless the positions show the contrary.
   *
   * @param executed the transactions that this server has
   */
  int acknowledging(GtidSet executed) {
    long complete = this.decidedBy.stream()
        .filter((each) -> !each.server().equals(this.server))
        .filter((each) -> each.received().contains(executed))
        .count();
    int before = this.decidedAfter.map(Promotion::acknowledging).orElse(this.acknowledging);
    return complete >= this.acknowledging
        ? this.acknowledging
        : Math.min(this.acknowledging, before);
  }

  private static Succession.Position of(String server, List<Succession.Position> positions) {
    return positions.stream()
        .filter((each) -> each.server().equals(server))
        .findFirst()
        .orElseThrow();
  }

  /** Returns a member whose server is fresher and was not already passed over. */
  Optional<Member> fresher(List<Member> members, GtidSet executed) {
    Optional<Promotion> promotion = this.last;
    if (promotion.isEmpty()) {
      return Optional.empty();
    }
    Promotion last = promotion.get();
    Succession succession = last.succession(this.servers, this.acknowledging);
    List<Succession.Position> positions = Stream.concat(
            known(announced(members)).stream()
                .filter((each) -> !this.passedOver.contains(each.server()))
                .map((each) -> each.forSuccession(last, executed)),
            Stream.of(new Succession.Position(this.server, executed)))
        .toList();
    Set<String> fresher = succession.ofFollowers(positions, last.uuid(), last.position()).stream()
        .filter((each) -> !executed.contains(each.received()))
        .map(Succession.Position::server)
        .collect(Collectors.toSet());
    return members.stream()
        .filter((member) -> Position.parse(member.position())
            .filter((each) -> fresher.contains(each.server()))
            .isPresent())
        .findFirst();
  }

  /**
   * Decides on the first source of a set. This server stands only if no server's data show a
   * promotion; otherwise the record of promotions is missing.
   */
  private Turn first(Position own, List<Position> positions) {
    if (!this.server.equals(this.initialSource)) {
      return Turn.standAside("the set has had no source, and as.failover.initial-source is "
          + (this.initialSource != null
              ? this.initialSource
              : "not set: set it to the server that has all data"));
    }
    if (!this.replicatesFrom.isEmpty()) {
      return Turn.standAside(
          "the set has had no source, and this server, its initial one, replicates from %s. If it is to be the source: STOP REPLICA; RESET REPLICA ALL"
              .formatted(this.replicatesFrom));
    }
    Set<String> missing = new TreeSet<>(this.servers);
    positions.forEach((each) -> missing.remove(each.server()));
    if (!missing.isEmpty()) {
      return Turn.standAside(
          "the first source needs the positions of all servers; missing: " + missing);
    }
    for (Position each : positions) {
      if (each.term() > 0) {
        return Turn.standAside(
            "the record of promotions is gone, but the data of %s are of term %s: write the record again (docs/mysql-failover.md, \"When the election itself fails\")"
                .formatted(each.server(), each.term()));
      }
      if (!own.received().contains(each.received())) {
        return Turn.standAside(
            "the set has had no source, and %s has transactions that this server lacks: %s. Set as.failover.initial-source to the server that has all, or replace the data of %1$s by those of %3$s"
                .formatted(each.server(), each.received().subtract(own.received()), own.server()));
      }
    }
    this.decidedBy = List.copyOf(positions);
    this.decidedAfter = Optional.empty();
    this.passedOver = Set.of();
    return Turn.atOnce();
  }

  /**
   * Returns why this server may not join the last source, given what the other agents have
   * announced; empty if it may.
   *
   * @param members as read from the store
   */
  String contradictionOfReplica(List<Member> members, Promotion source) {
    Position own = this.position;
    return own != null ? this.contradictions.ofReplica(own, announced(members), source) : "";
  }

  /** Returns the number of servers of the set without an agent that has announced a position. */
  int missing(List<Member> members) {
    Set<String> missing = new TreeSet<>(this.servers);
    announced(members).forEach((each) -> missing.remove(each.server()));
    return missing.size();
  }
}
