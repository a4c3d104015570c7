package io.election.mysql.failover;

import java.util.Collection;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Predicate;
import org.jspecify.annotations.Nullable;

/**
 * Decides whether a server may replace a failed source. The freshest server comes first, judged by
 * the transactions that each server has received. Sets of transactions are only partially ordered:
 * if each of two servers has transactions that the other lacks, neither is promoted automatically,
 * and neither is a third server that lacks some of theirs.
 *
 * @param servers the names of all servers of the set
 * @param lastSource the name of the last source. If it is not one of the servers, it has been
 *     removed from the set, so that all of them were its replicas
 * @param acknowledging the number of replicas that acknowledged each transaction before the source
 *     did; 0 if replication was asynchronous
 */
public record Succession(Set<String> servers, String lastSource, int acknowledging) {

  /**
   * A server's final position: the server no longer receives from the last source.
   *
   * @param server the name of the server
   * @param received the transactions that it has executed or received
   * @param whole whether the server still has every transaction that it has acknowledged. A server
   *     that was killed has lost the transactions that it had received but not applied, until it
   *     has caught up with a source again; a new server may have replaced one of the same name
   */
  public record Position(String server, GtidSet received, boolean whole) {

    /** Creates the position of a server that has every transaction that it has acknowledged. */
    public Position(String server, GtidSet received) {
      this(server, received, true);
    }
  }

  /** What a server may do. */
  public enum Kind {
    /** No other server is fresher. */
    FRESHEST,
    /** Other servers are fresher; this one comes next only if they do not stand. */
    FRESHER_EXIST,
    /**
     * Each of two known servers (this one may be one of them) has transactions that the other
     * lacks, and this server lacks some of them; or this server is not the last source and has no
     * transactions at all. An operator must choose.
     */
    INCOMPARABLE,
    /**
     * Too few positions are known: an acknowledged transaction might exist on a missing server
     * only.
     */
    TOO_FEW
  }

  /**
   * The decision.
   *
   * @param kind what the server may do
   * @param others the servers that are fresher, incomparable, or missing
   * @param reason the reason, for display; empty for the freshest server
   */
  public record Verdict(Kind kind, Set<String> others, String reason) {}

  /** Checks the set. */
  public Succession {
    if (acknowledging < 0 || acknowledging >= servers.size()) {
      throw new IllegalArgumentException("%s replicas acknowledge, but there are %s servers"
          .formatted(acknowledging, servers.size()));
    }
    servers = Set.copyOf(servers);
  }

  /**
   * Returns the replicas whose positions are not known.
   *
   * @param positions the known positions
   * @return the names in order, without the last source, whose position is not needed
   */
  public Set<String> missing(Collection<Position> positions) {
    Set<String> missing = new TreeSet<>(this.servers);
    missing.remove(this.lastSource);
    positions.forEach((each) -> missing.remove(each.server()));
    return missing;
  }

  /**
   * Leaves out what cannot have been acknowledged from the positions of servers that have nothing
   * of the last source. Such a server was down or refused and has received nothing since the last
   * promotion, so it is neither fresher nor incomparable. If another server has something of the
   * last source, its position is emptied. If the position of the last source is known, only what
   * the last source has remains. Its position is known, but not necessarily whole: a server that
   * joined the last source and was killed may have lost everything that it acknowledged. The first
   * transaction of a source records its promotion, so each follower has at least that transaction.
   *
   * @param positions the known positions
   * @param sourceUuid the {@code server_uuid} of the last source
   * @param promotedAt the transactions that the last source had when it was promoted
   * @return the positions in the same order
   */
  public List<Position> ofFollowers(
      Collection<Position> positions, String sourceUuid, GtidSet promotedAt) {
    Predicate<Position> source = (each) -> each.server().equals(this.lastSource);
    Predicate<Position> followed =
        source.negate().and((each) -> each.received().subtract(promotedAt).hasOrigin(sourceUuid));
    GtidSet counts = positions.stream().anyMatch(followed)
        ? GtidSet.EMPTY
        : positions.stream().filter(source).map(Position::received).findFirst().orElse(null);
    return positions.stream()
        .map((each) -> counts == null || source.test(each) || followed.test(each)
            ? each
            : new Position(
                each.server(),
                each.received().subtract(each.received().subtract(counts)),
                each.whole()))
        .toList();
  }

