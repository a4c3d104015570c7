package io.election.benchmarks.sidebyside;

import java.time.Duration;
import java.util.Locale;
import java.util.function.Function;

/** The candidates that are measured, with their default lease and renew interval. */
enum CandidateKind {
  /** The starter of this repository. */
  ELECTION("election", Backend.MYSQL, 10_000, 2000, OurCandidate::new),
  ELECTION_ZOOKEEPER("election over ZooKeeper", Backend.ZOOKEEPER, 10_000, 2000, OurCandidate::new),
  ELECTION_ETCD("election over etcd", Backend.ETCD, 10_000, 2000, OurCandidate::new),
  /** One statement a second, as copied from project to project. Takes over after five seconds. */
  HAND_WRITTEN("hand-written SQL", Backend.MYSQL, 5000, 1500, HandWrittenCandidate::new),
  /** {@code LockRegistryLeaderInitiator} over JDBC. */
  SPRING_INTEGRATION(
      "Spring Integration", Backend.MYSQL, 10_000, 500, SpringIntegrationCandidate::new),
  /** A job every 100 ms. It has no default lease. */
  SHEDLOCK("ShedLock", Backend.MYSQL, 0, 100, ShedLockCandidate::new),
  /**
   * {@code LeaderLatch}. It asks for 60 s, of which ZooKeeper with its sample settings grants 40 s.
   */
  CURATOR("Curator LeaderLatch", Backend.ZOOKEEPER, 40_000, 20_000, CuratorCandidate::new),
  /** An etcd election. jetcd has no default lease, so this uses the one of etcd's own Go client. */
  JETCD("jetcd election", Backend.ETCD, 60_000, 20_000, JetcdCandidate::new),
  ELECTION_POSTGRESQL("election, PostgreSQL", Backend.POSTGRESQL, 10_000, 2000, OurCandidate::new),
  SPRING_INTEGRATION_POSTGRESQL(
      "Spring Int., PostgreSQL", Backend.POSTGRESQL, 10_000, 500, SpringIntegrationCandidate::new),
  SHEDLOCK_POSTGRESQL("ShedLock, PostgreSQL", Backend.POSTGRESQL, 0, 100, ShedLockCandidate::new),
  /** A lock of a session, which has no lease. */
  ADVISORY_LOCK("advisory lock", Backend.POSTGRESQL, 0, 1000, AdvisoryLockCandidate::new),
  ELECTION_PGBOUNCER("election, PgBouncer", Backend.PGBOUNCER, 10_000, 2000, OurCandidate::new),
  ADVISORY_LOCK_PGBOUNCER(
      "advisory lock, PgBouncer", Backend.PGBOUNCER, 0, 1000, AdvisoryLockCandidate::new),
  /** A {@code @LeaderBound} consumer. What counts is that it runs. */
  ELECTION_CONSUMER("election, @LeaderBound", Backend.MYSQL, 10_000, 2000, OurCandidate::new),
  /** The same, started and stopped by a {@code SmartLifecycleRoleController}. */
  SPRING_INTEGRATION_CONSUMER(
      "Spring Integration, role", Backend.MYSQL, 10_000, 500, SpringIntegrationCandidate::new),
  /** The same in the phase of that library's pollers, which is lower. */
  SPRING_INTEGRATION_POLLER_CONSUMER(
      "Spring Integration, poller", Backend.MYSQL, 10_000, 500, SpringIntegrationCandidate::new);

  /** The name in tables. */
  final String title;

  final Backend backend;

  final Duration defaultLease;

  final Duration defaultRenew;

  private final Function<CandidateSettings, Candidate> constructor;

  CandidateKind(
      String title,
      Backend backend,
      int defaultLeaseMillis,
      int defaultRenewMillis,
      Function<CandidateSettings, Candidate> constructor) {
    this.title = title;
    this.backend = backend;
    this.defaultLease = Duration.ofMillis(defaultLeaseMillis);
    this.defaultRenew = Duration.ofMillis(defaultRenewMillis);
    this.constructor = constructor;
  }

  /** Returns the name in options and files, for example {@code hand-written}. */
  String id() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  static CandidateKind of(String id) {
    return valueOf(id.toUpperCase(Locale.ROOT).replace('-', '_'));
  }

  /** Returns whether it is this repository's. */
  boolean isOurs() {
    return name().startsWith(ELECTION.name());
  }

  boolean isShedLock() {
    return name().startsWith(SHEDLOCK.name());
  }

  /** Returns whether a consumer runs where the leader is. */
  boolean isConsumer() {
    return name().endsWith("_CONSUMER");
  }

  Candidate create(CandidateSettings settings) {
    return this.constructor.apply(settings);
  }
}
