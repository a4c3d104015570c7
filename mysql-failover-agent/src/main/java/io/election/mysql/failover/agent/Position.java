package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.Succession;
import io.election.mysql.failover.agent.Status.Role;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;

/**
 * What an agent publishes about its server.
 *
 * @param server the name of the server
 * @param address where it is reached, {@code host:port}
 * @param uuid the {@code server_uuid}
 * @param id the {@code server_id}
 * @param servers the names of all servers of the set, as this agent knows them
 * @param finalIn the term of the election in which the last promotion was recorded when its receiver
 *     was stopped, so that the position is final until the next record; 0 if there was none; {@link
 *     #MAY_RECEIVE} if it is not final
 * @param changes how often the position has become final, or no longer final, since the agent began
 * @param term the term that its data show
 * @param received the transactions that it has executed or received
 * @param whole whether it has all that it has acknowledged
 * @param status what the server is, for people
 */
record Position(
    String server,
    String address,
    String uuid,
    long id,
    Set<String> servers,
    long finalIn,
    long changes,
    long term,
    GtidSet received,
    boolean whole,
    Status status) {

  /** The term of a position that is not final. */
  static final long MAY_RECEIVE = -1;

  private static final String REASON = " reason=";

  /** Returns it as a text. The reason is last, since whoever stores the text may cut its end off. */
  String print() {
    return "server=%s role=%s lag=%ds term=%d received=%s address=%s uuid=%s id=%d servers=%s final=%d changes=%d whole=%b%s%s"
        .formatted(
            this.server,
            this.status.role(),
            this.status.lagSeconds(),
            this.term,
            this.received,
            this.address,
            this.uuid,
            this.id,
            String.join(",", new TreeSet<>(this.servers)),
            this.finalIn,
            this.changes,
            this.whole,
            REASON,
            this.status.reason());
  }

  /** Returns whether it is final, as seen after a promotion in a term of the election. */
  boolean isFinal(long term) {
    return this.finalIn == term;
  }

  /**
   * Returns what counts in the succession of the last source. What the server itself has written since
   * that was promoted, for instance by root, cannot have been acknowledged.
   */
  Succession.Position forSuccession(Promotion last) {
    GtidSet surplus = last.uuid().equals(this.uuid)
        ? GtidSet.EMPTY
        : this.received.subtract(last.position()).ofOrigin(this.uuid);
    return new Succession.Position(this.server, this.received.subtract(surplus), this.whole);
  }

  /** Reads a position; empty if it is none. */
  static Optional<Position> parse(String text) {
    int reason = text.indexOf(REASON);
    if (reason < 0) {
      return Optional.empty();
    }
    Map<String, String> found = new HashMap<>();
    for (String part : text.substring(0, reason).split(" ", -1)) {
      int equals = part.indexOf('=');
      if (equals > 0) {
        found.put(part.substring(0, equals), part.substring(equals + 1));
      }
    }
    try {
      return Optional.of(new Position(
          of(found, "server"),
          of(found, "address"),
          of(found, "uuid"),
          Long.parseLong(of(found, "id")),
          Set.of(of(found, "servers").split(",", -1)),
          Long.parseLong(of(found, "final")),
          Long.parseLong(of(found, "changes")),
          Long.parseLong(of(found, "term")),
          GtidSet.parse(of(found, "received")),
          Boolean.parseBoolean(of(found, "whole")),
          new Status(
              Role.valueOf(of(found, "role")),
              text.substring(reason + REASON.length()),
              Long.parseLong(of(found, "lag").replace("s", "")))));
    } catch (IllegalArgumentException ex) {
      return Optional.empty();
    }
  }

  private static String of(Map<String, String> found, String name) {
    String value = found.get(name);
    if (value == null) {
      throw new IllegalArgumentException(name);
    }
    return value;
  }
}
