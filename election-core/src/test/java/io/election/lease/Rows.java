package io.election.lease;

import io.election.lease.MemoryLeaseStore.Row;
import org.jspecify.annotations.Nullable;

/** Stored records that differ from another in few components. */
final class Rows {

  private Rows() {}

  static Row named(Row row, String leaderId) {
    return edited(row, leaderId, row.term(), row.leaseMillis());
  }

  /** The record after an edit by hand, which leaves the version and the time as they are. */
  static Row edited(Row row, String leaderId, long term, @Nullable Long leaseMillis) {
    return new Row(leaderId, term, row.version(), leaseMillis, row.written(), row.seal());
  }
}
