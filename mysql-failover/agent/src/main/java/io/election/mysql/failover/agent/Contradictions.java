package io.election.mysql.failover.agent;

import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Stream;

/**
 * Finds what keeps published positions from being trusted, for instance that two servers have the
 * same {@code server_uuid}. Each text names what to change.
 */
final class Contradictions {

  private final Set<String> servers;

  /**
   * Creates the checks of an agent.
   *
   * @param servers the names of all servers of the set, as this agent knows them
   */
  Contradictions(Set<String> servers) {
    this.servers = servers;
  }

  /** Returns why a server may not stand for election; empty if it may. */
  String ofCandidate(Position own, List<Position> announced, Optional<Promotion> last) {
    return first(
        last.map((each) -> each.doubt(own)).orElse(""),
        ofServers(own, announced, last),
        last.map((each) -> ofPromotion(own, announced, each)).orElse(""),
        ofLists(own, announced));
  }

  /** Returns why a server may not join a source; empty if it may. */
  String ofReplica(Position own, List<Position> announced, Promotion source) {
    return first(
        ofServers(own, announced, Optional.of(source)), ofMembership(own, announced, source));
  }

  private static String first(String... contradictions) {
    return Stream.of(contradictions)
        .filter((each) -> !each.isEmpty())
        .findFirst()
        .orElse("");
  }

  private static String ofMembership(Position own, List<Position> announced, Promotion source) {
    return announced.stream()
        .filter((each) -> each.server().equals(source.server()))
        .filter((each) -> !each.servers().contains(own.server()))
        .map((each) ->
            "it is not a member: the agent of the source %s has as.failover.servers=%s. Add it there, and at all other agents, or stop this agent"
                .formatted(each.server(), print(each.servers())))
        .findFirst()
        .orElse("");
  }

  private static String ofServers(
      Position own, List<Position> announced, Optional<Promotion> last) {
    long lastTerm = last.map(Promotion::electionTerm).orElse(0L);
    int same = 0;
    for (Position each : announced) {
      if (each.server().equals(own.server())) {
        // An agent that has stopped remains announced for a while.
        if (!each.uuid().equals(own.uuid()) || (each.isFinal(lastTerm) && ++same > 1)) {
          return "two agents have as.failover.server=%s: stop one of them".formatted(own.server());
        }
      } else if (each.uuid().equals(own.uuid())) {
        return "%s has the same server_uuid as this server, %s: remove auto.cnf from one of them, and restart it"
            .formatted(each.server(), own.uuid());
      } else if (each.id() == own.id()) {
        return "%s has the same server_id as this server, %s, so that one would ignore the transactions of the other: change it on one of them, and restart that server"
            .formatted(each.server(), own.id());
      }
    }
    return "";
  }

  private static String ofPromotion(Position own, List<Position> announced, Promotion last) {
    if (last.uuid().equals(own.uuid()) && !last.server().equals(own.server())) {
      return "it has the server_uuid of %s, the last source, %s: remove auto.cnf from one of them, and restart it"
          .formatted(last.server(), own.uuid());
    }
    return Stream.concat(Stream.of(own), announced.stream())
        .filter((each) -> each.term() > last.term())
        .map((each) ->
            "the data of %s are of term %s, but the record of promotions says %s: one of them was changed. Compare with the table mysql_failover.promotion of all servers, and restore whichever is wrong"
                .formatted(each.server(), each.term(), last.term()))
        .findFirst()
        .orElse("");
  }

  private String ofLists(Position own, List<Position> announced) {
    return announced.stream()
        .filter((each) -> !each.server().equals(own.server())) // of an earlier agent
        .filter((each) -> !this.servers.containsAll(each.servers())
            || (this.servers.contains(each.server()) && !each.servers().contains(own.server())))
        .map((each) ->
            "the agent of %s has as.failover.servers=%s, and this one %s: give all agents the same list, or stop the one that is not a member"
                .formatted(each.server(), print(each.servers()), print(this.servers)))
        .findFirst()
        .orElse("");
  }

  private static String print(Set<String> servers) {
    return String.join(",", new TreeSet<>(servers));
  }
}
