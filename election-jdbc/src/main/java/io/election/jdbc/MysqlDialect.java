package io.election.jdbc;

import static io.election.jdbc.Columns.string;

import io.election.ElectionSetupException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** MySQL and MariaDB. Their sessions are set up once. */
enum MysqlDialect implements MysqlTables {
  MYSQL("transaction_", "max_execution_time") {

    /** The LIMIT excludes no row: it lets the inner query lock its rows before the outer one. */
    @Override
    public String renewal(String changes, String held, int leases) {
      return """
          UPDATE (SELECT service_id AS id FROM leader_election FORCE INDEX (PRIMARY)
                  WHERE %s LIMIT %s FOR UPDATE SKIP LOCKED) free
              STRAIGHT_JOIN leader_election l ON l.service_id = free.id
          SET %s
          """.formatted(held, leases, changes);
    }
  },
  MARIADB("tx_", "max_statement_time") {

    /** A time-out of 0 means no wait here; MySQL treats it as one second. */
    @Override
    public String renewal(String changes, String held, int leases) {
      return """
          SET STATEMENT innodb_lock_wait_timeout = 0 FOR
          UPDATE leader_election FORCE INDEX (PRIMARY)
          SET %s
          WHERE %s
          """.formatted(changes, held);
    }
  };

  /**
   * An SQL expression for the settings that keep ordinary accounts from writing to the server, even
   * if privileged ones may still write; an empty text if there are none. Newer versions of MariaDB
   * show read_only as a word, which would be compared as zero. MySQL alone runs what is in the
   * comment.
   */
  static final String READ_ONLY = """
      CONCAT_WS(', ',
          IF(CONCAT(@@GLOBAL.read_only) IN ('0', 'OFF'), NULL,
              CONCAT('read_only=', @@GLOBAL.read_only)),
          IF(@@GLOBAL.innodb_read_only, 'innodb_read_only=1', NULL)
          /*!50700 , IF(@@GLOBAL.super_read_only, 'super_read_only=1', NULL),
          IF(@@GLOBAL.offline_mode, 'offline_mode=1', NULL) */)\
      """;

  private static final String NOW = "CURRENT_TIMESTAMP(6)";

  /**
   * The time of the server, as far as a column of type timestamp can hold it; that type ends in
   * January 2038. Times in the tables are for people, and must not fail a statement that leads.
   * From 2038-01-01 on they show that day, and differ in their microseconds alone.
   */
  private static final String STORABLE_NOW =
      "LEAST(%1$s, FROM_UNIXTIME(2145916800) + INTERVAL MICROSECOND(%1$s) MICROSECOND)"
          .formatted(NOW);

  /** A parameter that arrives as another text if the driver escapes it, and the server does not. */
  private static final String BACKSLASH = "\\x";

  private static final String MIXED_COLLATIONS = "1267";

  /** A name, which is COERCIBLE, comes in a character set other than that of the columns. */
  private static final Pattern CONNECTION_CHARSET =
      Pattern.compile("\\((?!utf8|binary)\\w+,COERCIBLE\\)");

  /** Connector/J, MariaDB's driver. */
  private static final Pattern PUBLIC_KEY =
      Pattern.compile("Public Key Retrieval is not allowed|RSA public key is not available");

  private final String transaction;
  private final String statementTime;

  MysqlDialect(String transaction, String statementTime) {
    this.transaction = transaction;
    this.statementTime = statementTime;
  }

  @Override
  public String shortName() {
    return "mysql";
  }

  @Override
  public String words(String sql) {
    return sql.replace(NOW, STORABLE_NOW)
        .replace("EXTRACT(EPOCH FROM ", "UNIX_TIMESTAMP(")
        .replace("IS NOT DISTINCT FROM", "<=>")
        .replace(" AS BIGINT)", " AS SIGNED)")
        .replace(" AS TEXT)", " AS CHAR(70000))");
  }

  @Override
  public String ofBytes(String hex) {
    return "_utf8mb4 x'" + hex + "'";
  }

  @Override
  public String quoted(String name) {
    return "`" + name.replace("`", "``") + "`";
  }

  @Override
  public String digest(String text, int digits) {
    return "LEFT(SHA2(CONVERT(%s USING utf8mb4), 256), %s)".formatted(text, digits);
  }

