package io.election.mysql.failover.agent;

import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.sql.SQLException;
import java.util.Objects;
import java.util.stream.Stream;

/** Tells failures apart. */
final class Refusals {

  private Refusals() {}

  /** Returns the message of a failure, in one line. The driver does not say that nobody listens. */
  static String text(Throwable failure) {
    if (failure instanceof SQLException refused && isRefused(refused)) {
      return "nothing listens at its address: start the server. A source that its agent could not close was shut down by its guard";
    }
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
