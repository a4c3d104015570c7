package io.election.jdbc;

import java.net.SocketTimeoutException;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;
import javax.net.ssl.SSLException;
import org.jspecify.annotations.Nullable;

/**
 * What an error of a server or a driver means. An error is identified by the server's number, on
 * which drivers agree, other than on exception classes; or by its SQL state if the server has no
 * numbers.
 */
enum SqlError {
  DUPLICATE_KEY("1062", "1586", "23505"),
  MISSING_TABLE("1146", "42P01"),
  MISSING_COLUMN("1054", "42703"),
  MISSING_DATABASE("1049", "3D000"),
  MISSING_RIGHT("1142", "1143", "42501"),
  MISSING_DDL_RIGHT("1044", "1142", "1227", "42501"),

  /** The login, or its right to connect. */
  DENIED(
      "1044", "1045", "1251", "1524", "1698", "1820", "1862", "3118", "3879", "4151", "28P01",
      "28000"),

  /** No connection is left, or none for this account. */
  TOO_MANY("1040", "1203", SqlError.USER_LIMIT, "53300"),

  /** The server, the transaction, a table, the engine or the schema. */
  READ_ONLY(SqlError.READ_ONLY_SERVER, "1290", "1792", "1836", "1036", "1874", "1881", "3989"),

  /** The server does not support such a statement. */
  SYNTAX("1064"),

  /** Forbidden, missing or unsupported on this server or on a proxy in front of it. */
  REFUSED("1044", "1064", "1128", "1142", "1143", "1227", "1235", "1289", "1305", "1370", "42501"),

  /** The server has no such table or name, hides it from this user, or knows no such statement. */
  OUT_OF_REACH("1044", "1049", "1064", "1142", "1143", "1146", "1193", "22P05", "42P01", "42501"),

  /** Another client made the same change at the same time. */
  MADE_BY_ANOTHER("1007", "1050", "1060", "1061", "1062", "1091", "42P07", "42710", "23505"),

  /** A row is locked and the statement was not allowed to wait. */
  LOCKED_NOW("3572"),

  /** A wait for a lock timed out, or there was a deadlock. */
  LOCKED("1205", "1213", "1020", "3101", "3572", "55P03", "40P01"),

  /** What a transaction did or saw does not fit to what others have committed. */
  CONFLICT("40001"),

  /** The statement was killed, or exceeded the time that its session allows. */
  KILLED("1317", "1969", "3024", "57014");

  /** A server to which not every account may write. */
  static final String READ_ONLY_SERVER = "25006";

  /** Has several resources, of which one is the number of connections. */
  static final String USER_LIMIT = "1226";

  /** All errors of a pooler, of which some mean what the server would say by another state. */
  private static final String POOLER = "08P01";

  /** Has no number of its own. A cluster that prohibits a function names it in the text. */
  private static final String UNKNOWN = "1105";

  @SuppressWarnings("ImmutableEnumChecker") // Set.of is immutable
  private final Set<String> keys;

  SqlError(String... keys) {
    this.keys = Set.of(keys);
  }

  /** Whether a failure, or its cause, is such an error. */
  boolean is(Throwable ex) {
    return this.keys.contains(key(ex));
  }

  /** Whether a lock, a deadlock or a conflict ended the statement, which was undone. */
  static boolean isLockTrouble(Throwable ex) {
    return LOCKED.is(ex) || CONFLICT.is(ex);
  }

  /** Whether a lock, somebody, or a limit of its session ended the statement. */
  static boolean isInterrupted(Throwable ex) {
    return LOCKED.is(ex) || KILLED.is(ex);
  }

  /** Whether retrying does not help, because the server will never do what was requested. */
  static boolean isRefusal(SQLException ex) {
    return !isConnectionLost(ex)
        && (REFUSED.is(ex) || (key(ex).equals(UNKNOWN) && text(ex).contains("GET_LOCK")));
  }

  /** Whether the connection is lost. A driver may say that by numbers of its own. */
  static boolean isConnectionLost(SQLException ex) {
    String state = sqlState(ex);
    return state.startsWith("08") || (code(ex) == 0 && !ofServer(state));
  }

  /** Whether a server without numbers has this state. Drivers of others know general ones. */
  static boolean ofServer(String state) {
    return state.matches("(?!08|28)(?!..000|HY|S1).{5}") || state.matches("3D000|0A000");
  }

  /** Whether the answer did not come in time. */
  static boolean isTimeout(Throwable ex) {
    return has(ex, SQLTimeoutException.class) || has(ex, SocketTimeoutException.class);
  }

  /** The first line of the deepest message of database or driver, and the certificate error. */
  static String text(Throwable ex) {
    SQLException reported = null;
    SSLException refused = null;
    for (Throwable cause = ex; cause != null; cause = cause.getCause()) {
      if (cause instanceof SSLException ssl) {
        refused = ssl;
      }
      if (cause instanceof SQLException sql && sql.getMessage() != null) {
        reported = sql;
        String state = sql.getSQLState();
        if (sql.getErrorCode() != 0 || (state != null && ofServer(state))) {
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
    // A driver begins with the connection's number, which makes equal failures differ.
    return (message != null ? message : ex.toString())
        .lines()
        .findFirst()
        .orElse("")
        .replaceFirst("^\\(conn=\\d+\\) ", "")
        .strip();
  }

  /** The server's number of an error as text, or its SQL state if there is no number. */
  static String key(Throwable ex) {
    int code = code(ex);
    String state = sqlState(ex);
    if (!state.equals(POOLER)) {
      return code != 0 ? Integer.toString(code) : state;
    }
    String text = text(ex);
    return text.contains("authentication failed")
        ? "28P01"
        : text.contains("no more connections")
            ? "53300"
            : text.contains("no such database") ? "3D000" : state;
  }

  static int code(Throwable ex) {
    return causes(ex, SQLException.class)
        .map(SQLException::getErrorCode)
        .filter((code) -> code != 0)
        .findFirst()
        .orElse(0);
  }

  static String sqlState(Throwable ex) {
    return causes(ex, SQLException.class)
        .map(SQLException::getSQLState)
        .filter(Objects::nonNull)
        .findFirst()
        .orElse("");
  }

  static Throwable root(Throwable ex) {
    return causes(ex, Throwable.class).reduce(ex, (above, cause) -> cause);
  }

  static boolean has(Throwable ex, Class<? extends Throwable> type) {
    return causes(ex, type).findFirst().isPresent();
  }

  /** A failure and its causes, as far as they are of a type. */
  static <T> Stream<T> causes(Throwable ex, Class<T> type) {
    return Stream.iterate(ex, Objects::nonNull, Throwable::getCause)
        .filter(type::isInstance)
        .map(type::cast);
  }
}
