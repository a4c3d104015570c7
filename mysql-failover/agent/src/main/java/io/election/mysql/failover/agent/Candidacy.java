package io.election.mysql.failover.agent;

import io.election.lease.Precedence.Kind;
import io.election.lease.Precedence.Turn;
import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.Succession;
import io.election.mysql.failover.agent.Registry.Snapshot;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Decides whether a server stands for election, from what its agent has read. Has no state and no
 * clock.
 *
 * @param patience how long to wait for the positions of all servers
 * @param holdBack how much longer to wait for each server that goes first
 */
record Candidacy(Set<String> servers, Duration patience, Duration holdBack) {

  /**
   * A decision.
   *
   * @param passedOver the fresher servers that did not stand while this one held back
   */
  record Decision(Turn turn, Set<String> passedOver) {

    boolean stands() {
      return this.turn.kind() == Kind.AT_ONCE;
    }
  }

  /**
   * Decides before the election.
   *
   * @param own the server's position, which is final
   */
  Decision decide(Snapshot read, Position own, Duration openFor) {
    return decide(read, own, openFor, this.servers);
  }

  /**
   * Decides once more after the election, by positions read since then: the former source cannot
   * acknowledge any more, so they have every acknowledged transaction.
   *
   * @param before the decision to stand, which passed over some servers
   */
  Decision confirm(Snapshot read, Position own, Decision before) {
    return decide(read, own, Duration.ofDays(1), before.passedOver());
  }

  /**
   * Returns why no server would be promoted if the source were lost now; empty if one would be.
   * Assumes that all servers that agents manage have received the same.
   */
  String wouldFail(Snapshot read, Set<String> managed) {
    if (read.last().isEmpty()) {
      return "no promotion was ever recorded";
    }
    Promotion last = read.last().get();
    Map<String, Position> lost = new TreeMap<>();
    read.positions().values().stream()
        .filter((each) -> managed.contains(each.server()) && !each.server().equals(last.server()))
        .forEach(
            (each) -> lost.put(each.server(), each.finalIn(last.electionTerm(), last.position())));
    Snapshot then = new Snapshot(read.last(), lost, read.paused());
    Map<String, String> reasons = new TreeMap<>();
    for (Position each : lost.values()) {
      Decision decision = decide(then, each, Duration.ofDays(1), this.servers);
      if (decision.stands()) {
        return "";
      }
      reasons.put(each.server(), decision.turn().reason());
    }
    return reasons.isEmpty()
        ? "no agent of a replica has published a position"
        : reasons.toString();
  }

  private Decision decide(
      Snapshot read, Position own, Duration openFor, Set<String> mayBePassedOver) {
    if (read.last().isEmpty()) {
      return aside(
          "no promotion was ever recorded: POST /initialize to the agent of the server that has all data, or write the record again if it is gone (mysql-failover/README.md, \"When the election itself fails\")");
    }
    Promotion last = read.last().get();
    Optional<String> refusal = refusal(read, own, last);
    if (refusal.isPresent()) {
      return aside(refusal.get());
    }
    Set<String> members = last.names();
    members.retainAll(this.servers); // without those that an operator has removed
    Succession succession = new Succession(members, last.server(), last.acknowledging());
    List<Succession.Position> positions =
        counting(read, own, last, members).stream().map(last::counting).toList();
    boolean hasSource = positions.stream().anyMatch((each) -> each.server().equals(last.server()));
    Set<String> missing = succession.missing(positions);
    if (!missing.isEmpty() && !hasSource && openFor.compareTo(this.patience) < 0) {
      return later(this.patience, "positions are missing: " + missing);
    }
    Set<String> passedOver = new TreeSet<>();
    Duration until = this.patience;
    while (true) {
      Succession.Verdict verdict = succession.decide(
          own.server(),
          positions.stream()
              .filter((each) -> !passedOver.contains(each.server()))
              .toList());
      if (verdict.kind() == Succession.Kind.FRESHEST) {
        Duration forPreferred = until.plus(this.holdBack);
        Optional<String> preferred = preferred(read, own, last);
        return preferred.isPresent() && openFor.compareTo(forPreferred) < 0
            ? later(forPreferred, preferred.get() + " is preferred")
            : new Decision(Turn.atOnce(), Set.copyOf(passedOver));
      }
      if (verdict.kind() != Succession.Kind.FRESHER_EXIST) {
        return aside(
            passedOver.isEmpty()
                ? verdict.reason()
                : "%s; without %s, which are fresher but did not stand, acknowledged transactions might be lost"
                    .formatted(verdict.reason(), passedOver));
      }
      // The next freshest server takes its turn before the servers behind it.
      until = until.plus(this.holdBack.multipliedBy(verdict.others().size()));
      if (openFor.compareTo(until) < 0 || !mayBePassedOver.containsAll(verdict.others())) {
        return later(until, verdict.reason());
      }
      passedOver.addAll(verdict.others());
    }
  }

