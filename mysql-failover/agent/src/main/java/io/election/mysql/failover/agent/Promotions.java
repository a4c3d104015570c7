package io.election.mysql.failover.agent;

import io.election.store.LeaseStoreException;
import java.util.Optional;

/** The record of the last promotion, in the store of the election. */
interface Promotions extends AutoCloseable {

  /**
   * Reads the last promotion. A record that was written before this call is never missed.
   *
   * @throws LeaseStoreException if the store does not answer
   * @throws IllegalArgumentException if the record was overwritten with something else
   */
  Optional<Promotion> last() throws LeaseStoreException;

  /**
   * Records a promotion if this node still leads in the election term of that promotion.
   *
   * @return whether it was recorded
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean record(Promotion promotion) throws LeaseStoreException;

  @Override
  void close();
}
