package io.election.mysql.failover.agent;

import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.sql.SQLException;
import java.util.Objects;
import java.util.stream.Stream;

/** Says what to do about a server that lets an agent not in. */
final class Refusals {

  /** Access denied, as the server says it for each way to log in. */
  private static final int ACCESS_DENIED = 1045;

  private static final int ACCESS_DENIED_WITHOUT_PASSWORD = 1698;

  private static final int ACCOUNT_LOCKED = 3118;

  /** The server refuses statements, or the login. */
  private static final int MUST_CHANGE_PASSWORD = 1820;

  private static final int PASSWORD_EXPIRED = 1862;

  private Refusals() {}

  /**
   * Returns the failure of a login with its remedy, or the failure itself if it is none.
   *
   * @param properties the properties that have the credentials
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
            "%s does not let the user '%s' in (%s): %s"
                .formatted(server.replaceAll("\\?.*", ""), user, failure.getMessage(), remedy),
            failure.getSQLState(),
            failure.getErrorCode(),
            failure);
  }

  /** Returns what a failure says, in one line. */
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
