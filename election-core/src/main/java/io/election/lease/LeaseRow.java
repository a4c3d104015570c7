package io.election.lease;

import org.jspecify.annotations.Nullable;

/**
 * The record of one election as one read of the store showed it. Two rows are equal if nothing was
 * written between the reads that showed them.
 *
 * @param leaderId the holder or the designated holder; empty if vacant
 * @param term the term of the last leadership
 * @param version grows with every write of ours
 * @param leaseMillis what the holder was promised, as found; 0 if released, {@code null} if unknown
 * @param lastTermLeaseMillis what the newest entry of the history was promised; needed, and read,
 *     only if {@code leaseMillis} is unknown or negative
 * @param lastTerm the newest term of the history, {@code null} if it has none; needed, and read, only
 *     where somebody has written the whole record by hand or its lease is unknown. Such a record can
 *     be written word for word as it was before another node led; the history then has a newer term
 * @param lastActiveTime the time of the last write as the store spells it; only ever compared for
 *     equality, so that the writes of older tools count as changes
 * @param source the server that answered: the same row from another server is another row, since that
 *     server may have missed renewals
 * @param own whether the last write to the record was a take, a lead or a renewal through the very
 *     store that read it, on the server that answered: then nobody else has led since
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
   * A row of which nobody knows who wrote it last, and whose history does not matter.
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

  /** Whether the row or the history behind it says what a holder was promised. */
  boolean tellsPromise() {
    return (this.leaseMillis != null && this.leaseMillis >= 0) || this.lastTermLeaseMillis != null;
  }

  /**
   * The lease that a holder of this row may believe to have.
   *
   * @param ownMillis this node's configured lease
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
