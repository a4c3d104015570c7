package io.election.jdbc;

import io.election.store.LeaseStore.Renewals;
import java.sql.SQLException;
import java.util.HashSet;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.StringJoiner;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Renews leases: one lease with one statement, and several with one statement, or with a few if the
 * first did not find them all. The statements for several leases do not wait for locks, so that a
 * record locked by another transaction does not hold up the others.
 */
final class LeaseRenewal {

  private static final Logger log = LoggerFactory.getLogger(LeaseRenewal.class);

  private final ElectionDatabase database;

  private boolean someAreLocked;

  /** The leases to renew, and the statement that renews them together. */
  private record Leases(OwnerStamp stamp, String nodeId, Map<String, Long> terms)
      implements Session.Kept {

    @Override
    public String sql(Session session) {
      return session.dialect().renewal(this.stamp.renewal(), held(session), this.terms.size());
    }

    /** The condition for those that this node holds, without parameters. */
    String held(Session session) {
      StringJoiner names = new StringJoiner(", ");
      StringJoiner numbered = new StringJoiner(", ");
      this.terms.forEach((serviceId, term) -> {
        String name = session.literal(serviceId);
        names.add(name);
        numbered.add("(%s, %s)".formatted(name, term));
      });
      return "service_id IN (%s) AND leader_id = %s AND lease_millis > 0 AND (service_id, term) IN (%s) AND %s"
          .formatted(names, session.literal(this.nodeId), numbered, this.stamp.isMine());
    }

    @Override
    public Leases copy() {
      return new Leases(this.stamp, this.nodeId, Map.copyOf(this.terms));
    }
  }

  LeaseRenewal(ElectionDatabase database) {
    this.database = database;
  }

  Renewals renew(Session session, OwnerStamp stamp, String nodeId, Map<String, Long> terms)
      throws SQLException {
    Leases leases = new Leases(stamp, nodeId, terms);
    return terms.size() == 1 ? renewOne(session, leases) : renewSeveral(session, leases);
  }

  private static Renewals renewOne(Session session, Leases one) throws SQLException {
    Map.Entry<String, Long> held = one.terms().entrySet().iterator().next();
    boolean renewed = session.updateOne(
        """
            UPDATE leader_election
            SET %s
            WHERE service_id = ? AND leader_id = ? AND term = ? AND lease_millis > 0 AND %s
            """.formatted(one.stamp().renewal(), one.stamp().isMine()),
        held.getKey(),
        one.nodeId(),
        held.getValue());
    return new Renewals(renewed ? one.terms().keySet() : Set.of());
  }

  private Renewals renewSeveral(Session session, Leases leases) throws SQLException {
    // While a row stays locked the attempt would fail again, and drivers log that.
    if (!this.someAreLocked && renewTogether(session, leases)) {
      return new Renewals(leases.terms().keySet());
    }
    Renewals outcome =
        session.inTransaction((own) -> Optional.of(renewUnlocked(own, leases))).orElseThrow();
    this.someAreLocked = !outcome.unknown().isEmpty();
    return outcome;
  }

  /**
   * Returns whether one statement renewed all leases; if not, it is unknown which ones it renewed.
   * The statement does not wait for locks: while waiting it would hold the locks on its other rows,
   * even beyond the end of the call.
   */
  private static boolean renewTogether(Session session, Leases leases) throws SQLException {
    try {
      return session.update(leases) == leases.terms().size();
    } catch (SQLException ex) {
      if (SqlError.isLockTrouble(ex)) {
        // Outside a transaction the server has undone the statement and released its locks.
        log.debug("The leases could not be renewed together", ex);
        return false;
      }
      throw ex;
    }
  }

  /**
   * Uses a constant number of statements, however many leases there are and however many are
   * locked. All use the index, because a table scan would run into the locked rows.
   */
  private Renewals renewUnlocked(Session session, Leases leases) throws SQLException {
    String select = "SELECT service_id FROM leader_election FORCE INDEX (PRIMARY) WHERE "
        + leases.held(session);
    Set<String> renewed = new HashSet<>(
        session.query(select + " FOR UPDATE SKIP LOCKED", (row) -> Columns.string(row, 1)));
    if (!renewed.isEmpty()) {
      session.update(
          """
          UPDATE leader_election FORCE INDEX (PRIMARY)
          SET %s
          WHERE service_id IN (%s) AND %s
          """.formatted(
                  leases.stamp().renewal(), Session.marks("?", renewed.size()), session.isUsable()),
          renewed.toArray());
    }
    Set<String> locked = new HashSet<>(session.query(select, (row) -> Columns.string(row, 1)));
    locked.removeAll(renewed);
    return new Renewals(renewed, locked, locked.isEmpty() ? "" : problem(session, locked, leases));
  }

  private String problem(Session session, Set<String> locked, Leases leases) {
    String names = locked.stream()
        .sorted()
        .limit(5)
        .map((name) -> "'" + name + "'")
        .collect(Collectors.joining(", "));
    return "%s of %s leases could not be renewed (%s). %s"
        .formatted(
            locked.size(),
            leases.terms().size(),
            locked.size() > 5 ? names + ", …" : names,
            Diagnosis.locked("their rows", this.database) + session.facts.trouble());
  }
}
