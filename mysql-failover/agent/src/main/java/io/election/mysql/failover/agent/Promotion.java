package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.Succession;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;

/**
 * The last promotion of a set, as all agents read it, with its source, term and position.
 *
 * @param position the transactions that the source had executed when it was promoted, before it
 *     accepted writes
 * @param acknowledging the number of replicas that acknowledge each transaction before the source
 *     does; the same for the life of the set
 * @param members the {@code server_uuid} of each server that may acknowledge to this source, by its
 *     name; a server that is not among them does not join
 */
record Promotion(
    long term,
    String server,
    String uuid,
    GtidSet position,
    long electionTerm,
    int acknowledging,
    Map<String, String> members) {

  private static final String REMEDY =
      "Write it again (mysql-failover/README.md, \"When the election itself fails\")";

  Promotion {
    if (acknowledging < 1) {
      throw new IllegalArgumentException("acknowledging is " + acknowledging + ", below 1");
    }
    members = Map.copyOf(members);
  }

  /**
   * Returns the promotion to record after this one. If the server is also the last source, its
   * promotion continues, so that no other server has missed one.
   *
   * @param applied the state of the server, which has applied all that it had received
   * @param newest the greatest term in the data of the servers whose positions were decisive
   * @throws IllegalStateException if the terms of the record and of the data contradict each other
   */
  Promotion next(
      Position server,
      ServerState applied,
      long newest,
      long electionTerm,
      Map<String, String> members) {
    if (newest + 1 < this.term || newest > this.term) {
      throw new IllegalStateException(
          "the record of promotions says term %s, and the newest known data are of term %s: one of them was changed. Compare with the table mysql_failover.promotion of all servers, and restore whichever is wrong"
              .formatted(this.term, newest));
    }
    boolean same = this.term == newest && this.uuid.equals(applied.uuid());
    return new Promotion(
        same ? this.term : newest + 1,
        server.server(),
        applied.uuid(),
        same ? this.position : applied.executed(),
        electionTerm,
        this.acknowledging,
        members);
  }

  Promotion with(Map<String, String> members) {
    return new Promotion(
        this.term,
        this.server,
        this.uuid,
        this.position,
        this.electionTerm,
        this.acknowledging,
        members);
  }

  /** Returns the members of the set after some of its servers have announced themselves. */
  Map<String, String> membersAmong(
      AgentProperties set, Map<String, Position> announced, String uuid) {
    Map<String, String> members = new TreeMap<>();
    for (String each : set.servers().keySet()) {
      Optional.ofNullable(announced.get(each))
          .map(Position::uuid)
          .or(() -> Optional.ofNullable(this.members.get(each)))
          .ifPresent((known) -> members.put(each, known));
    }
    members.put(set.server(), uuid);
    return members;
  }

  /**
   * Returns the position of a server that counts in the succession of this source. Transactions that
   * the server wrote itself since the promotion, for instance as root, cannot have been
   * acknowledged. A server that has nothing of the source, not even the transaction that records the
   * promotion, did not follow it; what it has beyond the promotion is left out.
   */
  Succession.Position counting(Position position) {
    GtidSet since = position.received().subtract(this.position);
    GtidSet surplus = GtidSet.EMPTY;
    if (!this.uuid.equals(position.uuid())) {
      surplus = since.ofOrigin(this.uuid).isEmpty() ? since : since.ofOrigin(position.uuid());
    }
    return new Succession.Position(
        position.server(),
        position.received().subtract(surplus),
        !position.proof().isEmpty() && position.uuid().equals(this.members.get(position.server())));
  }

  /** Returns why the data of the last source cannot be those that it had; empty if they can. */
  String doubt(Position position) {
    if (!position.server().equals(this.server)) {
      return "";
    }
    if (!position.uuid().equals(this.uuid)) {
      return "it has the name of the last source, but the server_uuid %s instead of %s, so its data are those of another server. It joins the next source. If it is to be the source itself: %s"
          .formatted(position.uuid(), this.uuid, REMEDY);
    }
    GtidSet lost = this.position.subtract(position.received());
    return lost.isEmpty()
        ? ""
        : "its GTIDs were reset, or its data are older than its promotion: they lack %s. If it is to be the source again: %s"
            .formatted(lost, REMEDY);
  }

  String print() {
    return Json.print(this);
  }

  /**
   * Parses a promotion.
   *
   * @throws IllegalArgumentException if the text is not a promotion
   */
  static Promotion parse(String text) {
    try {
      return Json.parse(text, Promotion.class);
    } catch (IllegalArgumentException ex) {
      throw new IllegalArgumentException(
          "The record of the last promotion cannot be read (%s): %s. %s"
              .formatted(ex.getMessage(), text.strip().replace('\n', ' '), REMEDY),
          ex);
    }
  }

  Set<String> names() {
    return new TreeSet<>(this.members.keySet());
  }
}
