package io.election.jdbc;

import static io.election.jdbc.SqlError.has;
import static io.election.jdbc.SqlError.sqlState;
import static io.election.jdbc.SqlError.text;

import io.election.store.LeaseStoreException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;

/** Explains the errors of servers and drivers to operators, and what to do about them. */
final class Diagnosis {

  private Diagnosis() {}

  /** The time that a call had, for messages. */
  static String bound(Duration timeout, Duration operationTimeout) {
    return timeout.equals(operationTimeout)
        ? timeout.toMillis() + " ms (as.election.operation-timeout)"
        : timeout.toMillis() + " ms";
  }

  /**
   * Explains a failure.
   *
   * @param ex the exception that the driver threw
   * @param what the attempted operation, as the subject of the sentence
   * @param database the database
   * @param session the session, or {@code null} if there was none
   * @param bound the time that the call had, and where it is set
   */
  static LeaseStoreException of(
      Throwable ex,
      String what,
      ElectionDatabase database,
      @Nullable Session session,
      String bound) {
    String trouble = session != null ? session.facts.trouble() : "";
    String text = explain(ex, database, session, bound);
    text = database.dialect().inSchema(database.schema(), text);
    return new LeaseStoreException(what + " failed. " + text + trouble, ex);
  }

  /** Advice about rows, as they are displayed, that stay locked. */
  static String locked(String rows, ElectionDatabase database) {
    return "Another transaction in %s holds a lock on %s. If this persists, find the blocking transaction: %s."
        .formatted(database.location(), rows, database.dialect().blockers());
  }

  private static String explain(
      Throwable ex, ElectionDatabase database, @Nullable Session session, String bound) {
    String key = SqlError.key(ex);
    Dialect dialect = database.dialect();
    String where = database.location();
    if (SqlError.MISSING_TABLE.is(ex)) {
      return "A table is missing in %s (%s). No node can lead until it is there again. Unless all are gone and the next call makes them, run:\n%s"
          .formatted(where, text(ex), dialect.ddl().all());
    }
    if (SqlError.MISSING_COLUMN.is(ex)) {
      return "A table in %s lacks a column (%s). Compare it with this definition, and add what is missing:\n%s"
          .formatted(where, text(ex), dialect.ddl().all());
    }
    String particular = dialect.explain(key, where, text(ex), retry(database));
    if (particular != null) {
      return particular;
    }
    if (SqlError.MISSING_RIGHT.is(ex)) {
      return "The database user lacks a right in %s (%s). Run as an administrator:\n%s"
          .formatted(where, text(ex), dialect.grants(session != null ? session.facts : null));
    }
    if (SqlError.MISSING_DATABASE.is(ex)) {
      return "The database does not exist: %s (%s). Create it, or correct the URL."
          .formatted(where, text(ex));
    }
    if (SqlError.DENIED.is(ex)) {
      return "%s refuses the user (%s). Check user name and password, whether the account is locked or its password expired, and its rights in the database. %s"
          .formatted(where, text(ex), retry(database));
    }
    if (SqlError.READ_ONLY.is(ex)
        // A transaction that may write does not begin on a standby.
        || (key.equals("0A000") && text(ex).contains("during recovery"))) {
      return "%s is read-only (%s). If it is a replica, let the URL point to the primary; if a failover is under way, wait; otherwise switch off what is named here."
          .formatted(where, text(ex));
    }
    if (SqlError.TOO_MANY.is(ex)) {
      return "%s has no connection left (%s). Raise the limit of connections of the server, the user or the pooler, let applications use fewer, or set as.election.%s.hand-back-signals=false on all nodes: then a follower needs one connection, not two."
          .formatted(where, text(ex), dialect.shortName());
    }
    if (SqlError.isLockTrouble(ex)) {
      return locked("a row of the election (" + text(ex) + ")", database);
    }
    if (has(ex, CertificateNotYetValidException.class)
        || has(ex, CertificateExpiredException.class)) {
      return "By this node's clock the certificate of %s is not yet, or no longer, valid (%s). Set the clock of this node, or renew the certificate. The next attempt is after half a minute."
          .formatted(where, reason(ex));
    }
    if (has(ex, CertificateException.class)) {
      return "This node does not trust the certificate of %s (%s). Check the trust store, and the host in the URL. The next attempt is after half a minute."
          .formatted(where, reason(ex));
    }
    if (has(ex, UnknownHostException.class)) {
      return "The host of %s has no address. Check the URL and the name service.".formatted(where);
    }
    if (has(ex, ConnectException.class) || has(ex, NoRouteToHostException.class)) {
      return "%s cannot be reached (%s). Is the server running, and do host and port match the URL?"
          .formatted(where, reason(ex));
    }
    if (SqlError.isTimeout(ex)) {
      return "%s did not answer within %s. The server is down, overloaded or cut off, or a row is locked."
          .formatted(where, bound);
    }
    if (sqlState(ex).startsWith("08")) {
      return session == null
          ? "No connection to %s can be opened (%s).".formatted(where, text(ex))
          : "The connection to %s was lost (%s). The next call opens another."
              .formatted(where, text(ex));
    }
    if (!SqlError.has(ex, SQLException.class) || key.isEmpty()) {
      return "%s: %s.".formatted(where, text(ex));
    }
    int code = SqlError.code(ex);
    return "%s: %sSQL state %s: %s."
        .formatted(where, code != 0 ? "error " + code + ", " : "", sqlState(ex), text(ex));
  }

  private static String retry(ElectionDatabase database) {
    return "They are read again at the next attempt, from %s. A changed login is sent at once; the same one after half a minute, and a wrong password after up to 8 minutes, so that the election does not lock the account."
        .formatted(database.credentials());
  }

  /** The driver's message and that of the network, which names the cause. */
  private static String reason(Throwable ex) {
    String text = text(ex);
    String message = SqlError.root(ex).getMessage();
    return message == null || text.contains(message) ? text : text + ": " + message;
  }
}
