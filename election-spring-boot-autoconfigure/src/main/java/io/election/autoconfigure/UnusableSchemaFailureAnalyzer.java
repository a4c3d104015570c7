package io.election.autoconfigure;

import io.election.mysql.UnusableSchemaException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Tells what is wrong with the tables, and what to do. */
final class UnusableSchemaFailureAnalyzer extends AbstractFailureAnalyzer<UnusableSchemaException> {

  @Override
  protected FailureAnalysis analyze(Throwable rootFailure, UnusableSchemaException cause) {
    return new FailureAnalysis(cause.found(), cause.remedy(), cause);
  }
}
