package io.election.autoconfigure;

import io.election.store.LeaseStoreException;
import org.springframework.boot.diagnostics.AbstractFailureAnalyzer;
import org.springframework.boot.diagnostics.FailureAnalysis;

/** Explains why a start with {@code as.election.fail-fast} failed. */
final class StoreUnavailableFailureAnalyzer extends AbstractFailureAnalyzer<LeaseStoreException> {

  @Override
  protected FailureAnalysis analyze(Throwable rootFailure, LeaseStoreException cause) {
    return new FailureAnalysis(
        cause.getMessage(),
        "Fix this, or set as.election.fail-fast=false: then the node starts as a follower, and joins the election as soon as the store answers.",
        cause);
  }
}
