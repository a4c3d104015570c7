package io.election.store;

import io.election.AuditNote;
import io.election.PastTerm;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A term in the history of a {@link MemoryLeaseStore}.
 *
 * @param leaderId the leader
 * @param leaseMillis its lease in milliseconds
 * @param reason why it could begin
 * @param from when it began
 * @param until when it ended; {@code null} if it has not
 * @param endReason why it ended; {@code null} if it has not ended, or the reason was not recorded
 * @param auditNote who ended it; {@code null} if that was not recorded
 */
public record MemoryTerm(
    String leaderId,
    long leaseMillis,
    String reason,
    Instant from,
    @Nullable Instant until,
    @Nullable String endReason,
    @Nullable AuditNote auditNote) {

  MemoryTerm(String leaderId, long leaseMillis, String reason, Instant from) {
    this(leaderId, leaseMillis, reason, from, null, null, null);
  }

  /** Returns whether the term has ended. */
  public boolean ended() {
    return this.until != null;
  }

  MemoryTerm led(long leaseMillis, Instant from) {
    return new MemoryTerm(
        this.leaderId, leaseMillis, this.reason, from, this.until, this.endReason, this.auditNote);
  }

  MemoryTerm over(Instant until, String reason, @Nullable AuditNote auditNote) {
    return ended()
        ? this
        : new MemoryTerm(
            this.leaderId,
            this.leaseMillis,
            this.reason,
            this.from,
            until,
            reason,
            auditNote != null ? auditNote : this.auditNote);
  }

  MemoryTerm noting(@Nullable AuditNote auditNote) {
    return new MemoryTerm(
        this.leaderId,
        this.leaseMillis,
        this.reason,
        this.from,
        this.until,
        this.endReason,
        auditNote);
  }

  PastTerm entry(long term) {
    return new PastTerm(
        term,
        this.leaderId,
        this.from,
        this.until,
        this.reason,
        this.endReason,
        this.auditNote != null ? this.auditNote.actor() : null,
        this.auditNote != null ? this.auditNote.reason() : null);
  }
}
