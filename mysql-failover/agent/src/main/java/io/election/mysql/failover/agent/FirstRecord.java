package io.election.mysql.failover.agent;

import static io.election.mysql.failover.agent.Accession.require;

import io.election.store.LeaseStoreException;
import java.util.Map;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The first record of a set: an operator names its first source. */
record FirstRecord(AgentProperties properties, Registry registry) {

  private static final Logger log = LoggerFactory.getLogger(FirstRecord.class);

  /**
   * Writes the first record of a set: this server has all data, and becomes its first source.
   *
   * @throws IllegalStateException if there is a record, or the server cannot be the first source
   */
  void write(int acknowledging) throws LeaseStoreException {
    String server = this.properties.server();
    Position own = this.registry.read().positions().get(server);
    String problem = own == null
        ? "its agent has not published its position"
        : own.term() > 0
            ? "its data are of term %s, so the record of promotions is gone".formatted(own.term())
            : own.refusal();
    if (own == null || !problem.isEmpty()) {
      throw new IllegalStateException(
          "%s cannot be the first source: %s".formatted(server, problem));
    }
    int replicas = this.properties.servers().size() - 1;
    require(
        acknowledging >= 1 && acknowledging <= replicas,
        "acknowledging=%s: it must be between 1 and the number of replicas, which is %s"
            .formatted(acknowledging, replicas));
    Promotion first = new Promotion(
        1,
        own.server(),
        own.uuid(),
        own.received(),
        0,
        acknowledging,
        Map.of(own.server(), own.uuid()));
    require(this.registry.initialize(first), "the set has a record of promotions already");
    log.info("{} becomes the first source", own.server());
  }
}
