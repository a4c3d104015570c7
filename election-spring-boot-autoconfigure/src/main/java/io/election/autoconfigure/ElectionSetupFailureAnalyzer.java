package io.election.autoconfigure;

import io.election.ElectionSetupException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Shows what {@link ElectionSetupException} found, and what to do. */
final class ElectionSetupFailureAnalyzer extends AbstractFailureAnalyzer<ElectionSetupException> {

  @Override
  protected FailureAnalysis analyze(Throwable rootFailure, ElectionSetupException cause) {
    return new FailureAnalysis(cause.found(), cause.remedy(), cause);
  }
}
