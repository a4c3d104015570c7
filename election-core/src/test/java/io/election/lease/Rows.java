package io.election.lease;

import org.jspecify.annotations.Nullable;

/** Records that differ from another in few components. */
final class Rows {

  private Rows() {}

  static LeaseRow named(LeaseRow row, String leaderId) {
    return edited(row, leaderId, row.term(), row.leaseMillis());
  }

  /** The record after an edit by hand, which leaves the version and the time as they are. */
  static LeaseRow edited(LeaseRow row, String leaderId, long term, @Nullable Long leaseMillis) {
    return new LeaseRow(
        leaderId,
        term,
        row.version(),
        leaseMillis,
        row.lastTermLeaseMillis(),
        row.lastActiveTime(),
        row.source());
  }
}
