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

  /** The statement that renews leases together. */
  private record Together(OwnerStamp stamp, String nodeId, Map<String, Long> terms)
      implements Session.Kept {

    @Override
    public String sql(Session session) {
      return session
          .dialect()
          .renewal(
              this.stamp.renewal(),
              held(session, this.nodeId, this.terms, this.stamp),
              this.terms.size());
    }

    @Override
    public Together copy() {
      return new Together(this.stamp, this.nodeId, Map.copyOf(this.terms));
    }
  }

  LeaseRenewal(ElectionDatabase database) {
    this.database = database;
  }

  Renewals renew(Session session, OwnerStamp stamp, String nodeId, Map<String, Long> terms)
      throws SQLException {
    return terms.size() == 1
        ? renewOne(session, stamp, nodeId, terms)
        : renewSeveral(session, stamp, nodeId, terms);
  }

  private static Renewals renewOne(
      Session session, OwnerStamp stamp, String nodeId, Map<String, Long> terms)
      throws SQLException {
    Map.Entry<String, Long> held = terms.entrySet().iterator().next();
    boolean renewed = session.updateOne(
        """
            UPDATE leader_election
            SET %s
            WHERE service_id = ? AND leader_id = ? AND term = ? AND lease_millis > 0 AND %s
            """.formatted(stamp.renewal(), stamp.isMine()), held.getKey(), nodeId, held.getValue());
    return new Renewals(renewed ? terms.keySet() : Set.of());
  }

  private Renewals renewSeveral(
      Session session, OwnerStamp stamp, String nodeId, Map<String, Long> terms)
      throws SQLException {
    // While a row stays locked the attempt would fail again, and drivers log that.
    if (!this.someAreLocked && renewTogether(session, stamp, nodeId, terms)) {
      return new Renewals(terms.keySet());
    }
    Renewals outcome = session
        .inTransaction((own) -> Optional.of(renewUnlocked(own, stamp, nodeId, terms)))
        .orElseThrow();
    this.someAreLocked = !outcome.unknown().isEmpty();
    return outcome;
  }

  /**
   * Returns whether one statement renewed all leases; if not, it is unknown which ones it renewed.
   * The statement does not wait for locks: while waiting it would hold the locks on its other rows,
   * even beyond the end of the call.
   */
  private boolean renewTogether(
      Session session, OwnerStamp stamp, String nodeId, Map<String, Long> terms)
      throws SQLException {
    try {
      return session.update(new Together(stamp, nodeId, terms)) == terms.size();
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
  private Renewals renewUnlocked(
      Session session, OwnerStamp stamp, String nodeId, Map<String, Long> terms)
      throws SQLException {
    String select = "SELECT service_id FROM leader_election FORCE INDEX (PRIMARY) WHERE "
        + held(session, nodeId, terms, stamp);
    Set<String> renewed = new HashSet<>(
        session.query(select + " FOR UPDATE SKIP LOCKED", (row) -> Columns.string(row, 1)));
    if (!renewed.isEmpty()) {
      session.update(
          """
          UPDATE leader_election FORCE INDEX (PRIMARY)
          SET %s
          WHERE service_id IN (%s) AND %s
          """.formatted(stamp.renewal(), Session.marks("?", renewed.size()), session.isUsable()),
          renewed.toArray());
    }
    Set<String> locked = new HashSet<>(session.query(select, (row) -> Columns.string(row, 1)));
    locked.removeAll(renewed);
    return new Renewals(renewed, locked, locked.isEmpty() ? "" : problem(session, locked, terms));
  }

  private String problem(Session session, Set<String> locked, Map<String, Long> terms) {
    String names = locked.stream()
        .sorted()
        .limit(5)
        .map((name) -> "'" + name + "'")
        .collect(Collectors.joining(", "));
    return "%s of %s leases could not be renewed (%s). %s"
        .formatted(
            locked.size(),
            terms.size(),
            locked.size() > 5 ? names + ", …" : names,
            Diagnosis.locked("their rows", this.database) + session.facts().trouble());
  }

  /** The condition for leases that this node holds, without parameters. */
  private static String held(
      Session session, String nodeId, Map<String, Long> terms, OwnerStamp stamp) {
    StringJoiner names = new StringJoiner(", ");
    StringJoiner numbered = new StringJoiner(", ");
    terms.forEach((serviceId, term) -> {
      String name = session.literal(serviceId);
      names.add(name);
      numbered.add("(%s, %s)".formatted(name, term));
    });
    return "service_id IN (%s) AND leader_id = %s AND lease_millis > 0 AND (service_id, term) IN (%s) AND %s"
        .formatted(names, session.literal(nodeId), numbered, stamp.isMine());
  }
}
