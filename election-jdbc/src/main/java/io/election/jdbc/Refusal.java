package io.election.jdbc;

import java.io.IOException;
import java.security.cert.CertificateException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;

/**
 * Why a connection was refused, and how long this node then does not ask for another. A failure
 * that is none of these (the network, a server that starts or is read-only, a database that does
 * not exist) leaves the time of the next attempt to the elector.
 */
enum Refusal {

  /**
   * User or password are wrong, or the driver broke the login off. A server counts both, and locks
   * the account for all its clients after a few.
   */
  LOGIN(480, "1045", "1698", "28P01"),

  /** The password may be right, but the account or this host may not connect. */
  ACCOUNT(
      30, "1044", "1129", "1130", "1251", "1524", "1820", "1862", "3118", "3879", "3955", "4150",
      "4151", "42501"),

  /** The client does not trust the server's certificate, or it is not valid by the client's clock. */
  CERTIFICATE(30),

  /** The account has used up what it may do in an hour. */
  QUOTA(30),

  /** No connection is left. Whoever can do without one leaves it to others. */
  CROWDED(0, "1040", "1203", "53300");

  private static final Duration FIRST = Duration.ofSeconds(30);

  /** A server without numbers did not look at the password, or found it right. */
  private static final Pattern NOT_ADMITTED =
      Pattern.compile("pg_hba\\.conf|is not permitted to log in");

  @SuppressWarnings("ImmutableEnumChecker") // Set.of is immutable
  private final Set<String> codes;

  private final Duration longest;

  Refusal(long longest, String... codes) {
    this.codes = Set.of(codes);
    this.longest = Duration.ofSeconds(longest);
  }

  /**
   * Classifies a failure to connect.
   *
   * @param ofDriver whether the driver itself threw it, and not a pool or other code in between
   * @return the refusal; {@code null} if it is none
   */
  static @Nullable Refusal of(Throwable failure, boolean ofDriver) {
    String key = SqlError.key(failure);
    if (key.equals(SqlError.USER_LIMIT)) {
      return SqlError.text(failure).contains("max_user_connections") ? CROWDED : QUOTA;
    }
    for (Refusal refusal : values()) {
      if (refusal.codes.contains(key)) {
        return refusal;
      }
    }
    if (SqlError.has(failure, CertificateException.class)) {
      return CERTIFICATE;
    }
    if (key.equals("28000") && NOT_ADMITTED.matcher(SqlError.text(failure)).find()) {
      return ACCOUNT;
    }
    // What the driver itself raises has no number, or a negative one.
    boolean brokenOff = ofDriver
        && !Product.locksNoAccount(failure)
        && SqlError.code(failure) <= 0
        && !SqlError.ofServer(SqlError.sqlState(failure))
        && failure instanceof SQLException
        && !SqlError.has(failure, IOException.class);
    return brokenOff || SqlError.sqlState(failure).startsWith("28") ? LOGIN : null;
  }

  /**
   * Returns how long the same login is not sent again.
   *
   * @param earlier how many refusals came before this one
   * @return the pause, before it is spread; it doubles with each refusal where each one counts
   */
  Duration pause(int earlier) {
    Duration pause = FIRST.multipliedBy(1L << Math.min(earlier, 10));
    return pause.compareTo(this.longest) < 0 ? pause : this.longest;
  }
}
