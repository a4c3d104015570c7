package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.Registry.Snapshot;
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
   * @param acknowledging the number of replicas that acknowledge each transaction
   * @throws IllegalStateException if there is a record, or the server cannot be the first source
   */
  void write(int acknowledging) throws LeaseStoreException {
    Snapshot read = this.registry.read();
    Position own = read.positions().get(this.properties.server());
    if (own == null || !own.refusal().isEmpty() || own.term() > 0) {
      throw new IllegalStateException("%s cannot be the first source: %s"
          .formatted(
              this.properties.server(),
              own == null
                  ? "its agent has not published its position"
                  : own.term() > 0
                      ? "its data are of term %s, so the record of promotions is gone"
                          .formatted(own.term())
                      : own.refusal()));
    }
    int replicas = this.properties.servers().size() - 1;
    if (acknowledging < 1 || acknowledging > replicas) {
      throw new IllegalStateException(
          "acknowledging=%s: it must be between 1 and the number of replicas, which is %s"
              .formatted(acknowledging, replicas));
    }
    Promotion first = new Promotion(
        1,
        own.server(),
        own.uuid(),
        own.received(),
        0,
        acknowledging,
        Map.of(own.server(), own.uuid()));
    if (!this.registry.initialize(first)) {
      throw new IllegalStateException("the set has a record of promotions already");
    }
    log.info("{} becomes the first source", own.server());
  }
}
