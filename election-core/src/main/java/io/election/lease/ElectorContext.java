package io.election.lease;

import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;

/**
 * What all runs of an elector have in common.
 *
 * @param store where the leases are
 * @param storeUse held by the one thread that may call the store, from its first call until it has
 *     closed it
 * @param inbox by which the elector's thread is asked to do something
 * @param renewals hears of each renewal
 */
record ElectorContext(
    LeaseStore store,
    LeaseSettings settings,
    Clocks clocks,
    RunningWork work,
    ElectionLog log,
    ReentrantLock storeUse,
    Inbox inbox,
    RenewalListener renewals) {

  long now() {
    return this.clocks.now();
  }

  /** How long a thread pauses after a failure that nobody expected. */
  Duration pauseAfterFailure() {
    return this.settings.renewInterval().dividedBy(4);
  }
}
