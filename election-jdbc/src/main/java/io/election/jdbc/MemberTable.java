package io.election.jdbc;

import io.election.Member;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.Presence;
import io.election.store.Ticker;
import java.math.BigDecimal;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * The table {@code leader_election_member} as one process uses it, from its first announcement to
 * its end. The times in it are the database's, and for people: who is there is judged by whether
 * this process sees the time in a row change, on its own monotonic clock.
 */
final class MemberTable {

  /** Names contain no control characters. */
  private static final String SEPARATOR = "\n";

  /** Begins the line of a position, and separates the election from it. */
  private static final String POSITION = "\t";

  private static final int VERSION_LENGTH = 64;

  /** When the table is tried again. A driver may log each refusal as a warning. */
  private static final long RETRY = Duration.ofMinutes(10).toNanos();

  /** The server answers but the table cannot be used. This lasts, and affects nothing else. */
  static final class UnusableException extends SQLException {

    private static final long serialVersionUID = 1L;

    UnusableException(SQLException cause) {
      super(
          "the table leader_election_member cannot be used (%s). Create it with the last statement for your database in docs/ddl.md, and grant SELECT, INSERT, UPDATE and DELETE on it."
              .formatted(SqlError.text(cause)),
          cause.getSQLState(),
          cause.getErrorCode(),
          cause);
    }
  }

  private final Ticker ticker;

  /** By the times in the rows, in seconds. */
  private final Presence<String> presence;

  /** The content of the row; {@code null} if this process has not written it. */
  private @Nullable Announcement announced;

  private @Nullable UnusableException refusal;

  private long refusedAt;

  MemberTable(Ticker ticker) {
    this.ticker = ticker;
    this.presence = new Presence<>(ticker);
  }

  /** Writes one row by its key: a single column, except for the first time and after a change. */
  void announce(Session session, Announcement self) throws SQLException {
    use(session, (own) -> {
      if (!self.equals(this.announced) || !refresh(own, self)) {
        boolean first = this.announced == null;
        this.announced = null;
        if (!write(own, self, first)) {
          insert(own, self);
        }
        this.announced = self;
      }
      return self;
    });
  }

  private static boolean refresh(Session session, Announcement self) throws SQLException {
    return session.updateOne("""
        UPDATE leader_election_member SET seen_at = CURRENT_TIMESTAMP(6) WHERE node_id = ? AND %s
        """.formatted(session.isUsable()), self.nodeId());
  }

  private static boolean write(Session session, Announcement self, boolean first)
      throws SQLException {
    return session.updateOne(
        """
        UPDATE leader_election_member
        SET %s seen_at = CURRENT_TIMESTAMP(6), lease_millis = ?, eligible = ?, services = ?,
            paused = ?, version = ?
        WHERE node_id = ? AND %s
        """.formatted(first ? "joined_at = CURRENT_TIMESTAMP(6)," : "", session.isUsable()),
        parameters(self));
  }

  private static void insert(Session session, Announcement self) throws SQLException {
    try {
      session.updateOne("""
          INSERT INTO leader_election_member
              (lease_millis, eligible, services, paused, version, node_id, joined_at, seen_at)
          SELECT ?, ?, ?, ?, ?, ?, CURRENT_TIMESTAMP(6), CURRENT_TIMESTAMP(6) FROM DUAL WHERE %s
          """.formatted(session.isUsable()), parameters(self));
    } catch (SQLException ex) {
      // Another process with this name has just written the row.
      if (!SqlError.DUPLICATE_KEY.is(ex)) {
        throw ex;
      }
    }
  }

  private static Object[] parameters(Announcement self) {
    // One column, so that the table stays as it is.
    String version = self.version() + " " + self.algorithm();
    return new Object[] {
      self.lease().toMillis(),
      self.eligible() ? 1L : 0L,
      services(self),
      String.join(SEPARATOR, self.paused()),
      version.substring(0, Math.min(version.length(), VERSION_LENGTH)),
      self.nodeId()
    };
  }

  /**
   * The elections, each on a line, and then their positions, so that the table stays as it is. The
   * label is the position in the election without a name.
   */
  private static String services(Announcement self) {
    List<String> lines = new ArrayList<>(self.serviceIds());
    self.positions().forEach((id, position) -> lines.add(POSITION + id + POSITION + position));
    if (!self.label().isEmpty()) {
      lines.add(POSITION + POSITION + self.label());
    }
    return String.join(SEPARATOR, lines);
  }

  /**
   * What {@link #services} has written.
   *
   * @param ids the elections
   * @param positions the positions, by election, and the label
   */
  private record Services(Set<String> ids, Map<String, String> positions) {

    static Services parse(String text) {
      Set<String> ids = new HashSet<>();
      Map<String, String> positions = new HashMap<>();
      text.lines().forEach((line) -> {
        String[] parts = line.split(POSITION, 3);
        if (parts.length == 3) {
          positions.put(parts[1], parts[2]);
        } else {
          ids.add(line);
        }
      });
      return new Services(ids, positions);
    }
  }

