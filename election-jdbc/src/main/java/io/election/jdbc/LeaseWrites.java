package io.election.jdbc;

import io.election.AuditNote;
import io.election.LeadershipLostEvent;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore.Claim;
import io.election.store.TermEnd;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Writes the record of an election: all that changes its holder, together with the history. */
final class LeaseWrites {

  private static final int ATTEMPTS_TO_DESIGNATE = 5;

  private final LeaseRows rows;
  private final TermHistory history;

  LeaseWrites(LeaseRows rows, TermHistory history) {
    this.rows = rows;
    this.history = history;
  }

  /** Inserts the row first, so that no other node changes the history meanwhile. */
  Optional<LeaseRow> create(Session session, String serviceId, Claim claim) throws SQLException {
    try {
      boolean created = session.updateOne(
          """
          INSERT INTO leader_election
              (service_id, leader_id, last_active_time, term, version, lease_millis)
          SELECT ?, ?, CURRENT_TIMESTAMP(6), 0, 0, ? FROM DUAL WHERE %s
          """.formatted(session.isUsable()), serviceId, claim.nodeId(), claim.leaseMillis());
      if (!created) {
        return Optional.empty();
      }
    } catch (SQLException ex) {
      if (SqlError.DUPLICATE_KEY.is(ex)) {
        return Optional.empty();
      }
      throw ex;
    }
    TermHistory.LastTerm last = this.history.last(session, serviceId);
    long term = Math.addExact(Math.max(last.term(), claim.aboveTerm()), 1);
    long lease = Math.max(last.leaseMillis(), claim.leaseMillis());
    session.updateOne("""
        UPDATE leader_election
        SET version = version + 1, term = ?, lease_millis = ?
        WHERE service_id = ?
        """, term, lease, serviceId);
    Claim opened = new Claim(claim.nodeId(), lease, claim.aboveTerm(), claim.reason());
    if (!this.history.open(
        session, serviceId, term, opened, LeadershipLostEvent.Reason.DISPLACED.name())) {
      return Optional.empty();
    }
    return Optional.of(this.rows.readLocked(session, serviceId));
  }

  /** Runs in a transaction, so that the row that it reads is the one that it wrote. */
  Optional<LeaseRow> touch(Session session, String serviceId, LeaseRow seen) throws SQLException {
    boolean touched = session.updateOne(
        """
            UPDATE leader_election
            SET version = version + 1, last_active_time = CURRENT_TIMESTAMP(6)
            WHERE service_id = ?
            """ + LeaseRows.asSeen(session), LeaseRows.asSeen(List.of(serviceId), seen));
    return touched
        ? Optional.of(this.rows.readLocked(session, serviceId))
            .filter((row) -> Objects.equals(
                LeaseRows.Version.of(row).lastTerm(), LeaseRows.Version.of(seen).lastTerm()))
        : Optional.empty();
  }

  /**
   * Also sets the lease and the start of the term in the history. Nothing else can hold a lock on
   * that row, because no node has led the term before.
   */
  Optional<Long> begin(Session session, String serviceId, LeaseRow seen, Claim claim)
      throws SQLException {
    Optional<Boolean> historyCounts = LeaseRows.lockAsSeen(session, serviceId, seen, "");
    if (historyCounts.isEmpty()
        || (historyCounts.get()
            && !LeaseRows.isLast(this.history.last(session, serviceId), seen))) {
      return Optional.empty();
    }
    boolean begun = session.updateOne(
        """
            UPDATE leader_election
            SET seal = %s,
                version = version + 1, last_active_time = CURRENT_TIMESTAMP(6), lease_millis = ?
            WHERE service_id = ?
            """.formatted(this.rows.stamp(session).renewed()) + LeaseRows.asSeen(session),
        LeaseRows.asSeen(List.of(claim.leaseMillis(), serviceId), seen));
    if (!begun) {
      return Optional.empty();
    }
    this.history.begin(session, serviceId, seen.term(), claim.leaseMillis());
    return Optional.of(seen.term());
  }

