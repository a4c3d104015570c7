package io.election.mysql.failover;

import java.util.Collection;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;

/**
 * Decides whether a server may replace a failed source. The freshest server comes first, judged by
 * the transactions that each server has received. Sets of transactions are only partially ordered:
 * if each of two servers has transactions that the other lacks, neither is promoted automatically,
 * and neither is a third server that lacks some of theirs.
 *
 * @param members the names of all servers of the set, the last source included
 * @param source the name of the last source
 * @param acknowledging the number of replicas that acknowledged each transaction before the source
 *     did; at least 1
 */
public record Succession(Set<String> members, String source, int acknowledging) {

  /**
   * A server's final position: the server no longer receives from the last source.
   *
   * @param server the name of the server
   * @param received the transactions that it has executed or received
   * @param whole whether it is proven that the server has every transaction that it acknowledged
   */
  public record Position(String server, GtidSet received, boolean whole) {}

  /** What a server may do. */
  public enum Kind {
    /** No other server is fresher. */
    FRESHEST,
    /** Other servers are fresher; this one comes next only if they do not stand. */
    FRESHER_EXIST,
    /** Two servers each have transactions that the other lacks. An operator must choose. */
    INCOMPARABLE,
    /** Too few positions count: an acknowledged transaction might exist elsewhere only. */
    TOO_FEW
  }

  /**
   * The decision.
   *
   * @param kind what the server may do
   * @param others the servers that are fresher, incomparable, or do not count
   * @param reason the reason, for display; empty for the freshest server
   */
  public record Verdict(Kind kind, Set<String> others, String reason) {}

  /** Checks the number. */
  public Succession {
    if (acknowledging < 1) {
      throw new IllegalArgumentException(
          "%s replicas acknowledge, but at least 1 must".formatted(acknowledging));
    }
    members = Set.copyOf(members);
  }

  /** Returns the replicas whose positions are not known, in order. */
  public Set<String> missing(Collection<Position> positions) {
    Set<String> missing = new TreeSet<>(this.members);
    missing.remove(this.source);
    positions.forEach((each) -> missing.remove(each.server()));
    return missing;
  }

  /**
   * Returns the number of replicas whose positions must count. Of R replicas of which w acknowledge,
   * R - w + 1 are needed, so that each acknowledged transaction is on one of them.
   */
  public int needed() {
    int replicas = this.members.size() - (this.members.contains(this.source) ? 1 : 0);
    return Math.max(1, replicas - this.acknowledging + 1);
  }

  /**
   * Decides for one server. The position of the last source needs no others: it has all that was
   * acknowledged.
   *
   * @param server its name
   * @param positions the known positions of members, each server once, this one included
   */
  public Verdict decide(String server, Collection<Position> positions) {
    long whole = positions.stream().filter(Position::whole).count();
    boolean hasSource = positions.stream().anyMatch((each) -> each.server().equals(this.source));
    if (!hasSource && whole < needed()) {
      Set<String> missing = missing(positions);
      Set<String> unproven = positions.stream()
          .filter((each) -> !each.whole())
          .map(Position::server)
          .collect(Collectors.toCollection(TreeSet::new));
      Set<String> others = new TreeSet<>(missing);
      others.addAll(unproven);
      return new Verdict(
          Kind.TOO_FEW,
          others,
          "the positions of %s replicas are needed, or that of the last source %s; missing: %s"
                  .formatted(needed(), this.source, missing)
              + (unproven.isEmpty()
                  ? ""
                  : "; not counted, since they may lack acknowledged transactions: " + unproven));
    }
    GtidSet own = positions.stream()
        .filter((each) -> each.server().equals(server))
        .map(Position::received)
        .findFirst()
        .orElse(GtidSet.EMPTY);
    Set<String> fresher = positions.stream()
        .filter((each) -> !own.contains(each.received()))
        .map(Position::server)
        .collect(Collectors.toCollection(TreeSet::new));
    if (fresher.isEmpty()) {
      return new Verdict(Kind.FRESHEST, Set.of(), "");
    }
    List<Position> known = List.copyOf(positions);
    for (Position one : known) {
      for (Position other : known.subList(known.indexOf(one) + 1, known.size())) {
        GtidSet ones = one.received().subtract(other.received());
        GtidSet others = other.received().subtract(one.received());
        if (!ones.isEmpty() && !others.isEmpty()) {
          return new Verdict(
              Kind.INCOMPARABLE,
              Set.of(one.server(), other.server()),
              "%1$s has %2$s, which %3$s lacks, and %3$s has %4$s, which %1$s lacks; decide which one to keep, and rebuild the other"
                  .formatted(one.server(), ones, other.server(), others));
        }
      }
    }
    GtidSet lacking = known.stream()
        .map(Position::received)
        .reduce(GtidSet.EMPTY, GtidSet::union)
        .subtract(own);
    return new Verdict(
        Kind.FRESHER_EXIST,
        fresher,
        "fresher servers: %s; this server lacks %s".formatted(fresher, lacking));
  }
}
