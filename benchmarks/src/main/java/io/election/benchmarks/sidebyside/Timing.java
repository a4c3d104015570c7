package io.election.benchmarks.sidebyside;

import io.election.benchmarks.candidates.CandidateKind;
import java.time.Duration;
import java.util.Locale;

/** How long leases last. */
enum Timing {
  /** The same for all: 5 s, confirmed each second where that can be set. */
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
  /** What each has if nothing is set. */
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
