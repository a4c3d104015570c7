package io.election.lease;

import io.election.store.LeaseRow;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The record as last read.
 *
 * @param row the record; {@code null} if there is none
 * @param since when the answer came that first showed this row
 * @param stale whether it must be read again before any action is based on it
 */
record Observation(@Nullable LeaseRow row, long since, boolean stale) {

  boolean shows(@Nullable LeaseRow row) {
    return row == null ? this.row == null : row.equals(this.row);
  }

  /** Returns the record if it names a holder. */
  Optional<LeaseRow> rowOfLeader() {
    return Optional.ofNullable(this.row).filter(LeaseRow::namesLeader);
  }

  Observation outdated() {
    return new Observation(this.row, this.since, true);
  }
}
