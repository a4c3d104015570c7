package io.election.jdbc;

import static io.election.jdbc.SqlErrors.has;
import static io.election.jdbc.SqlErrors.sqlState;
import static io.election.jdbc.SqlErrors.text;

import io.election.store.LeaseStoreException;
import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.net.UnknownHostException;
import java.security.cert.CertificateException;
import java.security.cert.CertificateExpiredException;
import java.security.cert.CertificateNotYetValidException;
import java.time.Duration;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/** Explains the errors of servers and drivers to operators, and what to do about them. */
final class Diagnosis {

  private static final int STATEMENT_LOG = 1665;
  private static final int MIXED_COLLATIONS = 1267;
  /** Read-only are the server, the transaction, a table, the engine or the schema. */
  private static final Set<Integer> READ_ONLY =
      Set.of(SqlErrors.READ_ONLY_SERVER, 1792, 1836, 1036, 1874, 1881, 3989);

  private static final Set<Integer> TOO_MANY = Set.of(1040, 1203, SqlErrors.USER_LIMIT);
  private static final Set<Integer> DENIED =
      Set.of(1044, 1045, 1251, 1524, 1698, 1820, 1862, 3118, 3879, 4151);

  /** The account is locked because of failed logins: MySQL, MariaDB. */
  private static final Set<Integer> LOCKED_OUT = Set.of(3955, 4150);

  /** A name, which is COERCIBLE, comes in a character set other than that of the columns. */
  private static final Pattern CONNECTION_CHARSET =
      Pattern.compile("\\((?!utf8|binary)\\w+,COERCIBLE\\)");

