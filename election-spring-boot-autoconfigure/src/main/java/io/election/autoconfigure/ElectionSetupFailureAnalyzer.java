package io.election.autoconfigure;

import io.election.ElectionSetupException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Shows what an {@link ElectionSetupException} found and what to do about it. */
final class ElectionSetupFailureAnalyzer extends AbstractFailureAnalyzer<ElectionSetupException> {

  @Override
  protected FailureAnalysis analyze(Throwable rootFailure, ElectionSetupException cause) {
    return new FailureAnalysis(cause.found(), cause.remedy(), cause);
  }
}
