package io.election.jdbc;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * A session variable that is set and read back.
 *
 * @param variable its name
 * @param value the value to set, as SQL
 * @param shown the value that must be read back, as a regular expression
 */
record SessionSetting(String variable, String value, String shown) {

  private static final String WAIT_TIMEOUT = "wait_timeout";

  /**
   * The settings that the protocol needs in a session, whatever the server's global variables, its
   * {@code init_connect} and the URL specify.
   *
   * @param escaped whether the server reads a backslash as the driver writes it
   */
  static List<SessionSetting> of(
      Dialect dialect, boolean escaped, long restSeconds, long lockSeconds) {
    String lock = Long.toString(lockSeconds);
    String rest = Long.toString(restSeconds);
    List<SessionSetting> settings = new ArrayList<>(List.of(
        new SessionSetting("autocommit", "1", "1"),
        // Under REPEATABLE READ an UPDATE that matches no row keeps its row lock.
        new SessionSetting(dialect.isolation(), "'READ-COMMITTED'", "READ-COMMITTED"),
        new SessionSetting(dialect.readOnlyTransactions(), "0", "0"),
        // With CHAIN each COMMIT begins another transaction.
        new SessionSetting("completion_type", "0", "NO_CHAIN"),
        new SessionSetting("time_zone", "'+00:00'", "\\+00:00"),
        // Connector/J quotes and escapes according to the modes that it found when it connected,
        // and does not notice that the pool's connection-init-sql has changed them.
        new SessionSetting(
            "sql_mode",
            """
            CONCAT_WS(',',
                IF(FIND_IN_SET('ANSI_QUOTES', @@SESSION.sql_mode), 'ANSI_QUOTES', NULL),
                IF((FIND_IN_SET('NO_BACKSLASH_ESCAPES', @@SESSION.sql_mode) > 0) = %s,
                    'NO_BACKSLASH_ESCAPES', NULL),
                'STRICT_ALL_TABLES')\
            """.formatted(escaped),
            "(ANSI_QUOTES,)?(NO_BACKSLASH_ESCAPES,)?STRICT_ALL_TABLES"),
        new SessionSetting("sql_safe_updates", "0", "0"),
        // Without this a low max_join_size refuses reads of several elections.
        new SessionSetting("sql_big_selects", "1", "1"),
        new SessionSetting("sql_select_limit", "18446744073709551615", "18446744073709551615"),
        new SessionSetting(dialect.statementTime(), "0", "0(\\.0+)?"),
        new SessionSetting("innodb_lock_wait_timeout", lock, lock),
        new SessionSetting("lock_wait_timeout", lock, lock),
        new SessionSetting(WAIT_TIMEOUT, rest, rest)));
    if (dialect == Dialect.MARIADB) {
      // Within a transaction these count instead of wait_timeout, if they are set.
      for (String kind : List.of("", "write_", "readonly_")) {
        settings.add(new SessionSetting("idle_" + kind + "transaction_timeout", "0", "0"));
      }
    }
    return settings;
  }

  /**
   * Refuses a session whose variable differs from what was set. A different idle time only causes
   * a warning, because it matters only for vanished clients.
   */
  void require(String found, ElectionDatabase database) throws SQLException {
    if (found.matches(this.shown)) {
      return;
    }
    if (this.variable.equals(WAIT_TIMEOUT)) {
      database.warnOfIdleTime(found, this.value);
      return;
    }
    throw new SQLException(
        "%s is '%s' in the session of the election, although it was just set to %s: a proxy, a DataSource or an option of the URL (such as maxRows) drops or changes that. Remove the option, or let the election connect to the server itself, by the URL or by a DataSource bean with @ElectionDataSource"
            .formatted(this.variable, found, this.value));
  }
}
