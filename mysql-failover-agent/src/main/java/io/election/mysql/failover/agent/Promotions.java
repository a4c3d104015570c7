package io.election.mysql.failover.agent;

import io.election.lease.LeaseStoreException;
import java.util.Optional;

/** The record of the last promotion, in the store of the election. */
interface Promotions extends AutoCloseable {

  /**
   * Reads the last promotion. A record that was written before is never missed.
   *
   * @throws LeaseStoreException if the store does not answer
   * @throws IllegalArgumentException if somebody has written something else
   */
  Optional<Promotion> last() throws LeaseStoreException;

  /**
   * Records a promotion, if this node still leads in the term of the election in which it began.
   *
   * @return whether it was recorded
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean record(Promotion promotion) throws LeaseStoreException;

  @Override
  void close();
}
