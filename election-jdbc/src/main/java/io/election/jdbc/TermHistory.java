package io.election.jdbc;

import io.election.AuditNote;
import io.election.PastTerm;
import io.election.store.ElectionDirectory;
import io.election.store.LeaseStore;
import io.election.store.TermEnd;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The table {@code leader_election_history}: the terms of all elections. The newest term of an
 * election determines, with its row in {@code leader_election}, which term comes next. The older
 * terms are informational.
 */
final class TermHistory {

  /**
   * A condition on a row of {@code leader_election}: whether the newest term of the history must be
   * compared together with the row. A row that an operator wrote as a whole has no stamp and looks
   * the same when it is written again; but no node can have led in between without a new term.
   */
  static final String MUST_COMPARE = "(seal IS NULL OR lease_millis IS NULL OR lease_millis < 0)";

  /**
   * A condition with the election and a term as parameters: whether no node has led a newer term.
   * After an operator has lowered the term in the row, a late statement of the same process may
   * match its term although a newer leadership has begun.
   */
  static final String NO_NEWER_TERM =
      "NOT EXISTS (SELECT 1 FROM leader_election_history newer WHERE newer.service_id = ? AND newer.term > ?)";

  private static final Logger log = LoggerFactory.getLogger(TermHistory.class);

  private final StoreConnection connection;

  private boolean warnedOfPruning;

  TermHistory(StoreConnection connection) {
    this.connection = connection;
  }

  /**
   * The newest term of an election.
   *
   * @param number its number; {@code null} if there is no term
   * @param leaseMillis its lease; 0 if there is no term
   */
  record LastTerm(@Nullable Long number, long leaseMillis) {

    private static final LastTerm NONE = new LastTerm(null, 0);

    /** The number; 0 if there is none or it is negative. */
    long term() {
      return this.number != null ? Math.max(this.number, 0) : 0;
    }
  }

  LastTerm last(Session session, String serviceId) throws SQLException {
    return session
        .query("""
            SELECT term, lease_millis FROM leader_election_history
            WHERE service_id = ? ORDER BY term DESC LIMIT 1
            """, (row) -> new LastTerm(row.getLong(1), row.getLong(2)), serviceId)
        .stream()
        .findFirst()
        .orElse(LastTerm.NONE);
  }

  /**
   * Ends the open terms of an election and opens another. Waits for transactions whose commit fence
   * holds one of those terms.
   *
   * @param claim the node that leads in the new term, its lease and its reason
   * @param lastEnd why the open terms ended, unless that is already noted
   * @return whether the term was new
   */
  boolean open(Session session, String serviceId, long term, LeaseStore.Claim claim, String lastEnd)
      throws SQLException {
    session.update("""
        UPDATE leader_election_history
        SET ended_at = CURRENT_TIMESTAMP(6), end_reason = COALESCE(end_reason, ?)
        WHERE service_id = ? AND ended_at IS NULL
        """, lastEnd, serviceId);
    try {
      session.update(
          """
          INSERT INTO leader_election_history
              (service_id, term, leader_id, lease_millis, elected_at, reason)
          VALUES (?, ?, ?, ?, CURRENT_TIMESTAMP(6), ?)
          """,
          serviceId,
          term,
          claim.nodeId(),
          claim.leaseMillis(),
          claim.reason().name());
      return true;
    } catch (SQLException ex) {
      if (SqlError.DUPLICATE_KEY.is(ex)) {
        return false;
      }
      throw ex;
    }
  }

  /** Sets the start and the lease of a term that no node has led before. */
  void begin(Session session, String serviceId, long term, long leaseMillis) throws SQLException {
    session.updateOne("""
        UPDATE leader_election_history
        SET elected_at = CURRENT_TIMESTAMP(6), lease_millis = ?
        WHERE service_id = ? AND term = ?
        """, leaseMillis, serviceId, term);
  }

