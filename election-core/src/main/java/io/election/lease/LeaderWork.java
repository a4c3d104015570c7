package io.election.lease;

/** The work that a leader lets end before it hands its lease back. */
@FunctionalInterface
public interface LeaderWork {

  /**
   * Tells whether leader work of an election runs in this process. Called by the elector's thread
   * while a leader steps down; who answers calls {@link Elector#wakeUp()} when the answer turns to
   * {@code false}, so that the lease is handed back without delay.
   *
   * @param serviceId the name of the election
   * @return whether any such work runs
   */
  boolean isRunning(String serviceId);
}
