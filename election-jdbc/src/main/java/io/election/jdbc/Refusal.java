package io.election.jdbc;

import java.io.IOException;
import java.security.cert.CertificateException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Set;
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
  LOGIN(Set.of("1045", "1698", "28P01"), 30, 480, 0),

  /** The password may be right, but the account or this host may not connect. */
  ACCOUNT(
      Set.of(
          "1044", "1129", "1130", "1251", "1524", "1820", "1862", "3118", "3879", "3955", "4150",
          "4151", "42501"),
      30,
      30,
      0),

  /** The client does not trust the server's certificate, or it is not valid by the client's clock. */
  CERTIFICATE(Set.of(), 30, 30, 0),

  /** The account has used up what it may do in an hour. */
  QUOTA(Set.of(), 30, 30, 0),

  /**
   * No connection is left. Whoever cannot do without one tries again; who can leaves it to others.
   */
  CROWDED(Set.of("1040", "1203", "53300"), 0, 0, 300);

  /** Errors that the driver itself raises have no number, or with MariaDB's driver a negative one. */
  private static final int HIGHEST_OF_DRIVER = 0;

  @SuppressWarnings("ImmutableEnumChecker") // Set.of is immutable
  private final Set<String> codes;

  private final Duration first;

  private final Duration longest;

  private final Duration spare;

  Refusal(Set<String> codes, long first, long longest, long spare) {
    this.codes = codes;
    this.first = Duration.ofSeconds(first);
    this.longest = Duration.ofSeconds(longest);
    this.spare = Duration.ofSeconds(spare);
  }

  /**
   * Classifies a failure to connect.
   *
   * @param ofDriver whether the driver itself threw it, and not a pool or other code in between
   * @return the refusal; {@code null} if it is none
   */
  static @Nullable Refusal of(Throwable failure, boolean ofDriver) {
    String key = SqlErrors.key(failure);
    if (key.equals(SqlErrors.USER_LIMIT)) {
      return SqlErrors.text(failure).contains("max_user_connections") ? CROWDED : QUOTA;
    }
    for (Refusal refusal : values()) {
      if (refusal.codes.contains(key)) {
        return refusal;
      }
    }
    if (SqlErrors.has(failure, CertificateException.class)) {
      return CERTIFICATE;
    }
    boolean brokenOff = ofDriver
        && SqlErrors.code(failure) <= HIGHEST_OF_DRIVER
        && !SqlErrors.ofServer(SqlErrors.sqlState(failure))
        && failure instanceof SQLException
        && !SqlErrors.has(failure, IOException.class);
    return brokenOff || SqlErrors.sqlState(failure).startsWith("28") ? LOGIN : null;
  }

  /**
   * Returns how long the same login is not sent again.
   *
   * @param earlier how many refusals came before this one
   * @return the pause, before it is spread; it doubles with each refusal where each one counts
   */
  Duration pause(int earlier) {
    Duration pause = this.first.multipliedBy(1L << Math.min(earlier, 10));
    return pause.compareTo(this.longest) < 0 ? pause : this.longest;
  }

  /** Returns how long callers that can do without a connection do not ask for one. */
  Duration sparePause() {
    return this.spare;
  }
}
