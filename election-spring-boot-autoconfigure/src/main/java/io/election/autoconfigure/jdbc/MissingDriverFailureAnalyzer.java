package io.election.autoconfigure.jdbc;

import io.election.ElectionSetupException;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Explains what to add if the application's pool, which is created first, lacks the driver of its
 * URL.
 */
final class MissingDriverFailureAnalyzer extends AbstractFailureAnalyzer<IllegalStateException> {

  private static final String MESSAGE = "Cannot load driver class: ";

  @Override
  protected @Nullable FailureAnalysis analyze(Throwable rootFailure, IllegalStateException cause) {
    String message = cause.getMessage();
    if (message == null
        || !(message.startsWith(MESSAGE + "com.mysql.")
            || message.startsWith(MESSAGE + "org.postgresql.")
            || message.startsWith(MESSAGE + "org.mariadb."))) {
      return null;
    }
    ElectionSetupException missing =
        missingDriver("this DataSource (" + message.substring(MESSAGE.length()) + ")");
    return new FailureAnalysis(missing.found(), missing.remedy(), cause);
  }

  static ElectionSetupException missingDriver(String what) {
    return new ElectionSetupException(
        "The JDBC driver for " + what + " is not on the class path.",
        "Add com.mysql:mysql-connector-j for URLs that begin with jdbc:mysql:, org.mariadb.jdbc:mariadb-java-client for those with jdbc:mariadb:, or org.postgresql:postgresql for those with jdbc:postgresql:.");
  }
}
