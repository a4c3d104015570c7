package io.election.lease;

/**
 * Notifies followers before their next read that a holder may have handed leases back, like watches
 * in ZooKeeper and etcd. It is only a hint: a node that is notified reads the records and decides
 * by them, and a node that is not notified reads them when they are due.
 *
 * <p>Used by one thread, except for {@link #close()}.
 */
public interface HandBackSignal extends AutoCloseable {

  /**
   * Waits until a holder may have handed back a lease, then runs an action. Of all waiters for the
   * same holder, the next one is notified only when the action has returned, so that the first one
   * can take over what it finds before others try.
   *
   * @param holder the node id of the holder of leases
   * @param look the action to run then, which reads the records; must not throw
   * @return {@code true} if the action was run; {@code false} if nothing happened for a while, and
   *     the call can be repeated
   * @throws LeaseStoreException if waiting is not possible for now, or the signal is closed; the
   *     caller must pause before it repeats the call
   */
  boolean await(String holder, Runnable look) throws LeaseStoreException;

  /** Ends the wait permanently. May be called by any thread. Never throws. */
  @Override
  void close();
}