  @Override
  public String pruning(String condition) {
    return "DELETE FROM leader_election_history WHERE %s ORDER BY service_id, term LIMIT 1000"
        .formatted(condition);
  }

  /** MariaDB has no server UUID; it alone runs what is in the second comment, MySQL the first. */
  @Override
  public String source() {
    return "CONCAT(/*!50700 @@server_uuid */ /*M! CONCAT_WS(':', @@hostname, @@port, @@server_id) */, '/', DATABASE())";
  }

  @Override
  public String readOnly() {
    return READ_ONLY;
  }

  @Override
  public String commits() {
    return "(@@SESSION.autocommit = 1 AND @@SESSION.completion_type = 'NO_CHAIN')";
  }

  @Override
  public String commitSettings() {
    return "autocommit or completion_type";
  }

  /** What the products call differently, or only one of them has. */
  private List<MysqlSetting> ownSettings() {
    List<MysqlSetting> settings = new ArrayList<>(List.of(
        // Under REPEATABLE READ an UPDATE that matches no row keeps its row lock.
        new MysqlSetting(this.transaction + "isolation", "'READ-COMMITTED'", "READ-COMMITTED"),
        new MysqlSetting(this.transaction + "read_only", "0", "0"),
        new MysqlSetting(this.statementTime, "0", "0(\\.0+)?")));
    if (this == MARIADB) {
      // Within a transaction these count instead of wait_timeout, if they are set.
      for (String kind : List.of("", "write_", "readonly_")) {
        settings.add(new MysqlSetting("idle_" + kind + "transaction_timeout", "0", "0"));
      }
    }
    return settings;
  }

  /**
   * Determines the product.
   *
   * @param version the answer to {@code SELECT VERSION()}: Connector/J reports MySQL for MariaDB
   * @throws ElectionSetupException if the product is not supported
   */
  static MysqlDialect ofVersion(String version) {
    String lower = version.toLowerCase(Locale.ROOT);
    if (lower.contains("tidb") || lower.contains("vitess") || lower.contains("oceanbase")) {
      throw Product.unsupported(version);
    }
    return lower.contains("mariadb") ? MARIADB : MYSQL;
  }

  /**
   * Drivers send only what they believe to be needed, so a SET statement sets up the session. The
   * calls of the driver update the state that drivers and pools remember.
   */
  @Override
  public Statements.Facts setUp(
      Statements session, String where, long restSeconds, Consumer<String> warning)
      throws SQLException {
    Connection connection = session.connection();
    session.bound();
    connection.setReadOnly(false);
    session.bound();
    connection.setAutoCommit(true);
    session.bound();
    connection.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
    record Server(MysqlDialect dialect, boolean escaped) {}
    Server server = session
        .query(
            "SELECT VERSION(), ? = x'5C78' LIMIT 1",
            (row) -> new Server(ofVersion(string(row, 1)), row.getBoolean(2)),
            BACKSLASH)
        .get(0);
    MysqlDialect dialect = server.dialect();
    session.words = dialect;
    List<MysqlSetting> settings = MysqlSetting.of(server.escaped(), restSeconds);
    settings.addAll(dialect.ownSettings());
    session.execute(settings.stream()
        .map((setting) -> setting.variable() + " = " + setting.value())
        .collect(Collectors.joining(", ", "SET SESSION ", "")));
    String sql = "SELECT %s, CURRENT_USER(), DATABASE(), CONCAT(@@hostname, ':', @@port), %s, %s"
        .formatted(
            dialect.source(),
            READ_ONLY,
            settings.stream()
                .map((setting) -> "@@SESSION." + setting.variable())
                .collect(Collectors.joining(", ")));
    return session
        .query(sql, (row) -> {
          Columns.requireWritable(row, 5);
          for (int i = 0; i < settings.size(); i++) {
            settings.get(i).require(string(row, 6 + i), where, warning);
          }
          if (row.getString(3) == null) {
            throw new ElectionSetupException(
                "The JDBC URL of the election names no database (" + where + ").",
                "Add it to the URL: jdbc:mysql://host:3306/database.");
          }
          return new Statements.Facts(
              string(row, 1),
              string(row, 4),
              string(row, 2),
              string(row, 3),
              restSeconds * 1000,
              "");
        })
        .get(0);
  }

