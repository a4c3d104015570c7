package io.election.benchmarks.sidebyside;

import java.time.Duration;
import java.util.Locale;

/** The lease and renew interval of a measurement. */
enum Timing {
  /** The same for all candidates: a lease of 5 s, renewed each second where that can be set. */
  EQUAL(5000, 1000),
  /** The same for all candidates, and short. */
  QUICK(3000, 500),
  DEFAULTS(0, 0);

  private final Duration lease;

  private final Duration renew;

  Timing(int leaseMillis, int renewMillis) {
    this.lease = Duration.ofMillis(leaseMillis);
    this.renew = Duration.ofMillis(renewMillis);
  }

  /** Returns zero if these are defaults and the candidate has none. */
  Duration lease(CandidateKind kind) {
    return this == DEFAULTS ? kind.defaultLease : this.lease;
  }

  Duration renew(CandidateKind kind) {
    return this == DEFAULTS ? kind.defaultRenew : this.renew;
  }

  String id() {
    return name().toLowerCase(Locale.ROOT);
  }
}
