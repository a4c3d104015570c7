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

  /**
   * Returns why the set is paused, as {@link #last} has found it; empty if it is not. While it is
   * paused, no server is promoted, and no source gives up because replicas are missing.
   */
  default String paused() {
    return "";
  }

  /**
   * Pauses the set, for maintenance, or ends the pause.
   *
   * @param reason why it is paused; empty to end the pause
   * @throws LeaseStoreException if the outcome is unknown
   */
  default void pause(String reason) throws LeaseStoreException {
    throw new IllegalStateException("a set can be paused in etcd alone");
  }

  @Override
  void close();
}
