package io.election.lease;

import io.election.LeadershipEvent;
import java.util.List;

/**
 * Guards calls to the {@link LeaderWork} of this process, which may throw: unknown work counts as
 * running.
 */
final class RunningWork {

  private final LeaderWork work;

  private final Clocks clocks;

  private final ElectionLog log;

  RunningWork(LeaderWork work, Clocks clocks, ElectionLog log) {
    this.work = work;
    this.clocks = clocks;
    this.log = log;
  }

  /** Used by the elector's thread. Logs if the answer is unknown. */
  boolean isRunning(String serviceId) {
    try {
      return this.work.isRunning(serviceId);
    } catch (Throwable ex) {
      this.log.workUnknown(ex, this.clocks.now());
      return true;
    }
  }

  /** Used by any thread. */
  boolean mayBeRunning(String serviceId) {
    try {
      return this.work.isRunning(serviceId);
    } catch (Throwable ex) {
      return true;
    }
  }

  /** Returns the names of the running work, for display. */
  List<String> names(String serviceId) {
    try {
      List<String> names = this.work.describe(serviceId);
      return names.isEmpty() && this.work.isRunning(serviceId)
          ? List.of("work without a name")
          : names;
    } catch (Throwable ex) {
      return List.of("unknown: " + ex);
    }
  }

  /** Notifies the work of a change of leadership. */
  void changed(LeadershipEvent event) {
    try {
      this.work.onChange(event);
    } catch (Throwable ex) {
      this.log.failedUnexpectedly(ex);
    }
  }

  /**
   * Notifies the work of a term that the lease no longer covers it, and logs which work still runs.
   *
   * @param after the candidacy that no longer covers it
   */
  void leaseOver(String serviceId, Candidacy after, long term) {
    try {
      this.work.onLeaseOver(serviceId, term);
    } catch (Throwable ex) {
      this.log.failedUnexpectedly(ex);
    }
    if (after.keepsLease(this.clocks.read())) {
      // This work is logged once a minute.
      return;
    }
    List<String> names = names(serviceId);
    if (!names.isEmpty()) {
      this.log.leaseOver(serviceId, after.node().id(), term, names);
    }
  }
}
