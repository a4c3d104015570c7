package io.election.lease;

/**
 * Tells followers sooner than their next look that a holder may have handed leases back, as watches do
 * in ZooKeeper and etcd. A hint and nothing more: whoever is woken looks at the records and decides by
 * them, and who is not woken looks when it is time.
 *
 * <p>For one thread, apart from {@link #close()}.
 */
public interface HandBackSignal extends AutoCloseable {

  /**
   * Waits until a holder may have handed back a lease, then lets the caller look. Of those who wait for
   * the same holder the next is woken when the look is over, so that the first can take what it finds
   * before others try.
   *
   * @param holder the node id of who holds leases
   * @param look what to do when it happens; must not throw
   * @return whether it happened; {@code false}: nothing did for a while, and the call can be repeated
   * @throws LeaseStoreException if nothing can be told for now, or the signal is closed. Not to be
   *     repeated at once
   */
  boolean await(String holder, Runnable look) throws LeaseStoreException;

  /** Ends the waiting, for good; by any thread. Never throws. */
  @Override
  void close();
}
