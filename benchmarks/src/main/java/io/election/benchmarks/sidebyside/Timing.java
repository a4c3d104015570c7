package io.election.benchmarks.sidebyside;

import io.election.benchmarks.candidates.CandidateKind;
import java.time.Duration;
import java.util.Locale;

/** The lease and renew interval of a measurement. */
enum Timing {
  /** The same for all candidates: a lease of 5 s, renewed each second where that can be set. */
  EQUAL {
    @Override
    Duration lease(CandidateKind kind) {
      return Duration.ofSeconds(5);
    }

    @Override
    Duration renew(CandidateKind kind) {
      return Duration.ofSeconds(1);
    }
  },
  /** The defaults of each candidate. */
  DEFAULTS {
    @Override
    Duration lease(CandidateKind kind) {
      return kind.defaultLease();
    }

    @Override
    Duration renew(CandidateKind kind) {
      return kind.defaultRenew();
    }
  };

  abstract Duration lease(CandidateKind kind);

  abstract Duration renew(CandidateKind kind);

  String id() {
    return name().toLowerCase(Locale.ROOT);
  }
}
