package io.election.store;

import io.election.Names;
import java.util.Objects;
import org.jspecify.annotations.Nullable;

/**
 * The record of one election as one read of the store showed it. Two rows are equal if the record
 * was not written between the reads that showed them.
 *
 * @param leaderId the holder or the designated holder; empty if vacant; the mark {@link Names#MOVED} with
 *     the name of a store if the election has moved there
 * @param term the term of the last leadership
 * @param leaseMillis the lease that the holder was promised, in milliseconds; 0 if released. If the
 *     record does not state it, that of the newest term in the history; {@code null} if that is
 *     unknown too
 * @param version what the store compares to detect that the record was written; opaque, compared by
 *     {@link Object#equals}. It differs after every write, also by other tools, and if another
 *     server answers, which may have missed renewals. Where a record can be rewritten exactly as it
 *     was before another node led, it includes the newest term of the history
 * @param own whether the last write to the record was an acquisition or a renewal by the very store
 *     that read it, on the server that answered: then no other node has led since
 */
public record LeaseRow(
    String leaderId, long term, @Nullable Long leaseMillis, Object version, boolean own) {

  /** Creates a row. */
  public LeaseRow {
    Objects.requireNonNull(leaderId, "leaderId");
    Objects.requireNonNull(version, "version");
  }

  /**
   * Returns the lease of a record for {@link #leaseMillis()}: the one that it states, otherwise that
   * of the newest term in the history. The latter is never 0, which would mean that the lease was
   * handed back.
   *
   * @param stated the lease in the record, in milliseconds; {@code null} or negative if it states
   *     none
   * @param newestTerms the lease of the newest term in the history, in milliseconds; {@code null}
   *     if there is none
   * @return the lease in milliseconds; {@code null} if it is unknown
   */
  public static @Nullable Long leaseMillis(@Nullable Long stated, @Nullable Long newestTerms) {
    if (stated != null && stated >= 0) {
      return stated;
    }
    return newestTerms != null ? Long.valueOf(Math.max(newestTerms, 1)) : null;
  }

  /**
   * Returns whether two reads, by the same store or another one, showed the same record: it was not
   * written in between.
   *
   * @param other the record as read at another time
   */
  public boolean isSameRecord(LeaseRow other) {
    return own(false).equals(other.own(false));
  }

  /**
   * Returns this record with another {@link #own()}.
   *
   * @param own whether it is the reading store's own
   */
  public LeaseRow own(boolean own) {
    return new LeaseRow(this.leaderId, this.term, this.leaseMillis, this.version, own);
  }

  /** Returns whether the lease was handed back. */
  public boolean isReleased() {
    return this.leaseMillis != null && this.leaseMillis == 0;
  }

  /** Returns whether the record names a holder, which may lead. */
  public boolean namesLeader() {
    return !isReleased() && !this.leaderId.isEmpty() && !isMoved();
  }

  /** Returns whether an operator has marked the election as moved, even without saying where. */
  public boolean isMoved() {
    return Names.isMoved(this.leaderId);
  }

  /**
   * Returns the lease that a holder of this row may rely on.
   *
   * @param ownMillis this node's configured lease, in milliseconds
   * @return at least {@code ownMillis} and at most {@link LeaseSettings#MAX_LEASE}, in milliseconds
   */
  public long promisedMillis(long ownMillis) {
    long millis = this.leaseMillis != null ? Math.max(this.leaseMillis, ownMillis) : ownMillis;
    return Math.min(millis, LeaseSettings.MAX_LEASE.toMillis());
  }
}
