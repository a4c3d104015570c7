package io.election.benchmarks.candidates;

import io.election.benchmarks.servers.Backend;
import java.time.Duration;
import java.util.Locale;
import java.util.function.Function;

/** The candidates that are measured. */
public enum CandidateKind {
  /** The starter of this repository. */
  ELECTION(
      "election", Backend.MYSQL, Duration.ofSeconds(10), Duration.ofSeconds(2), OurCandidate::new),
  /** One statement a second, as copied from project to project. Takes over after five seconds. */
  HAND_WRITTEN(
      "hand-written SQL",
      Backend.MYSQL,
      Duration.ofSeconds(5),
      Duration.ofMillis(1500),
      HandWrittenCandidate::new),
  /** {@code LockRegistryLeaderInitiator} over JDBC. */
  SPRING_INTEGRATION(
      "Spring Integration",
      Backend.MYSQL,
      Duration.ofSeconds(10),
      Duration.ofMillis(500),
      SpringIntegrationCandidate::new),
  /** A job every 100 ms. It has no default lease. */
  SHEDLOCK(
      "ShedLock", Backend.MYSQL, Duration.ZERO, Duration.ofMillis(100), ShedLockCandidate::new),
  /**
   * {@code LeaderLatch}. It asks for 60 s, of which ZooKeeper with its sample settings grants 40 s.
   */
  CURATOR(
      "Curator LeaderLatch",
      Backend.ZOOKEEPER,
      Duration.ofSeconds(40),
      Duration.ofSeconds(20),
      CuratorCandidate::new),
  /** An etcd election. jetcd has no default lease, so this uses the one of etcd's own Go client. */
  JETCD(
      "jetcd election",
      Backend.ETCD,
      Duration.ofSeconds(60),
      Duration.ofSeconds(20),
      JetcdCandidate::new);

  private final String title;

  private final Backend backend;

  private final Duration defaultLease;

  private final Duration defaultRenew;

  private final Function<CandidateSettings, Candidate> constructor;

  CandidateKind(
      String title,
      Backend backend,
      Duration defaultLease,
      Duration defaultRenew,
      Function<CandidateSettings, Candidate> constructor) {
    this.title = title;
    this.backend = backend;
    this.defaultLease = defaultLease;
    this.defaultRenew = defaultRenew;
    this.constructor = constructor;
  }

  /**
   * Returns the name in tables.
   *
   * @return the name
   */
  public String title() {
    return this.title;
  }

  /**
   * Returns the kind of server that it elects on.
   *
   * @return the server
   */
  public Backend backend() {
    return this.backend;
  }

  /**
   * Returns the default time after which it replaces a silent leader.
   *
   * @return the lease; zero if there is no default
   */
  public Duration defaultLease() {
    return this.defaultLease;
  }

  /**
   * Returns the default interval at which it renews its lease.
   *
   * @return the interval
   */
  public Duration defaultRenew() {
    return this.defaultRenew;
  }

  /**
   * Returns the name in options and files.
   *
   * @return for example {@code hand-written}
   */
  public String id() {
    return name().toLowerCase(Locale.ROOT).replace('_', '-');
  }

  /**
   * Returns the candidate with a name.
   *
   * @param id the name in options and files
   * @return the candidate
   */
  public static CandidateKind of(String id) {
    return valueOf(id.toUpperCase(Locale.ROOT).replace('-', '_'));
  }

  Candidate create(CandidateSettings settings) {
    return this.constructor.apply(settings);
  }
}
