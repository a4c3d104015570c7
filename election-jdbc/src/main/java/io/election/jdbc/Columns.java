package io.election.jdbc;

import java.math.BigDecimal;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Instant;
import org.jspecify.annotations.Nullable;

/** Reads columns of the current row. */
final class Columns {

  private Columns() {}

  /** Reads a column, with an empty string instead of null. */
  static String string(ResultSet row, int column) throws SQLException {
    String text = row.getString(column);
    return text != null ? text : "";
  }

  /** Reads a column that is a number of seconds since 1970. */
  static @Nullable Instant instant(ResultSet row, int column) throws SQLException {
    BigDecimal seconds = row.getBigDecimal(column);
    return seconds != null ? Instant.ofEpochSecond(0, seconds.movePointRight(9).longValue()) : null;
  }

  /**
   * Refuses a server that does not accept the writes of every account. It is a replica, or about to
   * become one. Its rows may be old and must not be watched: when a replica becomes the primary, a
   * follower would take over a row that its holder has meanwhile renewed elsewhere.
   *
   * @param column the column that shows what keeps accounts from writing; an empty text if nothing does
   */
  static void requireWritable(ResultSet row, int column) throws SQLException {
    String settings = string(row, column);
    if (!settings.isEmpty()) {
      throw new SQLException(settings, SqlError.READ_ONLY_SERVER);
    }
  }
}