  @Override
  public String blockers() {
    return "SELECT * FROM information_schema.innodb_trx";
  }

  @Override
  public @Nullable String explain(String error, String where, String text, String retry) {
    String advice = switch (error) {
      // The account is locked because of failed logins: MySQL, MariaDB.
      case "3955", "4150" ->
        "%s has locked the account because some client sent wrong passwords (%s). Find that client first: it may be another application, or a node with an old password. Then unlock the account, on MySQL by ALTER USER ... ACCOUNT UNLOCK, on MariaDB by FLUSH PRIVILEGES. %s";
      case MIXED_COLLATIONS ->
        CONNECTION_CHARSET.matcher(text).find()
            ? "The connection to %s sends names in a character set that cannot express all of them (%s). Remove characterEncoding, connectionCollation and SET NAMES from the URL and the pool, or set utf8mb4 there."
            : "The columns of the tables in %s differ in their collations (%s). Give all names the collation utf8mb4_bin, as here:\n%4$s";
      case SqlError.USER_LIMIT ->
        text.contains("max_user_connections")
            ? null
            : "%s allows the account no more of that in this hour (%s). Raise that limit, 0 is none: ALTER USER ... WITH MAX_QUERIES_PER_HOUR 0 MAX_UPDATES_PER_HOUR 0 MAX_CONNECTIONS_PER_HOUR 0.";
      case "3101" ->
        "A write to the same row through another member of %s came first (3101). This is harmless while it is rare; it ends when all nodes write to one member.";
      case "1665" ->
        "%s writes its binary log with binlog_format=STATEMENT, and then accepts no writes under READ COMMITTED, which the election needs (%s). Set it to ROW or MIXED on the server: SET GLOBAL binlog_format = 'ROW'.";
      default ->
        PUBLIC_KEY.matcher(text).find()
            ? "The driver sends no password to %s, because the connection has no TLS and the server's public key is not known (%s). Use TLS (sslMode=REQUIRED or, better, VERIFY_IDENTITY; with MariaDB's driver verify-full), or give the driver the key's file (serverRSAPublicKeyFile; serverRsaPublicKeyFile). Where nobody can come between, allowPublicKeyRetrieval=true is enough. %s"
            : null;
    };
    return advice != null ? advice.formatted(where, text, retry, MysqlTables.DDL.all()) : null;
  }

  @Override
  public String driverTimeout(int millis) {
    return Integer.toString(millis);
  }

  /** What the server's {@code performance_schema} shows of a connection. */
  @Override
  public Map.Entry<String, String> driverLabel() {
    return Map.entry("connectionAttributes", "program_name:election");
  }

  /**
   * The holder's connection holds a user-level lock that is named after the holder, and releases it
   * when the holder hands a lease back; followers wait for that lock. The server also frees the lock
   * when the connection ends, which wakes a follower in vain. The locks protect nothing, so it does
   * no harm if another client takes one, or if each server of a cluster has its own.
   *
   * @see <a href="https://dev.mysql.com/doc/refman/8.4/en/locking-functions.html">Locking
   *     Functions</a>
   */
  @Override
  public boolean prepareSignal(Statements session, String holder) throws SQLException {
    return lock(session, holder, 0);
  }

  @Override
  public void signal(Statements session, String holder) throws SQLException {
    session.query("SELECT RELEASE_LOCK(?)", (row) -> "", Dialect.signalOf(session, holder));
  }

  /** Keeps the wait out of the slow query log, which would otherwise get an entry a minute. */
  @Override
  public boolean awaitSignal(Statements session, String holder, long seconds) throws SQLException {
    session.execute("SET SESSION long_query_time = 3600");
    return lock(session, holder, seconds);
  }

  private static boolean lock(Statements session, String holder, long seconds) throws SQLException {
    return session
        .query(
            "SELECT GET_LOCK(?, ?)",
            (row) -> row.getInt(1),
            Dialect.signalOf(session, holder),
            seconds)
        .contains(1);
  }

  @Override
  public FenceLock fenceLock(
      Connection connection, String history, long restSeconds, Consumer<String> undo) {
    return new MysqlFenceLock(this, connection, history, restSeconds, undo);
  }
}
