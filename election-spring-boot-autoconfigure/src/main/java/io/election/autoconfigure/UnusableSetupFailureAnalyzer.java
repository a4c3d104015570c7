package io.election.autoconfigure;

import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Tells what {@link UnusableSetupException} found, and what to do. */
final class UnusableSetupFailureAnalyzer extends AbstractFailureAnalyzer<UnusableSetupException> {

  @Override
  protected FailureAnalysis analyze(Throwable rootFailure, UnusableSetupException cause) {
    return new FailureAnalysis(cause.found() + ".", cause.remedy(), cause);
  }
}
