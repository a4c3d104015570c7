package io.election.autoconfigure.jdbc;

import org.jspecify.annotations.Nullable;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/**
 * Names both properties where Flyway refuses a schema that is not empty. Flyway names only the
 * first, which alone makes it take version 1 for done.
 */
final class FlywayBaselineFailureAnalyzer extends AbstractFailureAnalyzer<RuntimeException> {

  @Override
  protected @Nullable FailureAnalysis analyze(Throwable rootFailure, RuntimeException cause) {
    for (Throwable each = cause; each != null; each = each.getCause()) {
      String message = each.getMessage();
      if (message != null
          && each.getClass().getName().startsWith("org.flywaydb.")
          && message.contains("non-empty schema")) {
        return new FailureAnalysis(message, """
            If nothing in that schema was made by your migrations (for instance because only the tables leader_election… and those of other services are there), set both
            spring.flyway.baseline-on-migrate=true
            spring.flyway.baseline-version=0
            or, on a Flyway of your own, baselineOnMigrate(true) and baselineVersion("0"). The first alone lets Flyway take version 1 for done and skip it; with both it skips only migrations of version 0, so give such a migration a higher version first.\
            """, each);
      }
    }
    return null;
  }
}
