package io.election.mysql.failover.agent;

import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.sql.SQLException;
import java.util.Objects;
import java.util.stream.Stream;

/** Describes failures of logins, with their remedies. */
final class Refusals {

  /** Access denied; the code depends on the authentication method. */
  private static final int ACCESS_DENIED = 1045;

  private static final int ACCESS_DENIED_WITHOUT_PASSWORD = 1698;

  private static final int ACCOUNT_LOCKED = 3118;

  /** An expired password: the server refuses statements, or the login. */
  private static final int MUST_CHANGE_PASSWORD = 1820;

  private static final int PASSWORD_EXPIRED = 1862;

  private Refusals() {}

  /**
   * Returns a failure to log in with its remedy, or the failure itself if it is of another kind.
   *
   * @param properties the properties that contain the credentials
   */
  static SQLException explain(SQLException failure, String server, String user, String properties) {
    String remedy = switch (failure.getErrorCode()) {
      case ACCESS_DENIED, ACCESS_DENIED_WITHOUT_PASSWORD ->
        "compare " + properties + " with the user on the server";
      case ACCOUNT_LOCKED -> "ALTER USER '%s'@'…' ACCOUNT UNLOCK on the server".formatted(user);
      case MUST_CHANGE_PASSWORD, PASSWORD_EXPIRED ->
        "ALTER USER '%s'@'…' PASSWORD EXPIRE NEVER on the server, or give it a new password and change %s"
            .formatted(user, properties);
      default -> "";
    };
    return remedy.isEmpty()
        ? failure
        : new SQLException(
            "%s rejects the login of '%s' (%s): %s"
                .formatted(server.replaceAll("\\?.*", ""), user, failure.getMessage(), remedy),
            failure.getSQLState(),
            failure.getErrorCode(),
            failure);
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
