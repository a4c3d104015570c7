package io.election.lease;

import io.election.LeadershipEvent;
import java.util.List;

/**
 * The work of a leader that must end before the lease is handed back, and that must not outlive the
 * lease.
 */
@FunctionalInterface
public interface LeaderWork {

  /**
   * Returns whether leader work of an election runs in this process. Called mainly by the elector's
   * thread, so it must not block. When the result changes to {@code false} while a leader steps
   * down, the implementation calls {@link Elector#wakeUp()}, so that the lease is handed back
   * without delay. If this method throws, work counts as running.
   *
   * @param serviceId the name of the election
   * @return whether any such work runs
   */
  boolean isRunning(String serviceId);

  /**
   * Returns the leader work of an election that runs in this process, for display: what it is, and
   * how long it has run. Must not block.
   *
   * @param serviceId the name of the election
   * @return the names; empty if no work runs, or if nothing is known about it
   */
  default List<String> describe(String serviceId) {
    return List.of();
  }

  /**
   * Called when the lease no longer covers leader work of a term: another node may lead from now
   * on. This happens when the lease has expired, the record was changed by another process, or a
   * part of a list that is no store no longer names this node. Otherwise it happens when a leader
   * that steps down has handed its lease back, or when its drain timeout is over. In the latter
   * case it is about to hand the lease back; only an elector that was stopped keeps the lease until
   * the work has ended.
   *
   * <p>The call comes on time even while a call to the store hangs or a listener blocks. It is made
   * by the thread that notices first, at least once per leadership, and concurrently for different
   * elections. It must not block.
   *
   * @param serviceId the name of the election
   * @param term the term; work of earlier terms is not protected either
   */
  default void onLeaseOver(String serviceId, long term) {}

  /**
   * Called when a leadership has begun or ended, on the thread that changed it. Unlike a listener of
   * events it does not wait for other listeners, and the calls of two threads may overtake each
   * other. It must not block.
   *
   * @param event what has happened
   */
  default void onChange(LeadershipEvent event) {}
}
