package io.election.jdbc;

import io.election.Names;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore.Reading;
import java.math.BigDecimal;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.stream.Collectors;
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
       AND leader_id = ? AND term = ? AND version = ? AND lease_millis IS NOT DISTINCT FROM ?
       AND EXTRACT(EPOCH FROM last_active_time) IS NOT DISTINCT FROM ? AND %s = ? AND %s
      """;

  /**
   * Distinguishes what this process writes from what any other process writes, including a later
   * process of the same node. Generated at the first use, and again after {@link #disown()}.
   * Processes restored from one checkpoint that was taken before the start, or while the elector
   * was stopped, therefore have different tokens.
   */
  private @Nullable UUID token;

  private final Set<String> strays = new HashSet<>();

  /**
   * The version of a row: all columns that the protocol itself does not read.
   *
   * @param number increases with every write of this library
   * @param leaseMillis the lease as found; {@code null} if unknown
   * @param lastTerm the newest term of the history; {@code null} if there is none, or if the row
   *     cannot have been rewritten by hand (see {@link TermHistory#MUST_COMPARE})
   * @param lastActiveMicros the time of the last write, in microseconds since 1970; older tools
   *     change nothing else
   * @param source the server that answered, which may have missed writes of another
   */
  record Version(
      long number,
      @Nullable Long leaseMillis,
      @Nullable Long lastTerm,
      @Nullable Long lastActiveMicros,
      String source) {

    static Version of(LeaseRow row) {
      return (Version) row.version();
    }
  }

  /** The read of several rows, which a node repeats in each renew interval. */
  private record Poll(OwnerStamp stamp, Set<String> serviceIds) implements Session.Kept {

    @Override
    public String sql(Session session) {
      return LeaseRows.sql(
          session,
          this.stamp,
          this.serviceIds.stream().map(session::literal).collect(Collectors.joining(", ")));
    }

    @Override
    public Poll copy() {
      return new Poll(this.stamp, Set.copyOf(this.serviceIds));
    }
  }

  /**
   * A read of the rows of elections. It reads the history only for unknown leases and for rows that
   * were written by hand. Columns are numbers where they can be. The last one is null if the server
   * is usable. Its type, a long text, lets a driver keep a row as it arrived, instead of as an array
   * for each column.
   *
   * @param names the elections, as SQL
   */
  private static String sql(Session session, OwnerStamp stamp, String names) {
    return """
        SELECT service_id, leader_id, term, version, lease_millis,
            CAST(EXTRACT(EPOCH FROM last_active_time) * 1000000 AS BIGINT),
            CASE WHEN lease_millis >= 0 THEN NULL ELSE (
                SELECT h.lease_millis FROM leader_election_history h
                WHERE h.service_id = l.service_id ORDER BY h.term DESC LIMIT 1) END,
            CAST((EXTRACT(EPOCH FROM CURRENT_TIMESTAMP(6)) - EXTRACT(EPOCH FROM last_active_time))
                * 1000 AS BIGINT),
            %s,
            CASE WHEN %s THEN (
                SELECT MAX(h.term) FROM leader_election_history h
                WHERE h.service_id = l.service_id) END,
            CASE WHEN %s THEN NULL ELSE CAST(CONCAT_WS(' ', %s) AS TEXT) END
        FROM leader_election l WHERE service_id IN (%s)
        """.formatted(
            stamp.isCurrent(),
            TermHistory.MUST_COMPARE,
            session.isUsable(),
            session.usability(),
            names);
  }

  /** What this process writes into records that it leads. */
  OwnerStamp stamp(Session session) {
    if (this.token == null) {
      this.token = UUID.randomUUID();
    }
    return new OwnerStamp(this.token, session.dialect(), session.isUsable());
  }

  /** After this no record is this process's own. */
  void disown() {
    this.token = null;
  }

  /** Reads the rows of elections. Refuses a server that is not usable. */
  Map<String, Reading> read(Session session, Set<String> serviceIds) throws SQLException {
    Readings readings = new Readings(session.facts.source(), serviceIds.size());
    session.query(new Poll(stamp(session), serviceIds), readings);
    return found(session, readings, serviceIds);
  }

  private Map<String, Reading> found(Session session, Readings readings, Set<String> serviceIds)
      throws SQLException {
    // A primary may have become a replica since the session was opened.
    if (readings.found.isEmpty() || readings.unusable != null) {
      session.requireUsable();
    }
    if (readings.unusable != null) {
      throw new SQLNonTransientConnectionException(
          "its server could not be used for a moment: " + readings.unusable, "08S01");
    }
    for (String found : readings.found.keySet()) {
      if (!serviceIds.contains(found) && this.strays.add(found)) {
        log.warn(
            "A record is skipped, and no node can lead its election while it exists: {}",
            session.dialect().stray(found, Names.printable(found), serviceIds));
      }
    }
    readings.found.keySet().retainAll(serviceIds);
    return readings.found;
  }

  /** Reads a row that this session has locked. */
  LeaseRow readLocked(Session session, String serviceId) throws SQLException {
    Readings readings = new Readings(session.facts.source(), 1);
    session.query(sql(session, stamp(session), "?"), readings, serviceId);
    Reading reading = found(session, readings, Set.of(serviceId)).get(serviceId);
    if (reading == null) {
      throw new SQLException(
          "The record of election '%s' is not found under its name. If the URL sets a character encoding, remove it"
              .formatted(serviceId));
    }
    return reading.row();
  }

  /** Whether a record is still as it was seen. */
  boolean isAsSeen(Session session, String serviceId, LeaseRow seen) throws SQLException {
    Reading reading = read(session, Set.of(serviceId)).get(serviceId);
    return reading != null && reading.row().isSameRecord(seen);
  }

  /** The readings of one answer. */
  private static final class Readings implements SqlFunction<ResultSet, LeaseRow> {

    private final Map<String, Reading> found;
    private final String source;
    private @Nullable String unusable;

    // A leader renews its leases at one time, mostly for one duration: the rows share these values.
    private @Nullable Long lease;
    private @Nullable Long micros;
    private Duration age = Duration.ZERO;

    Readings(String source, int expected) {
      this.source = source;
      this.found = new HashMap<>(expected * 4 / 3 + 1);
    }

    @Override
    public LeaseRow apply(ResultSet row) throws SQLException {
      if (row.getObject(11) != null) {
        this.unusable = row.getString(11);
      }
      this.lease = number(row, 5, this.lease);
      this.micros = number(row, 6, this.micros);
      long age = row.getLong(8);
      if (this.age.toMillis() != age) {
        this.age = Duration.ofMillis(age);
      }
      Version version =
          new Version(row.getLong(4), this.lease, number(row, 10, null), this.micros, this.source);
      LeaseRow lease = new LeaseRow(
          Columns.string(row, 2),
          row.getLong(3),
          LeaseRow.leaseMillis(this.lease, number(row, 7, null)),
          version,
          row.getBoolean(9));
      String name = Columns.string(row, 1);
      if (this.found.put(name, new Reading(lease, this.age)) != null) {
        throw new SQLException(
            "several rows of leader_election name election '%s': keep one. Does a table inherit from it, or has it lost its primary key?"
                .formatted(name));
      }
      return lease;
    }

    /** Reads a column, as the same object if it has the same value. */
    private static @Nullable Long number(ResultSet row, int column, @Nullable Long before)
        throws SQLException {
      long number = row.getLong(column);
      if (row.wasNull()) {
        return null;
      }
      return before != null && before == number ? before : Long.valueOf(number);
    }
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

  /** Whether the newest term of the history is the one that was read with a row. */
  static boolean isLast(TermHistory.LastTerm last, LeaseRow seen) {
    return Objects.equals(last.number(), Version.of(seen).lastTerm());
  }

  /** The condition that a row is as it was seen, to follow one on the primary key. */
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
    Long micros = version.lastActiveMicros();
    all.add(micros != null ? BigDecimal.valueOf(micros, 6) : null);
    all.add(Dialect.digestOf(version.source()));
    return all.toArray();
  }
}
