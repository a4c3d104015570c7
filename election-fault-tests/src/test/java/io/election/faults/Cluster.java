package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.TestDatabase;
import io.election.test.process.Announcement;
import io.election.test.process.Claim;
import io.election.test.process.Node;
import io.election.test.process.NodeProcess;
import io.election.test.process.SafetyJudge;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.util.FileSystemUtils;

/**
 * Processes on one database. At the end of the scenario their claims are judged exactly, since
 * safety has no tolerance. Durations have only generous bounds.
 */
final class Cluster {

  static final String SERVICE = "jobs";

  static final Duration LEASE = Duration.ofSeconds(3);

  static final Duration RENEW = Duration.ofMillis(600);

  static final Duration OPERATION_TIMEOUT = Duration.ofMillis(500);

  /** The extra time for events that must happen at some point, on a busy machine. */
  static final Duration SLACK = Duration.ofSeconds(30);

  private final TestDatabase database;

  private final Duration lease;

  private final Duration renew;

  private final Path folder;

  private final List<NodeProcess> nodes = new ArrayList<>();

  private @Nullable RowAudit audit;

  private boolean broken;

  private @Nullable Claim lost;

  private Cluster(TestDatabase database, Duration lease, Duration renew) {
    this.database = database;
    this.lease = lease;
    this.renew = renew;
    try {
      this.folder = Files.createTempDirectory("election-cluster-");
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** A scenario for a cluster that may have no leader yet. */
  @FunctionalInterface
  interface Start {

    void run(Cluster cluster) throws Exception;
  }

  /** A scenario for a cluster whose leader is known. */
  @FunctionalInterface
  interface Scenario {

    void run(Cluster cluster, NodeProcess leader) throws Exception;
  }

  /** Plays a scenario on three identical nodes, and judges what they claimed. */
  static void run(TestDatabase database, Scenario scenario) throws Exception {
    run(database, threeNodes(), scenario);
  }

  /** Plays a scenario on the given nodes, and judges what they claimed. */
  static void run(TestDatabase database, List<Node> nodes, Scenario scenario) throws Exception {
    run(database, LEASE, RENEW, nodes, scenario);
  }

  /** Plays a scenario with the given lease. */
  static void run(
      TestDatabase database, Duration lease, Duration renew, List<Node> nodes, Scenario scenario)
      throws Exception {
    start(database, lease, renew, nodes, (cluster) -> {
      NodeProcess leader = cluster.awaitLeader();
      cluster.audit = RowAudit.install(database);
      scenario.run(cluster, leader);
    });
  }

  /** Plays a scenario on running nodes that may have no leader yet. */
  static void start(
      TestDatabase database, Duration lease, Duration renew, List<Node> nodes, Start scenario)
      throws Exception {
    Cluster cluster = new Cluster(database, lease, renew);
    try {
      nodes.forEach(cluster::add);
      cluster.awaitUp();
      scenario.run(cluster);
      cluster.close();
    } catch (Exception | Error ex) {
      cluster.dump();
      cluster.nodes.forEach(NodeProcess::destroy);
      cluster.judge(ex);
      throw ex;
    }
  }

  static List<Node> threeNodes() {
    return Stream.of("a", "b", "c").map(SamplingNode::named).toList();
  }

  /** Starts a node without waiting for it. */
  NodeProcess add(Node node) {
    List<String> properties = new ArrayList<>();
    properties.add("spring.main.web-application-type=none");
    properties.add("spring.main.banner-mode=off");
    properties.add("spring.datasource.url=" + this.database.jdbcUrl());
    properties.add("spring.datasource.username=" + this.database.username());
    properties.add("spring.datasource.password=" + this.database.password());
    properties.add("spring.datasource.hikari.minimum-idle=0");
    properties.add("spring.datasource.hikari.initialization-fail-timeout=-1");
    properties.add("as.election.service-id=" + SERVICE);
    properties.add("as.election.lease-duration=" + this.lease.toMillis() + "ms");
    properties.add("as.election.renew-interval=" + this.renew.toMillis() + "ms");
    properties.add("as.election.operation-timeout=" + OPERATION_TIMEOUT.toMillis() + "ms");
    properties.add("as.election.drain-timeout=2s");
    node.properties().forEach((property) -> {
      String name = property.substring(0, property.indexOf('=') + 1);
      properties.removeIf((other) -> other.startsWith(name));
      properties.add(property);
    });
    NodeProcess process = NodeProcess.start(node, this.folder, properties);
    this.nodes.add(process);
    return process;
  }

  void awaitUp() {
    within(Duration.ofSeconds(90), "all nodes are up")
        .until(() -> this.nodes.stream().allMatch((node) -> !node.isAlive() || node.isUp()));
  }

  List<NodeProcess> nodes() {
    return this.nodes;
  }

  NodeProcess follower() {
    return this.nodes.stream()
        .filter((node) -> node.isAlive() && !node.leads())
        .findFirst()
        .orElseThrow();
  }

  NodeProcess awaitLeader() {
    return within(patience(), "a node leads")
        .until(this::leader, Optional::isPresent)
        .orElseThrow();
  }

  NodeProcess awaitLeaderOtherThan(NodeProcess last) {
    return within(patience(), "a node other than " + last + " leads")
        .until(this::leader, (leader) -> leader.isPresent() && leader.get() != last)
        .orElseThrow();
  }

  void awaitLeads(NodeProcess node) {
    within(patience(), node + " leads").until(node::leads);
  }

  void awaitNoLeader() {
    within(patience(), "nobody leads").until(() -> leader().isEmpty());
  }

  void awaitLog(NodeProcess node, String text) {
    within(Duration.ofSeconds(30), node + " logs '" + text + "'")
        .until(() -> !node.logLines(text).isEmpty());
  }

  /** Waits until the last event that a node published is a loss. */
  void awaitLoss(NodeProcess node) {
    within(Duration.ofSeconds(30), node + " announces its loss").until(() -> {
      List<Announcement> published = node.announcements(Cluster.SERVICE);
      return !published.isEmpty() && !published.get(published.size() - 1).acquired();
    });
  }

  /** Waits until the record was written {@code count} more times. */
  void awaitWrites(int count) {
    long goal = version() + count;
    within(patience().plus(this.renew.multipliedBy(2L * count)), count + " writes")
        .pollInterval(Duration.ofMillis(100))
        .until(() -> version() >= goal);
  }

  private long version() {
    String version = this.database.query(
        "SELECT version FROM leader_election WHERE service_id = '" + SERVICE + "'");
    return version != null ? Long.parseLong(version) : 0;
  }

  Optional<NodeProcess> leader() {
    return this.nodes.stream().filter(NodeProcess::leads).findFirst();
  }

  /** Waits for an event. A slow machine gets more time, since figures report durations. */
  ConditionFactory within(Duration duration, String what) {
    return Awaitility.await(what)
        .atMost(duration.plus(SLACK))
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(10));
  }

  SafetyJudge judge() {
    return new SafetyJudge(
        this.nodes.stream()
            .flatMap((node) -> node.claims().stream())
            .map((claim) -> claim.isOfOneTermWith(this.lost) ? claim.withoutTerm() : claim)
            .toList(),
        this.nodes.stream()
            .flatMap((node) -> node.announcements(Cluster.SERVICE).stream())
            .toList(),
        this.nodes.stream()
            .filter(NodeProcess::endedCleanly)
            .map(NodeProcess::name)
            .collect(Collectors.toSet()));
  }

  /**
   * Waits for a leader after a fault, and prints how long that took.
   *
   * @param fault the fault that is over
   * @param end the instant at which it ended
   */
  NodeProcess awaitRecovery(String fault, long end) {
    return awaitRecovery(fault, end, patience());
  }

  /** The same with a given patience. */
  NodeProcess awaitRecovery(String fault, long end, Duration patience) {
    NodeProcess leader = within(patience, "a node leads after: " + fault)
        .until(this::leader, Optional::isPresent)
        .orElseThrow();
    long from = judge().claims().stream()
        .filter((claim) -> claim.to() - end > 0)
        .mapToLong((claim) -> Math.max(claim.from() - end, 0))
        .min()
        .orElse(0);
    System.out.printf(
        "Measured: %s: a leader %.3f s after its end (lease %s, renew interval %s)%n",
        fault, from / 1e9, this.lease, this.renew);
    return leader;
  }

  /** Prints how long no node led between two successive claims. */
  void printGap(String what, NodeProcess last, NodeProcess next) {
    System.out.printf(
        "Measured: %s: %.3f s without a leader (lease %s, renew interval %s)%n",
        what, gapSeconds(last, next), this.lease, this.renew);
  }

  /** Returns the time from the last claim of a node to the first claim of its successor. */
  double gapSeconds(NodeProcess last, NodeProcess next) {
    long end = last.claims().get(last.claims().size() - 1).to();
    return next.claims().stream()
        .filter((claim) -> claim.from() - end > 0)
        .findFirst()
        .map((claim) -> (claim.from() - end) / 1e9)
        .orElseThrow();
  }

  /** Three times the sum of lease, poll and two operation time-outs. */
  private Duration patience() {
    return this.lease.plus(this.renew).plus(OPERATION_TIMEOUT.multipliedBy(2)).multipliedBy(3);
  }

  private void close() {
    this.nodes.stream().filter(NodeProcess::isAlive).forEach(NodeProcess::resume);
    this.nodes.stream().filter(NodeProcess::isAlive).forEach(NodeProcess::stop);
    SafetyJudge judge = judge();
    assertThat(judge.claims()).as("claims").isNotEmpty();
    if (this.broken) {
      assertThat(judge.violations()).as("violations").isNotEmpty();
    } else {
      assertThat(judge.violations()).as("violations").isEmpty();
    }
    if (this.audit != null) {
      assertThat(this.audit.falls()).as("terms and versions that fell").isEmpty();
    }
    deleteFiles();
  }

  /** Adds violations, which may be the root cause, to the failure that stopped a scenario. */
  private void judge(Throwable failure) {
    List<String> violations = judge().violations();
    if (!violations.isEmpty()) {
      failure.addSuppressed(new AssertionError("violations: " + violations));
      System.out.println("Violations: " + violations);
    }
  }

  /** Declares that the scenario breaks a rule on purpose: the end must show a broken promise. */
  void expectViolations() {
    this.broken = true;
  }

  /**
   * Declares that the database has lost a term with all its traces. Another node may lead in this
   * term, but no two nodes at the same time.
   *
   * @param claim a claim made in that term
   */
  void expectTermLost(Claim claim) {
    this.lost = claim;
  }

  /**
   * Waits until a node has led without a break for a duration. That time may already have passed.
   */
  void awaitSteady(NodeProcess node, Duration duration) {
    within(patience().plus(duration.multipliedBy(2)), node + " leads for " + duration)
        .until(() ->
            node.leads() && node.lastClaim().to() - node.lastClaim().from() > duration.toNanos());
  }

  /** Checks that a leader continues to lead in its term. */
  void staysLeader(NodeProcess leader, Duration duration) {
    Claim claim = leader.lastClaim();
    within(patience().plus(duration), leader + " goes on for " + duration)
        .until(() -> leader.lastClaim().to() - claim.to() > duration.toNanos()
            || leader.lastClaim().term() != claim.term());
    assertThat(leader.lastClaim().term()).as("term of the leader").isEqualTo(claim.term());
  }

  private void deleteFiles() {
    try {
      FileSystemUtils.deleteRecursively(this.folder);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** Prints the logs of all nodes after a failed test. */
  private void dump() {
    this.nodes.forEach((node) -> System.out.println("---- " + node + "\n" + node.log()));
  }
}
