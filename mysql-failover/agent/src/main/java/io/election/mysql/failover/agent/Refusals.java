package io.election.mysql.failover.agent;

import java.net.ConnectException;
import java.net.NoRouteToHostException;
import java.sql.SQLException;
import java.util.Objects;
import java.util.stream.Stream;

/** Tells failures apart. */
final class Refusals {

  private Refusals() {}

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
