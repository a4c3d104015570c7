package io.election.lease;

import io.election.LeadershipAcquiredEvent;
import java.util.EnumMap;
import java.util.Map;

/** The figures of a schedule. */
public final class Tally {
  public long schedules;
  long calls;
  long instants;
  long late;
  public final Map<LeadershipAcquiredEvent.Reason, Long> leaderships =
      new EnumMap<>(LeadershipAcquiredEvent.Reason.class);
  public final Map<Fault, Long> faults = new EnumMap<>(Fault.class);
  /** How often a node of an older tool began to lead. */
  long olderLeaderships;
  /** The longest time without a leader after the last fault, in leases. */
  double longestGap;
  /** The longest time without a leader after a clean stop, in renew intervals. */
  double longestSuccession;

  public void add(Tally other) {
    this.schedules += other.schedules;
    this.calls += other.calls;
    this.instants += other.instants;
    this.late += other.late;
    other.leaderships.forEach((reason, n) -> this.leaderships.merge(reason, n, Long::sum));
    other.faults.forEach((fault, n) -> this.faults.merge(fault, n, Long::sum));
    this.olderLeaderships += other.olderLeaderships;
    this.longestGap = Math.max(this.longestGap, other.longestGap);
    this.longestSuccession = Math.max(this.longestSuccession, other.longestSuccession);
  }

  @Override
  public String toString() {
    return "%d schedules, %d calls (%d of them late), %d instants judged, leaderships %s and %d of an older tool, faults %s, longest gap %.2f leases, longest succession %.2f renew intervals"
        .formatted(
            this.schedules,
            this.calls,
            this.late,
            this.instants,
            this.leaderships,
            this.olderLeaderships,
            this.faults,
            this.longestGap,
            this.longestSuccession);
  }
}
