package io.election.jdbc;

import io.election.AuditNote;
import io.election.store.LeaseRow;
import java.sql.SQLException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * Writes another holder into a record, as an operator would. If the request carries an instruction,
 * the history notes who gave it. The record is then edited only if it was not written since it was
 * read, so that the term that the edit ends is known.
 */
final class Designation {

  private static final int ATTEMPTS = 5;

  private final TermHistory history;

  Designation(TermHistory history) {
    this.history = history;
  }

  /**
   * Designates a leader.
   *
   * @param as the record as it must be; {@code null} for any
   * @return whether there is such a record
   */
  boolean write(
      Session session,
      String serviceId,
      String leaderId,
      @Nullable LeaseRow as,
      @Nullable AuditNote auditNote)
      throws SQLException {
    record Seen(long term, long version, boolean open) {}
    String unchanged = as != null ? LeaseRows.asSeen(session) : " AND " + session.isUsable();
    for (int attempt = 0; auditNote != null && attempt < ATTEMPTS; attempt++) {
      List<Seen> found = session.query(
          """
              SELECT l.term, l.version,
                  COALESCE(l.lease_millis, 1) <> 0 AND h.term IS NOT NULL AND h.ended_at IS NULL
              FROM leader_election l LEFT JOIN leader_election_history h
                  ON h.service_id = l.service_id AND h.term = l.term
              WHERE l.service_id = ?
              """, (row) -> new Seen(row.getLong(1), row.getLong(2), row.getBoolean(3)), serviceId);
      if (found.isEmpty()) {
        session.requireUsable();
        return false;
      }
      Seen seen = found.get(0);
      boolean written = session.updateOne(
          """
              UPDATE leader_election
              SET version = version + 1, last_active_time = CURRENT_TIMESTAMP(6), leader_id = ?
              WHERE service_id = ? AND term = ? AND version = ?
              """ + unchanged,
          parameters(List.of(leaderId, serviceId, seen.term(), seen.version()), as));
      if (written) {
        if (seen.open()) {
          this.history.noteInstruction(session, serviceId, seen.term(), auditNote);
        }
        return true;
      }
    }
    return session.updateOne("""
            UPDATE leader_election
            SET version = version + 1, last_active_time = CURRENT_TIMESTAMP(6), leader_id = ?
            WHERE service_id = ?
            """ + unchanged, parameters(List.of(leaderId, serviceId), as));
  }

  private static @Nullable Object[] parameters(List<?> parameters, @Nullable LeaseRow as) {
    return as != null ? LeaseRows.asSeen(parameters, as) : parameters.toArray();
  }
}
