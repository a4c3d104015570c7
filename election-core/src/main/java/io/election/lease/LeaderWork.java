package io.election.lease;

import java.util.List;

/** The work that a leader lets end before it hands its lease back, and that has to end with the lease. */
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

  /**
   * Names the leader work of an election that runs in this process, for people: what it is, and for how
   * long it has run. Must not block.
   *
   * @param serviceId the name of the election
   * @return the names; empty if none runs, or if nothing is known about it
   */
  default List<String> describe(String serviceId) {
    return List.of();
  }

  /**
   * Tells that the lease no longer covers leader work of a term: another node may lead from now on.
   * That is when the lease has expired or somebody has changed the record, and otherwise when a leader
   * that steps down has handed its lease back, or its drain time-out is over: then it is about to, and
   * only an elector that was stopped keeps the lease until the work has ended.
   *
   * <p>Comes on time even while a call to the store hangs and a listener blocks. Called by whichever
   * thread notices, at least once for each leadership, for different elections at the same time; must
   * not block.
   *
   * @param serviceId the name of the election
   * @param term the term; work of earlier ones is not covered either
   */
  default void onUncovered(String serviceId, long term) {}
}
