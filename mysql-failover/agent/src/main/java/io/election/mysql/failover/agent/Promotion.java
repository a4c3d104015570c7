package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.Succession;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.io.UncheckedIOException;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import java.util.Set;

/**
 * The last promotion of a set, as all agents read it, with its source, term and position.
 *
 * @param term the number of the promotion
 * @param server the name of the source
 * @param uuid the {@code server_uuid} of the source
 * @param address the address of the source. It is not in the record, but in the settings of each
 *     agent: whoever writes the record cannot ask for a login elsewhere
 * @param position the transactions that the source had executed when it was promoted, before it
 *     accepted writes
 * @param electionTerm the election term in which the agent of the source leads
 * @param acknowledging the number of replicas that have every transaction that the source has
 *     acknowledged, at least
 */
record Promotion(
    long term,
    String server,
    String uuid,
    String address,
    GtidSet position,
    long electionTerm,
    int acknowledging) {

  private static final List<String> NAMES =
      List.of("term", "server", "uuid", "position", "election", "acknowledging");

  private static final String REMEDY =
      "Write it again (mysql-failover/README.md, \"When the election itself fails\")";

  Promotion {
    if (acknowledging < 0) {
      throw new IllegalArgumentException("acknowledging is " + acknowledging);
    }
  }

  /**
   * Returns the promotion to record. If this server was also the last one to be promoted, its
   * promotion continues, so that no other server has missed one.
   *
   * @param freshest what the server's decision to stand was based on
   * @param applied the state of the server, which has applied all that it had received
   * @param electionTerm the election term in which the agent of the server leads
   * @throws IllegalStateException if the terms of the record and of the data contradict each other
   */
  static Promotion next(
      AgentProperties properties,
      FreshestFirst freshest,
      ServerState applied,
      Optional<Promotion> last,
      long electionTerm) {
    long newest =
        freshest.decidedBy().stream().mapToLong(Position::term).reduce(applied.term(), Math::max);
    long lastTerm = last.map(Promotion::term).orElse(0L);
    if (newest + 1 < lastTerm || (last.isPresent() && newest > lastTerm)) {
      throw new IllegalStateException(
          "the record of promotions says term %s, and the newest known data are of term %s: one of them was changed. Compare with the table mysql_failover.promotion of all servers, and restore whichever is wrong"
              .formatted(lastTerm, newest));
    }
    Optional<Promotion> same =
        last.filter((each) -> each.term() == newest && each.uuid().equals(applied.uuid()));
    return new Promotion(
        same.map(Promotion::term).orElse(newest + 1),
        properties.server(),
        applied.uuid(),
        properties.address(),
        same.map(Promotion::position).orElse(applied.executed()),
        electionTerm,
        freshest.acknowledging(applied.executed()));
  }

  /**
   * Returns the rules for the successors of this source. Its agent may have had another setting than
   * the one that asks.
   */
  Succession succession(Set<String> servers, int acknowledging) {
    return new Succession(servers, this.server, Math.min(acknowledging, this.acknowledging));
  }

  /**
   * Returns why the position of a server says nothing of its data; empty if it does. Such a server
   * is another one under the name of this source, or its GTIDs were reset.
   */
  String doubt(Position position) {
    boolean isSource = position.server().equals(this.server);
    if (isSource && !position.uuid().equals(this.uuid)) {
      return "it has the name of the last source, but the server_uuid %s instead of %s, so its data are those of another server. It joins the next source. If it is to be the source itself: %s"
          .formatted(position.uuid(), this.uuid, REMEDY);
    }
    GtidSet lost = this.position.subtract(position.received());
    if ((!lost.isEmpty() && (isSource || position.term() == this.term))
        || (position.received().isEmpty() && position.term() > 0)) {
      return "its data are of term %s, but its GTIDs were reset: they lack %s. %s"
          .formatted(
              position.term(),
              lost.isEmpty() ? "that promotion" : lost,
              isSource
                  ? "If it is to be the source again: " + REMEDY
                  : "Rebuild the server when there is a source (POST /rebuild)");
    }
    return "";
  }

  String print() {
    Properties text = new Properties();
    text.setProperty("term", Long.toString(this.term));
    text.setProperty("server", this.server);
    text.setProperty("uuid", this.uuid);
    text.setProperty("position", this.position.toString());
    text.setProperty("election", Long.toString(this.electionTerm));
    text.setProperty("acknowledging", Integer.toString(this.acknowledging));
    StringWriter out = new StringWriter();
    try {
      text.store(out, null);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
    return out.toString();
  }

  /**
   * Parses a promotion.
   *
   * @param settings the settings with the addresses of the servers
   * @throws IllegalArgumentException if the text is not a promotion
   */
  static Promotion parse(String text, AgentProperties settings) {
    Properties found = new Properties();
    try {
      found.load(new StringReader(text));
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
    for (String name : NAMES) {
      if (found.getProperty(name) == null) {
        throw new IllegalArgumentException("The record of the last promotion lacks '%s': %s. %s"
            .formatted(name, text.strip().replace('\n', ' '), REMEDY));
      }
    }
    try {
      return new Promotion(
          Long.parseLong(found.getProperty("term")),
          found.getProperty("server"),
          found.getProperty("uuid"),
          settings.address(found.getProperty("server")),
          GtidSet.parse(found.getProperty("position")),
          Long.parseLong(found.getProperty("election")),
          Integer.parseInt(found.getProperty("acknowledging")));
    } catch (IllegalArgumentException ex) {
      throw new IllegalArgumentException(
          "The record of the last promotion cannot be read (%s): %s. %s"
              .formatted(ex.getMessage(), text.strip().replace('\n', ' '), REMEDY),
          ex);
    }
  }
}
