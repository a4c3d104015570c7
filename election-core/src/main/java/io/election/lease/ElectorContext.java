package io.election.lease;

import io.election.store.ElectionDirectory;
import io.election.store.LeadershipCondition;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import java.time.Duration;
import java.util.concurrent.locks.ReentrantLock;
import org.jspecify.annotations.Nullable;

/**
 * The state that all runs of an elector share.
 *
 * @param store the store of the leases
 * @param storeUse held by the only thread that may call the store, from its first call until it has
 *     closed the store
 * @param inbox the requests to the elector's thread
 * @param renewals is notified of each renewal
 * @param condition what a leader needs beside its lease; {@code null} if nothing
 * @param precedence who goes first among the nodes that may stand
 */
record ElectorContext(
    LeaseStore store,
    LeaseSettings settings,
    Clocks clocks,
    RunningWork work,
    ElectionLog log,
    ReentrantLock storeUse,
    Inbox inbox,
    RenewalListener renewals,
    @Nullable LeadershipCondition condition,
    Precedence precedence) {

  long now() {
    return this.clocks.now();
  }

  /** Returns the store as a directory; {@code null} if it is none. */
  @Nullable
  ElectionDirectory directory() {
    return this.store instanceof ElectionDirectory directory ? directory : null;
  }

  /** Returns how long a thread pauses after an unexpected failure. */
  Duration pauseAfterFailure() {
    return this.settings.renewInterval().dividedBy(4);
  }
}
