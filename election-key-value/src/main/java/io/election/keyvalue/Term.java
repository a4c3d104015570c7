package io.election.keyvalue;

import io.election.AuditNote;
import io.election.PastTerm;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * A term of the history: the value of its key. All times are of the node that wrote them.
 *
 * @param leader the node that led; {@code null} if no node did: the key only marks the end of
 *     what was before it
 * @param heartbeat the token of its process; {@code null} while it has not led
 * @param until when the term ended; {@code null} if it has not
 */
record Term(
    @Nullable String leader,
    long leaseMillis,
    @Nullable String reason,
    @Nullable String heartbeat,
    long from,
    @Nullable Long until,
    @Nullable String endReason,
    @Nullable String endedBy,
    @Nullable String note) {

  static final Term MARK = new Term(null, 0, null, null, 0, null, null, null, null);

  static Term of(String value) {
    Term term = Json.read(value, Term.class);
    return term != null ? term : MARK;
  }

  static Term opened(
      String leader, long leaseMillis, String reason, @Nullable String heartbeat, long now) {
    return new Term(leader, leaseMillis, reason, heartbeat, now, null, null, null, null);
  }

  boolean open() {
    return this.until == null;
  }

  Term led(long leaseMillis, String heartbeat, long now) {
    return new Term(
        this.leader,
        leaseMillis,
        this.reason,
        heartbeat,
        now,
        this.until,
        this.endReason,
        this.endedBy,
        this.note);
  }

  /** Ends the term, unless it has ended. An instruction replaces one that was noted before. */
  Term over(String reason, @Nullable AuditNote auditNote, long now) {
    Term noting = open() && auditNote != null ? noting(auditNote) : this;
    return open()
        ? new Term(
            this.leader,
            this.leaseMillis,
            this.reason,
            this.heartbeat,
            this.from,
            now,
            reason,
            noting.endedBy,
            noting.note)
        : this;
  }

  Term noting(@Nullable AuditNote auditNote) {
    return new Term(
        this.leader,
        this.leaseMillis,
        this.reason,
        this.heartbeat,
        this.from,
        this.until,
        this.endReason,
        auditNote != null ? auditNote.actor() : null,
        auditNote != null ? auditNote.reason() : null);
  }

  PastTerm entry(long term) {
    return new PastTerm(
        term,
        this.leader != null ? this.leader : "",
        Instant.ofEpochMilli(this.from),
        this.until != null ? Instant.ofEpochMilli(this.until) : null,
        this.reason,
        this.endReason,
        this.endedBy,
        this.note);
  }
}