  /**
   * Returns the number of replicas whose positions must be known. Of R replicas of which w
   * acknowledge, R - w + 1 are needed, so that each acknowledged transaction is on one of them. If
   * none acknowledges, all R are needed; even then, transactions that no replica had received are
   * lost.
   */
  public int needed() {
    return replicas() - Math.max(this.acknowledging, 1) + 1;
  }

  private int replicas() {
    return this.servers.size() - (this.servers.contains(this.lastSource) ? 1 : 0);
  }

  /**
   * Decides for one server.
   *
   * @param own its position
   * @param positions the known positions of the other servers. The server's own position may be
   *     among them; positions of servers outside the set are ignored
   * @return the decision
   * @throws IllegalArgumentException if the server is not in the set
   */
  public Verdict decide(Position own, Collection<Position> positions) {
    if (!this.servers.contains(own.server())) {
      throw new IllegalArgumentException(
          "%s is not one of the servers %s and cannot become their source"
              .formatted(own.server(), this.servers));
    }
    Set<Position> known = new LinkedHashSet<>();
    known.add(own);
    known.addAll(positions);
    known.removeIf((each) -> !this.servers.contains(each.server()));
    Set<String> missing = missing(known);
    Set<String> notWhole = notWhole(known);
    boolean hasSource = known.stream().anyMatch((each) -> each.server().equals(this.lastSource));
    if (!hasSource && replicas() - missing.size() - notWhole.size() < needed()) {
      Set<String> others = new TreeSet<>(missing);
      others.addAll(notWhole);
      return new Verdict(
          Kind.TOO_FEW,
          others,
          "the positions of %s replicas are needed, or that of the last source %s; missing: %s"
                  .formatted(needed(), this.lastSource, missing)
              + (notWhole.isEmpty()
                  ? ""
                  : "; new or restarted, and possibly lacking acknowledged transactions: %s"
                      .formatted(notWhole)));
    }
    // A source that was lost right after the first promotion of a new set may have none either.
    if (own.received().isEmpty() && !own.server().equals(this.lastSource)) {
      return new Verdict(
          Kind.INCOMPARABLE,
          Set.of(),
          "this server has no transaction that counts: it is new, or did not follow the last source %s. Start that server, or one that followed it"
              .formatted(this.lastSource));
    }
    Set<String> fresher = new TreeSet<>();
    GtidSet lacking = GtidSet.EMPTY;
    for (Position other : known) {
      GtidSet theirs = other.received().subtract(own.received());
      if (!theirs.isEmpty()) {
        fresher.add(other.server());
        lacking = lacking.union(theirs);
      }
    }
    if (fresher.isEmpty()) {
      return new Verdict(Kind.FRESHEST, Set.of(), "");
    }
    Verdict incomparable = incomparable(own, List.copyOf(known));
    return incomparable != null
        ? incomparable
        : new Verdict(
            Kind.FRESHER_EXIST,
            fresher,
            "fresher servers: %s; this server lacks %s".formatted(fresher, lacking));
  }

  private Set<String> notWhole(Collection<Position> known) {
    Set<String> servers = new TreeSet<>();
    known.stream()
        .filter((each) -> this.acknowledging > 0 && !each.whole())
        .filter((each) -> !each.server().equals(this.lastSource))
        .forEach((each) -> servers.add(each.server()));
    return servers;
  }

  /**
   * Returns a verdict for the first two positions of which neither contains the other; {@code null}
   * if all positions are comparable.
   */
  private static @Nullable Verdict incomparable(Position own, List<Position> known) {
    for (Position one : known) {
      for (Position other : known.subList(known.indexOf(one) + 1, known.size())) {
        GtidSet ones = one.received().subtract(other.received());
        GtidSet others = other.received().subtract(one.received());
        if (!ones.isEmpty() && !others.isEmpty()) {
          Set<String> names = new TreeSet<>(List.of(one.server(), other.server()));
          names.remove(own.server());
          return new Verdict(
              Kind.INCOMPARABLE,
              names,
              "%1$s has %2$s, which %3$s lacks, and %3$s has %4$s, which %1$s lacks; decide which one to keep, and rebuild the other"
                  .formatted(one.server(), ones, other.server(), others));
        }
      }
    }
    return null;
  }
}
