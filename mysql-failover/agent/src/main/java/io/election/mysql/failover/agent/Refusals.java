package io.election.mysql.failover.agent;

import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Set;
import java.util.stream.Stream;

/** Describes failures of logins, with their remedies. */
final class Refusals {

  /** Access denied, with and without a password; a locked account; an expired password. */
  private static final Set<Integer> CODES = Set.of(1045, 1698, 3118, 1820, 1862);

  private Refusals() {}

  /**
   * Returns a failure to log in with its remedy, or the failure itself if it is of another kind.
   *
   * @param properties the properties that contain the credentials
   */
  static SQLException explain(SQLException failure, String server, String user, String properties) {
    return CODES.contains(failure.getErrorCode())
        ? new SQLException(
            "%s rejects the login of '%s' (%s): compare %s with the user on the server, or ALTER USER '%2$s'@'…' ACCOUNT UNLOCK PASSWORD EXPIRE NEVER"
                .formatted(server.replaceAll("\\?.*", ""), user, failure.getMessage(), properties),
            failure)
        : failure;
  }

  /** Returns the message of a failure, in one line. */
  static String text(Throwable failure) {
    String message = failure.getMessage();
    return message == null || message.isBlank()
        ? failure.toString()
        : message.strip().lines().findFirst().orElseThrow();
  }

  static boolean isGone(SQLException failure) {
    return causes(failure)
        .anyMatch((cause) ->
            cause instanceof ConnectException || cause instanceof NoRouteToHostException);
  }

  static boolean isRefused(Exception failure) {
    return causes(failure)
        .anyMatch((cause) -> cause instanceof ConnectException
            && String.valueOf(cause.getMessage()).contains("refused"));
  }

  private static Stream<Throwable> causes(Throwable failure) {
    return Stream.iterate(failure, Objects::nonNull, Throwable::getCause);
  }
}