  /** Reads the members of all given elections with one statement. */
  Map<String, List<Member>> read(Session session, Set<String> serviceIds) throws SQLException {
    Map<String, List<Member>> members = new HashMap<>();
    Map<String, Services> texts = new HashMap<>();
    Map<String, String> times = new HashMap<>();
    long asked = this.ticker.read();
    use(
        session,
        (own) -> own.query("""
          SELECT node_id, EXTRACT(EPOCH FROM joined_at), EXTRACT(EPOCH FROM seen_at), eligible, version,
              services, paused, lease_millis
          FROM leader_election_member ORDER BY joined_at, node_id
          """, (row) -> {
          String nodeId = Columns.string(row, 1);
          String seenAt = Columns.string(row, 3);
          times.put(nodeId, seenAt);
          if (!this.presence.isThere(nodeId, seenAt, row.getLong(8), asked)) {
            return nodeId;
          }
          // Most nodes take part in the same elections.
          Services services = texts.computeIfAbsent(Columns.string(row, 6), Services::parse);
          String[] version = Columns.string(row, 5).split(" ", 2);
          Instant joinedAt = instant(row, 2);
          Instant lastSeen = instant(row, 3);
          Duration lease = Duration.ofMillis(row.getLong(8));
          Set<String> paused = Set.of(Columns.string(row, 7).split(SEPARATOR));
          for (String id : serviceIds) {
            if (services.ids().contains(id)) {
              members
                  .computeIfAbsent(id, (key) -> new ArrayList<>())
                  .add(new Member(
                      nodeId,
                      joinedAt,
                      lastSeen,
                      row.getBoolean(4),
                      paused.contains(id),
                      version[0],
                      version.length > 1 ? version[1] : "",
                      services.positions().getOrDefault(id, ""),
                      lease,
                      services.positions().getOrDefault("", "")));
            }
          }
          return nodeId;
        }));
    this.presence.saw(times);
    return members;
  }

  private static Instant instant(ResultSet row, int column) throws SQLException {
    return Objects.requireNonNullElse(Columns.instant(row, column), Instant.EPOCH);
  }

  void withdraw(Session session, String nodeId) throws SQLException {
    this.announced = null;
    use(
        session,
        (own) -> own.updateOne(
            "DELETE FROM leader_election_member WHERE node_id = ? AND " + own.isUsable(), nodeId));
  }

  /**
   * Deletes the rows that this process has seen unchanged for a day, a bounded number at a time.
   * Finds them by a plain read, so that no row of other nodes is locked, and compares the time that
   * it has seen. Does nothing without the table or the right to delete.
   */
  void prune(Session session) throws SQLException {
    if (this.announced == null) {
      return;
    }
    long asked = this.ticker.read();
    Map<String, String> times = new HashMap<>();
    try {
      session.query(
          "SELECT node_id, EXTRACT(EPOCH FROM seen_at) FROM leader_election_member",
          (row) -> times.put(Columns.string(row, 1), Columns.string(row, 2)));
      this.presence.saw(times);
      List<Object> nodes = new ArrayList<>();
      List<Object> rows = new ArrayList<>();
      times.forEach((nodeId, at) -> {
        if (!at.isEmpty() && this.presence.isGone(nodeId, at, asked) && nodes.size() < 100) {
          nodes.add(nodeId);
          rows.add(nodeId);
          rows.add(new BigDecimal(at));
        }
      });
      if (!nodes.isEmpty()) {
        session.update(
            "DELETE FROM leader_election_member WHERE node_id IN (%s) AND (node_id, EXTRACT(EPOCH FROM seen_at)) IN (%s) AND %s"
                .formatted(
                    Session.marks("?", nodes.size()),
                    Session.marks("(?, ?)", nodes.size()),
                    session.isUsable()),
            Stream.concat(nodes.stream(), rows.stream()).toArray());
      }
    } catch (SQLException ex) {
      if (!isUnusable(ex)) {
        throw ex;
      }
    }
  }

  /** Works with the table. Repeats the last refusal until it is time to try again. */
  private void use(Session session, SqlFunction<Session, ?> work) throws SQLException {
    if (this.refusal != null && this.ticker.read() - this.refusedAt < RETRY) {
      throw this.refusal;
    }
    this.refusal = null;
    try {
      work.apply(session);
    } catch (SQLException ex) {
      if (!isUnusable(ex)) {
        throw ex;
      }
      this.announced = null;
      this.refusal = new UnusableException(ex);
      this.refusedAt = this.ticker.read();
      throw this.refusal;
    }
  }

  private static boolean isUnusable(SQLException ex) {
    return SqlError.MISSING_TABLE.is(ex)
        || SqlError.MISSING_RIGHT.is(ex)
        || SqlError.MISSING_COLUMN.is(ex);
  }
}