  private static Decision aside(String reason) {
    return new Decision(Turn.standAside(reason), Set.of());
  }

  private static Decision later(Duration time, String reason) {
    return new Decision(Turn.holdBack(time, reason), Set.of());
  }

  /** Returns the final positions that say something about what was acknowledged. */
  private static List<Position> counting(
      Snapshot read, Position own, Promotion last, Set<String> members) {
    List<Position> counting = new ArrayList<>();
    counting.add(own);
    read.positions().values().stream()
        .filter((each) -> !each.server().equals(own.server()))
        .filter((each) -> each.isFinal(last.electionTerm()))
        .filter((each) -> members.contains(each.server()) || each.server().equals(last.server()))
        .filter((each) -> last.doubt(each).isEmpty())
        .forEach(counting::add);
    return counting;
  }

  private static Optional<String> preferred(Snapshot read, Position own, Promotion last) {
    GtidSet mine = last.counting(own).received();
    return own.preferred()
        ? Optional.empty()
        : read.positions().values().stream()
            .filter((each) -> each.preferred() && each.refusal().isEmpty())
            .filter((each) -> each.isFinal(last.electionTerm()))
            .filter((each) -> last.counting(each).received().contains(mine))
            .map(Position::server)
            .findFirst();
  }

  /** Returns why the server may not stand, whatever it has received. */
  private Optional<String> refusal(Snapshot read, Position own, Promotion last) {
    String recorded = last.members().getOrDefault(own.server(), "");
    return Stream.of(
            read.paused().isEmpty() ? "" : "failover is paused: " + read.paused(),
            own.refusal(),
            last.doubt(own),
            own.uuid().equals(last.uuid()) || own.uuid().equals(recorded)
                ? ""
                : "the last source %s has recorded %s under its name, not this server's server_uuid %s: it joins the next source"
                    .formatted(
                        last.server(), recorded.isEmpty() ? "no server" : recorded, own.uuid()),
            sameIdentity(read, own.server(), own.uuid(), own.id()),
            newerTerm(read, own, last),
            otherList(read, own))
        .filter((each) -> !each.isEmpty())
        .findFirst();
  }

  /** Returns which other server has the same identity; empty if none has. */
  static String sameIdentity(Snapshot read, String server, String uuid, long id) {
    for (Position each : read.positions().values()) {
      if (each.server().equals(server)) {
        continue;
      }
      if (each.uuid().equals(uuid)) {
        return "%s has the same server_uuid as this server, %s: remove auto.cnf from one of them, and restart it"
            .formatted(each.server(), uuid);
      }
      if (each.id() == id) {
        return "%s has the same server_id as this server, %s, so that one would ignore the transactions of the other: change it on one of them, and restart that server"
            .formatted(each.server(), id);
      }
    }
    return "";
  }

  private static String newerTerm(Snapshot read, Position own, Promotion last) {
    return Stream.concat(Stream.of(own), read.positions().values().stream())
        .filter((each) -> each.term() > last.term())
        .map((each) ->
            "the data of %s are of term %s, but the record of promotions says %s: one of them was changed. Compare with the table mysql_failover.promotion of all servers, and restore whichever is wrong"
                .formatted(each.server(), each.term(), last.term()))
        .findFirst()
        .orElse("");
  }

  private String otherList(Snapshot read, Position own) {
    return read.positions().values().stream()
        .filter((each) -> this.servers.contains(each.server()))
        .filter((each) -> !each.server().equals(own.server())) // of an earlier agent
        .filter((each) -> !each.servers().equals(this.servers))
        .map((each) ->
            "the agent of %s has as.failover.servers=%s, and this one %s: give all agents the same list"
                .formatted(
                    each.server(), new TreeSet<>(each.servers()), new TreeSet<>(this.servers)))
        .findFirst()
        .orElse("");
  }
}