  /** Locks the row first, so that no other node changes the history. Gives up if it is locked. */
  Optional<Long> takeOver(Session session, String serviceId, LeaseRow seen, Claim claim)
      throws SQLException {
    // Fails before the row is locked if there is no greater term: a dropped connection may hold the
    // lock for a while.
    long term = Math.addExact(Math.max(seen.term(), claim.aboveTerm()), 1);
    // Hundreds of nodes may try at once. If they waited here for the first of them, they would
    // delay its renewals.
    Optional<Boolean> historyCounts = LeaseRows.lockAsSeen(session, serviceId, seen, "SKIP LOCKED");
    if (historyCounts.isEmpty()) {
      return Optional.empty();
    }
    boolean taken = session.updateOne(
        """
            UPDATE leader_election
            SET seal = %s,
                version = version + 1, last_active_time = CURRENT_TIMESTAMP(6),
                leader_id = ?, term = ?, lease_millis = ?
            WHERE service_id = ?
            """.formatted(this.rows.stamp(session).renewed()) + LeaseRows.asSeen(session),
        LeaseRows.asSeen(List.of(claim.nodeId(), term, claim.leaseMillis(), serviceId), seen));
    if (!taken) {
      return Optional.empty();
    }
    TermHistory.LastTerm last = this.history.last(session, serviceId);
    if (historyCounts.get() && !LeaseRows.isLast(last, seen)) {
      return Optional.empty();
    }
    if (last.term() >= term) {
      term = Math.addExact(last.term(), 1);
      session.updateOne("""
          UPDATE leader_election SET seal = %s, version = version + 1, term = ?
          WHERE service_id = ?
          """.formatted(this.rows.stamp(session).versionAdded()), term, serviceId);
    }
    return this.history.open(session, serviceId, term, claim, TermEnd.asFound(seen))
        ? Optional.of(term)
        : Optional.empty();
  }

  boolean handBack(Session session, String serviceId, String nodeId, long term, String successor)
      throws SQLException {
    return session.updateOne(
        """
            UPDATE leader_election
            SET version = version + 1, last_active_time = CURRENT_TIMESTAMP(6),
                leader_id = ?, lease_millis = 0
            WHERE service_id = ? AND leader_id = ? AND term = ? AND %s AND %s
            """.formatted(this.rows.stamp(session).isMine(), TermHistory.NO_NEWER_TERM),
        successor,
        serviceId,
        nodeId,
        term,
        serviceId,
        term);
  }

  /**
   * The history must show the term as this node's, because a term number may recur after both
   * tables were emptied.
   */
  boolean cede(Session session, String serviceId, String nodeId, long term) throws SQLException {
    return session.updateOne(
        """
            UPDATE leader_election
            SET version = version + 1, last_active_time = CURRENT_TIMESTAMP(6),
                lease_millis = 0
            WHERE service_id = ? AND leader_id <> ? AND term = ? AND %s AND %s
                AND EXISTS (SELECT 1 FROM leader_election_history
                    WHERE service_id = ? AND term = ? AND leader_id = ?)
            """.formatted(this.rows.stamp(session).isMine(), TermHistory.NO_NEWER_TERM),
        serviceId,
        nodeId,
        term,
        serviceId,
        term,
        serviceId,
        term,
        nodeId);
  }

  /**
   * Writes another holder into the record, as an operator would. If the request carries an
   * instruction, the history notes who gave it. The record is then edited only if it was not written
   * since it was read, so that the term that the edit ends is known.
   *
   * @param as the record as it must be; {@code null} for any
   * @return whether there is such a record
   */
  boolean designate(
      Session session,
      String serviceId,
      String leaderId,
      @Nullable LeaseRow as,
      @Nullable AuditNote auditNote)
      throws SQLException {
    record Seen(long term, long version, boolean open) {}
    String unchanged = as != null ? LeaseRows.asSeen(session) : " AND " + session.isUsable();
    for (int attempt = 0; auditNote != null && attempt < ATTEMPTS_TO_DESIGNATE; attempt++) {
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