  /** Connector/J, MariaDB's driver. */
  private static final Pattern PUBLIC_KEY =
      Pattern.compile("Public Key Retrieval is not allowed|RSA public key is not available");

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
    return new LeaseStoreException(what + " failed. " + explain(ex, database, session, bound), ex);
  }

  /** Advice about rows that stay locked. */
  static String lockedRow(ElectionDatabase database) {
    return "Another transaction in %s holds a lock on their rows. If this persists, find the blocking transaction: SELECT * FROM information_schema.innodb_trx."
        .formatted(database.location());
  }

  private static String explain(
      Throwable ex, ElectionDatabase database, @Nullable Session session, String bound) {
    int code = SqlErrors.code(ex);
    String where = database.location();
    if (SqlErrors.isMissingTable(ex)) {
      return "A table is missing in %s (%s). No node can lead until it is restored. Run:\n%s"
          .formatted(where, text(ex), LeaseTables.ddl());
    }
    if (SqlErrors.isMissingColumn(ex)) {
      return "A table in %s lacks a column (%s). Compare it with this definition, and add what is missing:\n%s"
          .formatted(where, text(ex), LeaseTables.ddl());
    }
    if (SqlErrors.NO_RIGHT.contains(code)) {
      return "The database user lacks a right in %s (%s). Run as an administrator:\n%s"
          .formatted(where, text(ex), grants(session));
    }
    if (code == 1049) {
      return "The database does not exist: %s (%s). Create it, or correct the URL."
          .formatted(where, text(ex));
    }
    if (LOCKED_OUT.contains(code)) {
      return "%s has locked the account because some client sent wrong passwords (%s). Find that client first: it may be another application, or a node with an old password. Then unlock the account, on MySQL by ALTER USER ... ACCOUNT UNLOCK, on MariaDB by FLUSH PRIVILEGES. %s"
          .formatted(where, text(ex), retry(database));
    }
    if (DENIED.contains(code)) {
      return "%s refuses the user (%s). Check user name and password, whether the account is locked or its password expired, and its rights in the database. %s"
          .formatted(where, text(ex), retry(database));
    }
    if (code == MIXED_COLLATIONS && CONNECTION_CHARSET.matcher(text(ex)).find()) {
      return "The connection to %s sends names in a character set that cannot express all of them (%s). Remove characterEncoding, connectionCollation and SET NAMES from the URL and the pool, or set utf8mb4 there."
          .formatted(where, text(ex));
    }
    if (code == MIXED_COLLATIONS) {
      return "The columns of the tables in %s differ in their collations (%s). Give all names the collation utf8mb4_bin, as here:\n%s"
          .formatted(where, text(ex), LeaseTables.ddl());
    }
    if (READ_ONLY.contains(code)) {
      return "%s is read-only (%s). If it is a replica, let the URL point to the primary; if a failover is under way, wait; otherwise switch off what is named here."
          .formatted(where, text(ex));
    }
    if (code == SqlErrors.USER_LIMIT && !text(ex).contains("max_user_connections")) {
      return "%s allows the account no more of that in this hour (%s). Raise that limit, 0 is none: ALTER USER ... WITH MAX_QUERIES_PER_HOUR 0 MAX_UPDATES_PER_HOUR 0 MAX_CONNECTIONS_PER_HOUR 0."
          .formatted(where, text(ex));
    }
    if (PUBLIC_KEY.matcher(text(ex)).find()) {
      return "The driver sends no password to %s, because the connection has no TLS and the server's public key is not known (%s). Use TLS (sslMode=REQUIRED or, better, VERIFY_IDENTITY; with MariaDB's driver verify-full), or give the driver the key's file (serverRSAPublicKeyFile; serverRsaPublicKeyFile). Where nobody can come between, allowPublicKeyRetrieval=true is enough. %s"
          .formatted(where, text(ex), retry(database));
    }
    if (TOO_MANY.contains(code)) {
      return "%s has no connection left (%s). Raise max_connections or max_user_connections, let applications use fewer, or set as.election.mysql.hand-back-signals=false on all nodes: then a follower needs one connection, not two."
          .formatted(where, text(ex));
    }
    if (code == SqlErrors.GROUP_CONFLICT) {
      return "A write to the same row through another member of %s came first (%s). This is harmless while it is rare; it ends when all nodes write to one member."
          .formatted(where, code);
    }
    if (SqlErrors.isLockTrouble(ex)) {
      return "Another transaction in %s holds a lock on a row of the election (%s). If this persists, find the blocking transaction: SELECT * FROM information_schema.innodb_trx."
          .formatted(where, text(ex));
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
    if (SqlErrors.isTimeout(ex)) {
      return "%s did not answer within %s. The server is down, overloaded or cut off, or a row is locked."
          .formatted(where, bound);
    }
    if (sqlState(ex).startsWith("08")) {
      return "The connection to %s was lost (%s). The next call opens another."
          .formatted(where, text(ex));
    }
    if (code == STATEMENT_LOG) {
      return "%s writes its binary log with binlog_format=STATEMENT, and then accepts no writes under READ COMMITTED, which the election needs (%s). Set it to ROW or MIXED on the server: SET GLOBAL binlog_format = 'ROW'."
          .formatted(where, text(ex));
    }
    if (!SqlErrors.isOfDatabase(ex) || (code == 0 && sqlState(ex).isEmpty())) {
      return "%s: %s.".formatted(where, text(ex));
    }
    return "%s: error %s, SQL state %s: %s.".formatted(where, code, sqlState(ex), text(ex));
  }

  private static String retry(ElectionDatabase database) {
    return "They are read again at the next attempt, from %s. A changed login is sent at once; the same one after half a minute, and a wrong password after up to 8 minutes, so that the election does not lock the account."
        .formatted(database.credentials());
  }

  private static String grants(@Nullable Session session) {
    String schema = session != null ? "`" + session.schema().replace("`", "``") + "`." : "";
    String account = "'user'@'host'";
    if (session != null) {
      int at = session.account().lastIndexOf('@');
      account = "'" + session.account().substring(0, at) + "'@'"
          + session.account().substring(at + 1) + "'";
    }
    String grant = "GRANT SELECT, INSERT, UPDATE ON ";
    return grant + schema + LeaseTables.LEASES + " TO " + account + ";\n" + grant + schema
        + LeaseTables.HISTORY + " TO " + account + ";";
  }

  /** The driver's message and that of the network, which names the cause. */
  private static String reason(Throwable ex) {
    Throwable root = ex;
    while (root.getCause() != null) {
      root = root.getCause();
    }
    String text = text(ex);
    String message = root.getMessage();
    return message == null || text.contains(message) ? text : text + ": " + message;
  }
}
