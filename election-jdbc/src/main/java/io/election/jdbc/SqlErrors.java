package io.election.jdbc;

import java.net.SocketTimeoutException;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.util.Set;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * The errors of servers and drivers. The numbers are the server's: drivers agree on them, but not
 * on exception classes.
 */
final class SqlErrors {

  static final int READ_ONLY_SERVER = 1290;

  /** Has several resources, of which one is the number of connections. */
  static final int USER_LIMIT = 1226;

  static final int GROUP_CONFLICT = 3101;

  private static final int MISSING_TABLE = 1146;
  private static final int MISSING_COLUMN = 1054;
  private static final int LOCKED_NOW = 3572;
  private static final int SYNTAX = 1064;
  private static final Set<Integer> LOCK_TROUBLE =
      Set.of(1205, 1213, 1020, GROUP_CONFLICT, LOCKED_NOW);
  private static final Set<Integer> INTERRUPTED = Set.of(1317, 1969, 3024);
  /** Forbidden, missing or unsupported on this server or on a proxy in front of it. */
  private static final Set<Integer> REFUSED =
      Set.of(1044, 1064, 1128, 1142, 1143, 1227, 1235, 1289, 1305, 1370);

  /**
   * An error without a number of its own. A cluster that prohibits a function names it in the text.
   */
  private static final int UNKNOWN = 1105;

  static final Set<Integer> NO_RIGHT = Set.of(1142, 1143);
  private static final Set<Integer> OUT_OF_REACH = Set.of(1044, 1049, SYNTAX, 1142, 1143, 1146);
  private static final Set<Integer> NO_DDL_RIGHT = Set.of(1044, 1142, 1227);
  private static final Set<Integer> MADE_BY_ANOTHER = Set.of(1007, 1050, 1060, 1061, 1062, 1091);

  private SqlErrors() {}

  static boolean isMissingRight(SQLException ex) {
    return NO_RIGHT.contains(ex.getErrorCode());
  }

  static boolean isDuplicateKey(SQLException ex) {
    return ex.getErrorCode() == 1062 || ex.getErrorCode() == 1586;
  }

  /**
   * Whether a lock wait timed out, or there was a deadlock or a conflict: the statement was undone.
   */
  static boolean isLockTrouble(Throwable ex) {
    return LOCK_TROUBLE.contains(code(ex));
  }

  /** Whether retrying does not help, because the server will never do what was requested. */
  static boolean isRefusal(SQLException ex) {
    return !isConnectionLost(ex)
        && (REFUSED.contains(code(ex)) || (code(ex) == UNKNOWN && text(ex).contains("GET_LOCK")));
  }

  /**
   * Whether the connection is lost. MariaDB's driver reports that with error numbers of its own.
   */
  static boolean isConnectionLost(SQLException ex) {
    return code(ex) == 0 || sqlState(ex).startsWith("08");
  }

  /** Whether the answer did not come in time. */
  static boolean isTimeout(Throwable ex) {
    return has(ex, SQLTimeoutException.class) || has(ex, SocketTimeoutException.class);
  }

  /** Whether the server does not support such a statement. */
  static boolean isSyntax(Throwable ex) {
    return code(ex) == SYNTAX;
  }

  /** Whether a row is locked and the statement was not allowed to wait. */
  static boolean isLockedNow(Throwable ex) {
    return code(ex) == LOCKED_NOW;
  }

  /**
   * Whether the statement ran into a lock, was killed, or exceeded the time that its session
   * allows.
   */
  static boolean isInterrupted(Throwable ex) {
    return isLockTrouble(ex) || INTERRUPTED.contains(code(ex));
  }

  /**
   * Whether the server has no such table, hides it from this user, or is too old for the statement.
   */
  static boolean isOutOfReach(Throwable ex) {
    return OUT_OF_REACH.contains(code(ex));
  }

  static boolean isMissingTable(Throwable ex) {
    return code(ex) == MISSING_TABLE;
  }

  static boolean isMissingColumn(Throwable ex) {
    return code(ex) == MISSING_COLUMN;
  }

  static boolean isMissingDdlRight(Throwable ex) {
    return NO_DDL_RIGHT.contains(code(ex));
  }

  /** Whether the cause is an error of the database or the driver. */
  static boolean isOfDatabase(Throwable ex) {
    return has(ex, SQLException.class);
  }

  /** Whether another client made the same change at the same time. */
  static boolean isMadeByAnother(Throwable ex) {
    return MADE_BY_ANOTHER.contains(code(ex));
  }

  /**
   * The first line of the deepest message from the database or the driver, followed by the
   * certificate error if there was one.
   */
  static String text(Throwable ex) {
    SQLException reported = null;
    SSLException refused = null;
    for (Throwable cause = ex; cause != null; cause = cause.getCause()) {
      if (cause instanceof SSLException ssl) {
        refused = ssl;
      }
      if (cause instanceof SQLException sql && sql.getMessage() != null) {
        reported = sql;
        if (sql.getErrorCode() != 0) {
          break;
        }
      }
    }
    String text = firstLine(reported != null ? reported.getMessage() : null, ex);
    if (refused == null) {
      return text;
    }
    String reason = firstLine(refused.getMessage(), refused);
    return text.contains(reason) ? text : text + ": " + reason;
  }

  private static String firstLine(@Nullable String message, Throwable ex) {
    // MariaDB's driver begins with the connection's number, which makes equal failures differ.
    return (message != null ? message : ex.toString())
        .lines()
        .findFirst()
        .orElse("")
        .replaceFirst("^\\(conn=\\d+\\) ", "")
        .strip();
  }

  static int code(Throwable ex) {
    for (Throwable cause = ex; cause != null; cause = cause.getCause()) {
      if (cause instanceof SQLException sql && sql.getErrorCode() != 0) {
        return sql.getErrorCode();
      }
    }
    return 0;
  }

  static String sqlState(Throwable ex) {
    for (Throwable cause = ex; cause != null; cause = cause.getCause()) {
      if (cause instanceof SQLException sql && sql.getSQLState() != null) {
        return sql.getSQLState();
      }
    }
    return "";
  }

  static boolean has(Throwable ex, Class<? extends Throwable> type) {
    for (Throwable cause = ex; cause != null; cause = cause.getCause()) {
      if (type.isInstance(cause)) {
        return true;
      }
    }
    return false;
  }
}
