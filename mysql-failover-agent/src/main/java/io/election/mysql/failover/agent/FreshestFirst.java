package io.election.mysql.failover.agent;

import io.election.lease.Precedence;
import io.election.mysql.failover.Succession;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * Lets the server that has received most stand first when the source is gone. The receiver of each
 * server is stopped before its position counts, so that nothing is acknowledged to the old source
 * any more.
 *
 * <p>Thread-safe: asked by the elector's thread, told by the agent's.
 */
final class FreshestFirst implements Precedence {

  private final String server;
  private final Set<String> servers;
  private final int acknowledging;
  private final Duration wait;
  private final Duration holdBack;
  private final @Nullable String initialSource;

  private volatile @Nullable Position position;
  private volatile Optional<Promotion> last = Optional.empty();
  private volatile boolean lastKnown;
  private volatile long askedAt = System.nanoTime() - Duration.ofHours(1).toNanos();
  private volatile boolean designated;
  private volatile @Nullable Position handedOver;
  private volatile Runnable onAsked = () -> {};

  /** The positions by which this server stood last. */
  private volatile List<Position> decidedBy = List.of();

  /** The fresher servers for which it has held back in vain. */
  private volatile Set<String> passedOver = Set.of();

  FreshestFirst(AgentProperties properties) {
    this.server = properties.server();
    this.servers = new TreeSet<>(properties.servers());
    this.acknowledging = properties.acknowledgingReplicas();
    this.wait = properties.positionWait();
    this.holdBack = properties.holdBack();
    this.initialSource = properties.initialSource();
  }

  /** Sets what runs when the election is open, and the agent must publish a final position. */
  void onAsked(Runnable onAsked) {
    this.onAsked = onAsked;
  }

  private long lastTerm() {
    return this.last.map(Promotion::term).orElse(0L);
  }

  /** Returns whether the last leader, or an operator, has named this node as the next one. */
  boolean isDesignated() {
    return this.designated;
  }

  /** Sets the final position of the last source, which is read-only. */
  void handedOverAt(Position position) {
    this.handedOver = position;
  }

  void publish(@Nullable Position position) {
    this.position = position;
  }

  void know(Optional<Promotion> last) {
    this.last = last;
    this.lastKnown = true;
  }

  /** Returns whether the election has been open to this node within a time. */
  boolean isOpen(Duration within) {
    return System.nanoTime() - this.askedAt < within.toNanos();
  }

  /** Returns the fresher servers for which it has held back in vain: they have not stood. */
  Set<String> passedOver() {
    return this.passedOver;
  }

  /** Returns the positions by which this server stood last, its own included. */
  List<Position> decidedBy() {
    return this.decidedBy;
  }

  @Override
  public String position(String serviceId) {
    Position position = this.position;
    return position != null ? position.print() : "";
  }

  @Override
  public Turn turn(Opening opening) {
    this.askedAt = System.nanoTime();
    this.designated = opening.designated();
    Position own = this.position;
    if (own == null || !this.lastKnown || !own.isFinal(lastTerm())) {
      this.onAsked.run();
      return Turn.standAside("its own position is not known yet");
    }
    List<Position> positions = new ArrayList<>();
    opening
        .members()
        .ifPresent((members) -> members.forEach((member) -> Position.parse(member.position())
            .filter((each) -> each.isFinal(lastTerm()) && this.servers.contains(each.server()))
            .ifPresent(positions::add)));
    String clash = clash(own, positions);
    if (clash != null) {
      return Turn.standAside(clash);
    }
    positions.removeIf((each) -> each.server().equals(this.server));
    positions.add(own);
    if (this.last.isEmpty()) {
      return first(own, positions);
    }
    Position source = this.handedOver;
    if (source != null && source.term() == this.last.get().term() && opening.designated()) {
      positions.removeIf((each) -> each.server().equals(source.server()));
      positions.add(source);
    }
    return turn(own, positions, opening.openFor(), this.last.get());
  }

  private Turn turn(Position own, List<Position> positions, Duration openFor, Promotion last) {
    Succession succession = new Succession(this.servers, last.server(), this.acknowledging);
    List<Succession.Position> received =
        positions.stream().map(Position::forSuccession).toList();
    Set<String> missing = succession.missing(received);
    boolean hasSource = positions.stream().anyMatch((each) -> each.server().equals(last.server()));
    if (!missing.isEmpty() && !hasSource && openFor.compareTo(this.wait) < 0) {
      return Turn.holdBack(this.wait, "positions are missing: " + missing);
    }
    Succession.Verdict verdict = succession.decide(own.forSuccession(), received);
    return switch (verdict.kind()) {
      case FRESHEST -> stand(positions, Set.of(), Turn.atOnce());
      case FRESHER_EXIST ->
        stand(
            positions,
            verdict.others(),
            Turn.holdBack(this.wait.plus(this.holdBack), verdict.reason()));
      case INCOMPARABLE, TOO_FEW -> Turn.standAside(verdict.reason());
    };
  }

  /**
   * Begins a set that has had no source: only if no server knows of one. The record of promotions may
   * just be gone.
   */
  private Turn first(Position own, List<Position> positions) {
    if (!this.server.equals(this.initialSource)) {
      return Turn.standAside("the set has had no source, and as.failover.initial-source is "
          + (this.initialSource != null ? this.initialSource : "not set"));
    }
    Set<String> missing = new TreeSet<>(this.servers);
    positions.forEach((each) -> missing.remove(each.server()));
    if (!missing.isEmpty()) {
      return Turn.standAside(
          "the first source needs the positions of all servers; missing are " + missing);
    }
    for (Position each : positions) {
      if (each.term() > 0) {
        return Turn.standAside(
            "the record of promotions is gone, but the data of %s are of term %d: write the record again (docs/mysql-failover.md)"
                .formatted(each.server(), each.term()));
      }
      if (!own.received().contains(each.received())) {
        return Turn.standAside("%s has transactions that this server lacks: %s"
            .formatted(each.server(), each.received().subtract(own.received())));
      }
    }
    return stand(positions, Set.of(), Turn.atOnce());
  }

  /** Returns why the positions cannot be trusted; {@code null} if they can. */
  private static @Nullable String clash(Position own, List<Position> positions) {
    int same = 0;
    for (Position each : positions) {
      if (each.server().equals(own.server()) && ++same > 1) {
        return "two agents have as.failover.server=" + own.server();
      }
      if (each.uuid().equals(own.uuid()) && !each.server().equals(own.server())) {
        return "%s has the same server_uuid as this server, %s: remove auto.cnf from one of them"
            .formatted(each.server(), own.uuid());
      }
    }
    return null;
  }

  private Turn stand(List<Position> positions, Set<String> passedOver, Turn turn) {
    this.decidedBy = List.copyOf(positions);
    this.passedOver = passedOver;
    return turn;
  }
}