  /**
   * Notes the end of a term by a statement that may fail.
   *
   * @param by whether to overwrite who asked for the end, and why
   */
  void end(Session session, String serviceId, long term, TermEnd ending, boolean by) {
    List<@Nullable Object> parameters = new ArrayList<>();
    parameters.add(ending.reason().name());
    if (by) {
      AuditNote auditNote = ending.auditNote();
      parameters.add(auditNote != null ? auditNote.actor() : null);
      parameters.add(auditNote != null ? auditNote.reason() : null);
    }
    parameters.add(serviceId);
    parameters.add(term);
    this.connection.note(
        "The end of term %s of election '%s'".formatted(term, serviceId),
        session,
        """
        UPDATE leader_election_history
        SET ended_at = CURRENT_TIMESTAMP(6), end_reason = ?%s
        WHERE service_id = ? AND term = ? AND ended_at IS NULL AND %s
        """.formatted(by ? ", ended_by = ?, end_note = ?" : "", session.isUsable()),
        parameters.toArray());
  }

  /** Notes who ended a term, by a statement that may fail: it lasts until its leader notices. */
  void noteInstruction(Session session, String serviceId, long term, AuditNote auditNote) {
    this.connection.note(
        "Who ended term %s of election '%s'".formatted(term, serviceId),
        session,
        """
        UPDATE leader_election_history SET ended_by = ?, end_note = ?
        WHERE service_id = ? AND term = ? AND ended_by IS NULL AND %s
        """.formatted(session.isUsable()),
        auditNote.actor(),
        auditNote.reason(),
        serviceId,
        term);
  }

  /** Reads the last terms of elections, newest first. */
  Map<String, List<PastTerm>> read(Session session, Set<String> serviceIds) throws SQLException {
    String sql =
        """
        SELECT service_id, term, leader_id,
            EXTRACT(EPOCH FROM elected_at), EXTRACT(EPOCH FROM ended_at),
            reason, end_reason, ended_by, end_note
        FROM (SELECT h.*,
                ROW_NUMBER() OVER (PARTITION BY service_id ORDER BY term DESC) AS place
            FROM leader_election_history h WHERE service_id IN (%s)) newest
        WHERE place <= %s ORDER BY term DESC
        """.formatted(Session.marks("?", serviceIds.size()), ElectionDirectory.HISTORY_LENGTH);
    Map<String, List<PastTerm>> histories = new HashMap<>();
    session.query(
        sql,
        (row) -> histories
            .computeIfAbsent(Columns.string(row, 1), (id) -> new ArrayList<>())
            .add(new PastTerm(
                row.getLong(2),
                Columns.string(row, 3),
                Objects.requireNonNullElse(Columns.instant(row, 4), Instant.EPOCH),
                Columns.instant(row, 5),
                row.getString(6),
                row.getString(7),
                row.getString(8),
                row.getString(9))),
        serviceIds.toArray());
    return histories;
  }

  /**
   * Deletes terms that ended long ago. Without the right to delete it does nothing and warns once.
   *
   * @return the number of deleted terms
   */
  int prune(Session session, Map<String, Long> belowTerms, Duration retention) throws SQLException {
    List<Object> parameters = new ArrayList<>();
    belowTerms.forEach((serviceId, term) -> {
      parameters.add(serviceId);
      parameters.add(term);
    });
    parameters.add(retention.toSeconds());
    try {
      return session.update(
          session.dialect().pruning("""
                  (%s) AND EXTRACT(EPOCH FROM ended_at)
                      < EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) - ? AND %s
                  """.formatted(
              String.join(
                  " OR ", Collections.nCopies(belowTerms.size(), "service_id = ? AND term < ?")),
              session.isUsable())),
          parameters.toArray());
    } catch (SQLException ex) {
      if (!SqlError.MISSING_RIGHT.is(ex)) {
        throw ex;
      }
      if (!this.warnedOfPruning) {
        this.warnedOfPruning = true;
        log.warn(
            "The history of the election is not pruned: {}. Grant DELETE on leader_election_history, or delete old rows yourself, but never the newest of an election",
            SqlError.text(ex));
      }
      return 0;
    }
  }
}
