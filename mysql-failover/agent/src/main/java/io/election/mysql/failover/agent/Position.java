package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import java.util.Optional;
import java.util.Set;

/**
 * The position of a server, as its agent publishes it.
 *
 * @param servers the names of all servers of the set, as this agent knows them
 * @param finalIn the election term of the last promotion at the time when the receiver was stopped;
 *     the position is final until the next promotion is recorded. {@link #MAY_RECEIVE} if the
 *     position is not final
 * @param received the transactions that it has executed or received
 * @param proof a transaction that the server had received and executed when it was found to have
 *     caught up with its source. While its relay log has it, nothing that the server ever
 *     acknowledged is lost: a server does not receive again what it has executed, so the relay log
 *     is still the same one. Empty if the server was not found to have caught up, or has lost its
 *     relay log since then
 * @param refusal why the server does not stand for election; empty if it may
 * @param preferred whether other servers let it go first if it is as fresh as they are
 */
record Position(
    String server,
    String agent,
    String uuid,
    long id,
    Set<String> servers,
    long finalIn,
    long term,
    GtidSet received,
    GtidSet proof,
    String refusal,
    boolean preferred) {

  /** The term of a position that is not final. */
  static final long MAY_RECEIVE = -1;

  Position {
    servers = Set.copyOf(servers);
  }

  /** Returns whether the position is final, given the election term of the last promotion. */
  boolean isFinal(long term) {
    return this.finalIn == term;
  }

  Position finalIn(long term, GtidSet received) {
    return new Position(
        this.server,
        this.agent,
        this.uuid,
        this.id,
        this.servers,
        term,
        this.term,
        received,
        this.proof,
        this.refusal,
        this.preferred);
  }

  /** Returns whether another position says the same, but for the transactions. */
  boolean saysTheSameAs(Position other) {
    return finalIn(this.finalIn, other.received()).equals(other);
  }

  String print() {
    return Json.print(this);
  }

  /** Parses a position; empty if the text is not one. */
  static Optional<Position> parse(String text) {
    try {
      return Optional.of(Json.parse(text, Position.class));
    } catch (IllegalArgumentException ex) {
      return Optional.empty();
    }
  }
}
