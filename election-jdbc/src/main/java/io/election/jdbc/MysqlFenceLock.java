package io.election.jdbc;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Locale;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Locks by {@code FOR SHARE}, in sessions whose time-outs are shortened and restored.
 *
 * @param history the history table
 * @param restSeconds how long the session may be idle while it holds the lock
 * @param undo runs a statement that restores the session, or aborts the connection
 */
record MysqlFenceLock(
    Dialect dialect, Connection connection, String history, long restSeconds, Consumer<String> undo)
    implements FenceLock {

  private static final String SHORTEN = ofEach("""
      @election_%1$s = CAST(COALESCE(@election_%1$s, @@SESSION.%1$s) AS UNSIGNED),
          SESSION %1$s = %%1$s
      """);

  /** Correct even if {@link #SHORTEN} has not run, or if this has run before. */
  private static final String RESTORE = ofEach("""
      SESSION %1$s = CAST(COALESCE(@election_%1$s, @@SESSION.%1$s) AS UNSIGNED),
          @election_%1$s = NULL
      """);

  /** Whether the server ends the session itself if it is idle in a transaction for so long. */
  private static final String BOUNDED = """
      AND /*!50700 @@SESSION.wait_timeout */ /*M! GREATEST(
          COALESCE(NULLIF(@@SESSION.idle_write_transaction_timeout, 0),
              NULLIF(@@SESSION.idle_transaction_timeout, 0), @@SESSION.wait_timeout),
          COALESCE(NULLIF(@@SESSION.idle_readonly_transaction_timeout, 0),
              NULLIF(@@SESSION.idle_transaction_timeout, 0), @@SESSION.wait_timeout)) */ <= %s\
      """;

  private static final String MARIADB_LOCK = " LOCK IN SHARE MODE WAIT 1";

  @Override
  public @Nullable FenceEntry read(String serviceId, long term, boolean ifBounded)
      throws SQLException {
    String condition = ifBounded ? BOUNDED.formatted(this.restSeconds) : "";
    // Even under MySQL's REPEATABLE READ a locking read sees what is committed now. MariaDB refuses
    // it if that is newer than its snapshot. FOR SHARE is unknown to MariaDB, WAIT to MySQL.
    String version = this.connection.getMetaData().getDatabaseProductVersion();
    if (version.toLowerCase(Locale.ROOT).contains("mariadb")) {
      return read(serviceId, term, "", condition + MARIADB_LOCK);
    }
    String hint = "/*+ SET_VAR(lock_wait_timeout = 1) */";
    try {
      return read(serviceId, term, hint, condition + " FOR SHARE NOWAIT");
    } catch (SQLException ex) {
      if (SqlError.SYNTAX.is(ex)) {
        // A proxy in front of MariaDB may report a version of MySQL.
        return read(serviceId, term, "", condition + MARIADB_LOCK);
      }
      if (!SqlError.LOCKED_NOW.is(ex)) {
        throw ex;
      }
    }
    // MySQL has neither a statement nor a hint that waits one second for a row.
    FenceLock.execute(this.connection, """
        SET @election_lock_wait_timeout = @@SESSION.innodb_lock_wait_timeout,
            SESSION innodb_lock_wait_timeout = 1
        """);
    try {
      return read(serviceId, term, hint, condition + " FOR SHARE");
    } finally {
      this.undo.accept("SET SESSION innodb_lock_wait_timeout = @election_lock_wait_timeout");
    }
  }

  private @Nullable FenceEntry read(String serviceId, long term, String hint, String lock)
      throws SQLException {
    try (PreparedStatement statement = this.connection.prepareStatement(
        """
        SELECT %s leader_id, ended_at IS NULL, %s FROM %s
        WHERE service_id = ? AND term = ? %s
        """.formatted(hint, this.dialect.readOnly(), this.history, lock))) {
      statement.setString(1, serviceId);
      statement.setLong(2, term);
      try (ResultSet row = statement.executeQuery()) {
        return row.next()
            ? new FenceEntry(Columns.string(row, 1), row.getBoolean(2), Columns.string(row, 3))
            : null;
      }
    }
  }

  /** Of another schema of the server the history must be visible. */
  @Override
  public @Nullable Boolean reaches(String source) throws SQLException {
    String here = this.dialect.source();
    String sql =
        "SELECT %s UNION ALL SELECT %s FROM information_schema.tables WHERE table_schema = %s AND table_name = 'leader_election_history'"
            .formatted(
                here,
                here.replace("DATABASE()", "table_schema"),
                this.dialect.literal(source.replaceFirst(".*?/", "")));
    return FenceLock.texts(this.connection.createStatement(), sql).contains(source) ? true : null;
  }

  @Override
  public String bounding() {
    return SHORTEN.formatted(this.restSeconds);
  }

  @Override
  public String restoration() {
    return RESTORE;
  }

  /**
   * A statement that sets each variable that bounds how long a session may be idle in a
   * transaction. MariaDB alone runs what is in the comment: if these are set, {@code wait_timeout}
   * does not count there.
   */
  private static String ofEach(String assignments) {
    return "SET %s /*M! , %s, %s */"
        .formatted(
            assignments.formatted("wait_timeout"),
            assignments.formatted("idle_write_transaction_timeout"),
            assignments.formatted("idle_readonly_transaction_timeout"));
  }
}
