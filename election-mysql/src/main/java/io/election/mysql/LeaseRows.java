package io.election.mysql;

import io.election.Names;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseStore.Reading;
import java.math.BigDecimal;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads rows of {@code leader_election} and compares them with what was read before. */
final class LeaseRows {

  private static final Logger log = LoggerFactory.getLogger(LeaseRows.class);

  /**
   * Compares every column of a row as it was read, and the server that returned it, which must be
   * usable. The time is compared as a number of seconds, which no time zone changes.
   */
  private static final String AS_SEEN = """
       AND leader_id = ? AND term = ? AND version = ? AND lease_millis <=> ?
       AND UNIX_TIMESTAMP(last_active_time) <=> ? AND %s = ? AND %s
      """;

  private final Set<String> strays = new HashSet<>();

  /**
   * The version of a row: all columns that the protocol itself does not read.
   *
   * @param number increases with every write of this library
   * @param leaseMillis the lease as found; {@code null} if unknown
   * @param lastTerm the newest term of the history; {@code null} if there is none, or if the row
   *     cannot have been rewritten by hand (see {@link TermHistory#MUST_COMPARE})
   * @param lastActiveTime the time of the last write in seconds; older tools change nothing else
   * @param source the server that answered, which may have missed writes of another
   */
  record Version(
      long number,
      @Nullable Long leaseMillis,
      @Nullable Long lastTerm,
      String lastActiveTime,
      String source) {

    static Version of(LeaseRow row) {
      return (Version) row.version();
    }
  }

  /** Reads the rows of elections. Refuses a server that is not usable. */
  Map<String, Reading> read(Session session, OwnerStamp stamp, Set<String> serviceIds)
      throws SQLException {
    // Reads the history only for unknown leases and for rows that were written by hand.
    String sql = """
        SELECT service_id, leader_id, term, version, lease_millis,
            UNIX_TIMESTAMP(last_active_time),
            CASE WHEN lease_millis >= 0 THEN NULL ELSE (
                SELECT h.lease_millis FROM leader_election_history h
                WHERE h.service_id = l.service_id ORDER BY h.term DESC LIMIT 1) END,
            UNIX_TIMESTAMP(CURRENT_TIMESTAMP(6)) - UNIX_TIMESTAMP(last_active_time), %s, %s,
            CASE WHEN %s THEN (
                SELECT MAX(h.term) FROM leader_election_history h
                WHERE h.service_id = l.service_id) END
        FROM leader_election l WHERE service_id IN (%s)
        """.formatted(
            stamp.isCurrent(),
            session.usability(),
            TermHistory.MUST_COMPARE,
            Session.marks("?", serviceIds.size()));
    Map<String, Reading> readings = new HashMap<>();
    session.query(
        sql,
        (row) -> {
          // A primary may have become a replica since the session was opened.
          String source = session.requireUsable(row, 10);
          return readings.put(Session.string(row, 1), reading(row, source));
        },
        serviceIds.toArray());
    if (readings.isEmpty()) {
      session.requireUsable();
    }
    for (String found : readings.keySet()) {
      if (!serviceIds.contains(found) && this.strays.add(found)) {
        log.warn(stray(found, serviceIds));
      }
    }
    readings.keySet().retainAll(serviceIds);
    return readings;
  }

  /** Reads a row that this session has locked. */
  LeaseRow readLocked(Session session, OwnerStamp stamp, String serviceId) throws SQLException {
    Reading reading = read(session, stamp, Set.of(serviceId)).get(serviceId);
    if (reading == null) {
      throw new SQLException(
          "The record of election '%s' is not found under its name. If the URL sets characterEncoding, remove it"
              .formatted(serviceId));
    }
    return reading.row();
  }

  /** Describes a record that the server returns for an election although its name differs. */
  private static String stray(String found, Set<String> serviceIds) {
    String name = Names.printable(found);
    if (serviceIds.contains(found.stripTrailing())) {
      return "leader_election has the record '%s', which ends with a blank. It is skipped, and no node can lead election '%s' while it exists. Run: DELETE FROM leader_election WHERE service_id = '%s';"
          .formatted(name, found.stripTrailing(), name.replace("\\", "\\\\").replace("'", "''"));
    }
    if (serviceIds.stream().anyMatch((id) -> ascii(id).equals(ascii(found)))) {
      return "The connection sends '%s' for one of the elections %s, because its character set cannot express that name: remove characterEncoding from the URL and the pool's settings, or set it to UTF-8. The record is skipped, and no node can lead that election"
          .formatted(name, serviceIds);
    }
    return "leader_election.service_id treats '%s' as another name of one of the elections %s: it needs the collation utf8mb4_bin. The record is skipped, and no node can lead that election while it exists"
        .formatted(name, serviceIds);
  }

  /** A driver sends a question mark for what it cannot express. */
  private static String ascii(String name) {
    return name.replaceAll("(?:[^\\p{ASCII}]|\\?)+", "?");
  }

  private static Reading reading(ResultSet row, String source) throws SQLException {
    Version version = new Version(
        row.getLong(4),
        Session.number(row, 5),
        Session.number(row, 13),
        Session.string(row, 6),
        source);
    LeaseRow lease = new LeaseRow(
        Session.string(row, 2),
        row.getLong(3),
        LeaseRow.leaseMillis(version.leaseMillis(), Session.number(row, 7)),
        version,
        row.getBoolean(9));
    BigDecimal age = row.getBigDecimal(8);
    return new Reading(
        lease,
        age == null ? Duration.ZERO : Duration.ofMillis(age.movePointRight(3).longValue()));
  }

  /**
   * Locks a row if it is still as it was seen. The history must be compared by a later statement: a
   * statement that reads both may have begun before the lock was free.
   *
   * @param ifLocked what the statement does if another transaction has locked the row, as SQL
   * @return whether the newest term of the history must be compared as well; empty if the row is
   *     not as it was seen
   */
  static Optional<Boolean> lockAsSeen(
      Session session, String serviceId, LeaseRow seen, String ifLocked) throws SQLException {
    return session
        .query(
            "SELECT %s FROM leader_election WHERE service_id = ? %s FOR UPDATE %s"
                .formatted(TermHistory.MUST_COMPARE, asSeen(session), ifLocked),
            (row) -> row.getBoolean(1),
            asSeen(List.of(serviceId), seen))
        .stream()
        .findFirst();
  }

  /**
   * The condition that a row is as it was seen, to be appended to a condition on the primary key.
   */
  static String asSeen(Session session) {
    return AS_SEEN.formatted(session.dialect().sourceDigest(), session.isUsable());
  }

  /** The given parameters, followed by those of {@link #asSeen(Session)}. */
  static @Nullable Object[] asSeen(List<?> parameters, LeaseRow seen) {
    List<@Nullable Object> all = new ArrayList<>(parameters);
    all.add(seen.leaderId());
    all.add(seen.term());
    Version version = Version.of(seen);
    all.add(version.number());
    all.add(version.leaseMillis());
    all.add(version.lastActiveTime().isEmpty() ? null : new BigDecimal(version.lastActiveTime()));
    all.add(Digest.of(version.source()));
    return all.toArray();
  }
}
