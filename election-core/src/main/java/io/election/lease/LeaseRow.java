package io.election.lease;

import org.jspecify.annotations.Nullable;

/**
 * The record of one election as one read of the store showed it. Two rows are equal if the record
 * was not written between the reads that showed them.
 *
 * @param leaderId the holder or the designated holder; empty if vacant
 * @param term the term of the last leadership
 * @param version increases with every write of this library
 * @param leaseMillis the lease that the holder was promised, in milliseconds, as found; 0 if
 *     released, {@code null} if unknown
 * @param lastTermLeaseMillis the lease that the newest entry of the history was promised, in
 *     milliseconds; needed, and read, only if {@code leaseMillis} is unknown or negative
 * @param lastTerm the newest term of the history, {@code null} if it has none; needed, and read,
 *     only if the whole record was written by hand or its lease is unknown. Such a record can be
 *     rewritten exactly as it was before another node led; the history then has a newer term
 * @param lastActiveTime the time of the last write in the store's format; only compared for
 *     equality, so that writes of older tools count as changes
 * @param source the server that answered. The same row from another server is a different row,
 *     because that server may have missed renewals
 * @param own whether the last write to the record was a take, a lead or a renewal by the very store
 *     that read it, on the server that answered: then no other node has led since
 */
public record LeaseRow(
    String leaderId,
    long term,
    long version,
    @Nullable Long leaseMillis,
    @Nullable Long lastTermLeaseMillis,
    @Nullable Long lastTerm,
    String lastActiveTime,
    String source,
    boolean own) {

  /**
   * Creates a row that is not {@link #own()} and has no {@link #lastTerm()}.
   *
   * @param leaderId as above
   * @param term as above
   * @param version as above
   * @param leaseMillis as above
   * @param lastTermLeaseMillis as above
   * @param lastActiveTime as above
   * @param source as above
   */
  public LeaseRow(
      String leaderId,
      long term,
      long version,
      @Nullable Long leaseMillis,
      @Nullable Long lastTermLeaseMillis,
      String lastActiveTime,
      String source) {
    this(
        leaderId,
        term,
        version,
        leaseMillis,
        lastTermLeaseMillis,
        null,
        lastActiveTime,
        source,
        false);
  }

  LeaseRow own(boolean own) {
    return new LeaseRow(
        this.leaderId,
        this.term,
        this.version,
        this.leaseMillis,
        this.lastTermLeaseMillis,
        this.lastTerm,
        this.lastActiveTime,
        this.source,
        own);
  }

  boolean isReleased() {
    return this.leaseMillis != null && this.leaseMillis == 0;
  }

  /** Returns whether the row or its history states what a holder was promised. */
  boolean tellsPromise() {
    return (this.leaseMillis != null && this.leaseMillis >= 0) || this.lastTermLeaseMillis != null;
  }

  /**
   * Returns the lease that a holder of this row may rely on.
   *
   * @param ownMillis this node's configured lease, in milliseconds
   * @return at least {@code ownMillis} and at most {@link LeaseSettings#MAX_LEASE}, in milliseconds
   */
  long promisedMillis(long ownMillis) {
    Long promised = this.leaseMillis;
    if (promised == null || promised < 0) {
      promised = this.lastTermLeaseMillis;
    }
    long millis = promised != null ? Math.max(promised, ownMillis) : ownMillis;
    return Math.min(millis, LeaseSettings.MAX_LEASE.toMillis());
  }
}
