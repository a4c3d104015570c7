package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.Succession;
import java.util.Optional;

/**
 * What an agent publishes about its server.
 *
 * @param server the name of the server
 * @param address where it is reached, {@code host:port}
 * @param uuid the {@code server_uuid}
 * @param finalIn the term of the last promotion when its receiver was stopped, so that the position is
 *     final until the next one; -1 if it may still receive
 * @param term the term that its data show
 * @param received the transactions that it has executed or received
 */
record Position(
    String server, String address, String uuid, long finalIn, long term, GtidSet received) {

  String print() {
    return "%s %s %s %d %d %s"
        .formatted(
            this.server,
            this.address,
            this.uuid,
            this.finalIn,
            this.term,
            this.received.toString().replaceAll("\\s", ""));
  }

  /** Returns whether it is final, as seen after a promotion. */
  boolean isFinal(long term) {
    return this.finalIn == term;
  }

  Succession.Position forSuccession() {
    return new Succession.Position(this.server, this.received);
  }

  /** Reads a position; empty if it is none. */
  static Optional<Position> parse(String text) {
    String[] parts = text.split(" ", 6);
    if (parts.length < 6) {
      return Optional.empty();
    }
    try {
      return Optional.of(new Position(
          parts[0],
          parts[1],
          parts[2],
          Long.parseLong(parts[3]),
          Long.parseLong(parts[4]),
          GtidSet.parse(parts[5])));
    } catch (IllegalArgumentException ex) {
      return Optional.empty();
    }
  }
}
