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
 * The position of a server, as its agent publishes it.
 *
 * @param server the name of the server
 * @param address the address of the server, {@code host:port}
 * @param uuid the {@code server_uuid}
 * @param id the {@code server_id}
 * @param servers the names of all servers of the set, as this agent knows them
 * @param finalIn the election term of the last promotion at the time when the receiver was stopped;
 *     the position is final until the next promotion is recorded. 0 if there was none;
 *     {@link #MAY_RECEIVE} if the position is not final
 * @param changes the number of times that the position became final, or no longer final, since the
 *     agent started
 * @param term the term found in the server's data
 * @param received the transactions that it has executed or received
 * @param whole whether the server has every transaction that it acknowledged
 * @param wholeOfLast whether the server has every transaction that it acknowledged to the last
 *     source
 * @param status the status of the server, for display
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
    boolean wholeOfLast,
    Status status) {

  /** The term of a position that is not final. */
  static final long MAY_RECEIVE = -1;

  private static final String REASON = " reason=";

  /** Returns the position as text. The reason comes last, since a store may truncate the text. */
  String print() {
    return "server=%s role=%s lag=%ss term=%s received=%s address=%s uuid=%s id=%s servers=%s final=%s changes=%s whole=%b whole-of-last=%b%s%s"
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
            this.wholeOfLast,
            REASON,
            this.status.reason());
  }

  /** Returns whether the position is final, given the election term of the last promotion. */
  boolean isFinal(long term) {
    return this.finalIn == term;
  }

  /**
   * Returns the position that counts in the succession of the last source. Transactions that the
   * server itself wrote since the last promotion, for instance as root, cannot have been
   * acknowledged and are left out.
   *
   * @param candidate the transactions of the server that may be promoted. If it has all that the
   *     last source had when it was promoted, it has all that was acknowledged to earlier sources
   */
  Succession.Position forSuccession(Promotion last, GtidSet candidate) {
    GtidSet surplus = last.uuid().equals(this.uuid)
        ? GtidSet.EMPTY
        : this.received.subtract(last.position()).ofOrigin(this.uuid);
    return new Succession.Position(
        this.server,
        this.received.subtract(surplus),
        candidate.contains(last.position()) ? this.wholeOfLast : this.whole);
  }

  /** Returns the position of the last source, which is read-only and hands over. */
  static Position ofSource(Promotion last, Set<String> servers, GtidSet executed) {
    return new Position(
        last.server(),
        last.address(),
        last.uuid(),
        0,
        servers,
        last.electionTerm(),
        0,
        last.term(),
        executed,
        true,
        true,
        new Status(Role.WAITING, "it is handing over", 0));
  }

  /** Parses a position; empty if the text is not one. */
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
          Boolean.parseBoolean(of(found, "whole-of-last")),
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
