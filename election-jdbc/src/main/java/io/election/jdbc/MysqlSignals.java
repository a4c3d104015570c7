package io.election.jdbc;

import java.sql.SQLException;

/**
 * Signals by user-level locks. The holder's connection holds a lock that is named after the holder,
 * and releases it when the holder hands a lease back; followers wait for that lock. The server also
 * frees the lock when the connection ends, which wakes a follower in vain. The locks protect
 * nothing, so it does no harm if another client takes one, or if each server of a cluster has its
 * own.
 *
 * @see <a href="https://dev.mysql.com/doc/refman/8.4/en/locking-functions.html">Locking
 *     Functions</a>
 */
record MysqlSignals() implements Signals {

  @Override
  public boolean prepare(Session session, String holder) throws SQLException {
    return lock(session, holder, 0);
  }

  @Override
  public boolean send(Session session, String holder) throws SQLException {
    return session
        .query("SELECT RELEASE_LOCK(?)", (row) -> row.getInt(1), name(session.schema(), holder))
        .contains(1);
  }

  /** Keeps the wait out of the slow query log, which would otherwise get an entry a minute. */
  @Override
  public boolean await(Session session, String holder, long seconds) throws SQLException {
    session.execute("SET SESSION long_query_time = 3600");
    return lock(session, holder, seconds);
  }

  private static boolean lock(Session session, String holder, long seconds) throws SQLException {
    return session
        .query(
            "SELECT GET_LOCK(?, ?)",
            (row) -> row.getInt(1),
            name(session.schema(), holder),
            seconds)
        .contains(1);
  }

  /**
   * The name of a lock: at most 64 characters, and the same under every collation that the server
   * compares with.
   */
  private static String name(String schema, String holder) {
    return "leader_election:" + Digest.of(schema + '\n' + holder);
  }
}
