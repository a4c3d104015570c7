package io.election.jdbc;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Consumer;

/**
 * A session variable that is set and read back.
 *
 * @param variable its name
 * @param value the value to set, as SQL
 * @param shown the value that must be read back, as a regular expression
 */
record MysqlSetting(String variable, String value, String shown) {

  private static final String WAIT_TIMEOUT = "wait_timeout";

  /**
   * The settings that the protocol needs in a session, whatever the server's global variables, its
   * {@code init_connect} and the URL specify.
   *
   * @param escaped whether the server reads a backslash as the driver writes it
   */
  static List<MysqlSetting> of(boolean escaped, long restSeconds) {
    String rest = Long.toString(restSeconds);
    return new ArrayList<>(List.of(
        new MysqlSetting("autocommit", "1", "1"),
        // With CHAIN each COMMIT begins another transaction.
        new MysqlSetting("completion_type", "0", "NO_CHAIN"),
        new MysqlSetting("time_zone", "'+00:00'", "\\+00:00"),
        // Connector/J quotes and escapes according to the modes that it found when it connected,
        // and does not notice that the pool's connection-init-sql has changed them.
        new MysqlSetting(
            "sql_mode",
            """
            CONCAT_WS(',',
                IF(FIND_IN_SET('ANSI_QUOTES', @@SESSION.sql_mode), 'ANSI_QUOTES', NULL),
                IF((FIND_IN_SET('NO_BACKSLASH_ESCAPES', @@SESSION.sql_mode) > 0) = %s,
                    'NO_BACKSLASH_ESCAPES', NULL),
                'STRICT_ALL_TABLES')\
            """.formatted(escaped),
            "(ANSI_QUOTES,)?(NO_BACKSLASH_ESCAPES,)?STRICT_ALL_TABLES"),
        new MysqlSetting("sql_safe_updates", "0", "0"),
        // Without this a low max_join_size refuses reads of several elections.
        new MysqlSetting("sql_big_selects", "1", "1"),
        new MysqlSetting("sql_select_limit", "18446744073709551615", "18446744073709551615"),
        new MysqlSetting("innodb_lock_wait_timeout", "1", "1"),
        new MysqlSetting("lock_wait_timeout", "1", "1"),
        new MysqlSetting(WAIT_TIMEOUT, rest, rest)));
  }

  /**
   * Refuses a session whose variable differs from what was set. A different idle time only causes
   * a warning, because it matters only for vanished clients.
   */
  void require(String found, String where, Consumer<String> warning) throws SQLException {
    if (found.matches(this.shown)) {
      return;
    }
    if (this.variable.equals(WAIT_TIMEOUT)) {
      warning.accept(
          "wait_timeout is %s in the sessions of the election in %s, although it was just set to %s: a proxy or a DataSource in between drops that statement. A node that vanishes in the middle of a take-over may hold up the next leader for that long. Let the proxy end the sessions of clients that vanished, or let the election connect to the server itself (@ElectionDataSource)"
              .formatted(found, where, this.value));
      return;
    }
    throw new SQLException(
        "%s is '%s' in the session of the election, although it was just set to %s: a proxy, a DataSource or an option of the URL (such as maxRows) drops or changes that. Remove the option, or let the election connect to the server itself, by the URL or by a DataSource bean with @ElectionDataSource"
            .formatted(this.variable, found, this.value));
  }
}
