package io.election.jdbc;

import io.election.ElectionSetupException;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * What differs between the supported products. The other classes write standard SQL, with times as
 * {@code CURRENT_TIMESTAMP(6)} and as seconds by {@code EXTRACT(EPOCH FROM …)}.
 */
interface Dialect extends Statements.Words {

  /** Texts that mean the same whatever the modes of the server and the driver. */
  Pattern PLAIN = Pattern.compile("[\\w./:-]*", Pattern.UNICODE_CHARACTER_CLASS);

  /** The digest of a text: 32 hexadecimal digits, which are equal only for equal texts. */
  static String digestOf(String text) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, 16);
    } catch (NoSuchAlgorithmException ex) {
      throw new IllegalStateException("Every Java platform has SHA-256", ex);
    }
  }

  /** The name of a holder's signal: at most 63 characters, the same under every collation. */
  static String signalOf(Statements session, String holder) {
    return "leader_election_" + digestOf(session.facts.schema() + '\n' + holder);
  }

  /** The name in settings and in the log. */
  String shortName();

  @Override
  default String literal(String text) {
    return PLAIN.matcher(text).matches()
        ? "'" + text + "'"
        : ofBytes(HexFormat.of().formatHex(text.getBytes(StandardCharsets.UTF_8)));
  }

  /** A text as SQL without quoting, by the hexadecimal digits of its bytes in UTF-8. */
  String ofBytes(String hex);

  /** The name of a schema or an account as SQL. */
  String quoted(String name);

  /**
   * An SQL expression for the first hexadecimal digits of the {@linkplain #digestOf digest} of a
   * text.
   */
  String digest(String text, int digits);

  /**
   * A statement that renews leases without waiting for locks.
   *
   * @param changes the columns and their new values
   * @param held the condition for the leases to renew
   * @param leases the maximum number of leases
   */
  String renewal(String changes, String held, int leases);

  /** A statement that deletes at most a thousand terms that meet a condition, the oldest first. */
  String pruning(String condition);

  /**
   * An SQL expression that distinguishes one server from another, and the schemas of a server, of
   * which one may be a copy of another.
   */
  String source();

  /** The {@linkplain #digestOf digest} of {@link #source()} as SQL, for comparisons. */
  default String sourceDigest() {
    return digest(source(), 32);
  }

  /** An SQL expression for what keeps accounts from writing to the server; an empty text if nothing. */
  String readOnly();

  /** An SQL condition: whether the server commits each statement, so that what it confirms lasts. */
  String commits();

  /** The settings that {@link #commits()} depends on. */
  String commitSettings();

  /**
   * Sets up a session, or determines what each call sets locally. It waits at most one second for a
   * lock of any kind.
   *
   * @param where the database, for messages
   * @param restSeconds how long the session may be idle
   * @param warning takes a warning that is logged once
   * @throws ElectionSetupException if the product, or the database, cannot hold the leases
   */
  Statements.Facts setUp(
      Statements session, String where, long restSeconds, Consumer<String> warning)
      throws SQLException;

  /** Whether a session keeps what is set in it; otherwise each transaction sets all that counts. */
  default boolean keepsSettings() {
    return true;
  }

  /** The statements that create the tables. */
  Ddl ddl();

  /** Names a schema, if known, in statements for a person whose session may have another. */
  default String inSchema(@Nullable String schema, String statements) {
    return statements;
  }

  /**
   * A query that describes a table of the session's schema, with a row for each column: its number,
   * the table's name, type and engine, and what a {@link Table.Column} says.
   */
  String description(String table);

  /**
   * Refuses a lease table that belongs to something else.
   *
   * @throws ElectionSetupException if it does
   */
  default void refuseForeign(Table leases) {}

  /**
   * Refuses a table whose names are not distinguished exactly.
   *
   * @throws ElectionSetupException if they are not
   */
  void requireExactNames(Table table);

  /** The statements that bring a lease table into shape; none if it is, or cannot be. */
  default List<String> upgrade(Table leases) {
    return List.of();
  }

  /** Describes a record that the server returned for an election although its name differs. */
  default String stray(String found, String name, Set<String> serviceIds) {
    return "leader_election has the record '%s' for one of the elections %s"
        .formatted(name, serviceIds);
  }

  /** Fails if the user may not create tables. Does nothing on a product that cannot tell. */
  default void checkRights(Statements session) throws SQLException {}

  /** The statements that give the account of a session, if known, the rights of the election. */
  String grants(Statements.@Nullable Facts facts);

  /** What to grant to a user who is to create the tables, as the beginning of a sentence. */
  String rightsToCreate();

  /** A query that shows who holds locks, for operators. */
  String blockers();

  /**
   * Explains an error that only this product has.
   *
   * @param error what identifies it; see {@link SqlError#key}
   * @param where the database
   * @param text the server's message
   * @param retry when the login is tried again
   * @return {@code null} if there is nothing particular to say
   */
  @Nullable
  String explain(String error, String where, String text, String retry);

  /** A time in the unit of the driver's time-outs. */
  String driverTimeout(int millis);

  /** The driver's property, and its value, by which operators recognise the connections. */
  Map.Entry<String, String> driverLabel();

  /**
   * Prepares a holder's session to tell followers that a lease was handed back. A signal that is
   * lost costs a renew interval.
   *
   * @return whether {@link #signal} will be noticed
   */
  default boolean prepareSignal(Statements session, String holder) throws SQLException {
    return true;
  }

  /** Wakes the followers of a holder. */
  void signal(Statements session, String holder) throws SQLException;

  /**
   * Waits for a holder's signal.
   *
   * @param session a session of the follower's own
   * @param seconds how long to wait
   * @return whether there may have been one; if not, nothing happened for so long
   */
  boolean awaitSignal(Statements session, String holder, long seconds) throws SQLException;

  /**
   * How a commit fence locks the entries of terms.
   *
   * @param history the history table
   * @param restSeconds how long the session may be idle while it holds a lock
   * @param undo runs a statement that restores the session, or aborts the connection
   */
  FenceLock fenceLock(
      Connection connection, String history, long restSeconds, Consumer<String> undo);
}
