package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.TestDatabase;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.springframework.util.FileSystemUtils;

/**
 * Three processes on one database. What they claim is judged when it is closed: exactly, since
 * safety has no tolerance. How long something takes is only ever bounded generously.
 */
final class Cluster implements AutoCloseable {

  static final String SERVICE = "jobs";

  static final Duration LEASE = Duration.ofSeconds(3);

  static final Duration RENEW = Duration.ofMillis(600);

  private static final Duration OPERATION_TIMEOUT = Duration.ofMillis(500);

  private final TestDatabase database;

  private final Duration lease;

  private final Duration renew;

  private final Path folder;

  private final List<NodeProcess> nodes = new ArrayList<>();

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

  /** Starts three nodes, and waits until one of them leads. */
  static Cluster start(TestDatabase database) {
    return start(database, LEASE, RENEW);
  }

  static Cluster start(TestDatabase database, Duration lease, Duration renew) {
    Cluster cluster = new Cluster(database, lease, renew);
    try {
      for (String name : List.of("a", "b", "c")) {
        cluster.add(name, name);
      }
      cluster.awaitUp();
      cluster.awaitLeader();
      return cluster;
    } catch (RuntimeException | Error ex) {
      cluster.destroy();
      throw ex;
    }
  }

  /** Starts a node without waiting for it. */
  NodeProcess add(String name, String nodeId) {
    NodeProcess node = NodeProcess.start(
        name,
        this.folder,
        List.of(
            "spring.main.web-application-type=none",
            "spring.main.banner-mode=off",
            "spring.datasource.url=" + this.database.jdbcUrl(),
            "spring.datasource.username=" + this.database.username(),
            "spring.datasource.password=" + this.database.password(),
            "spring.datasource.hikari.minimum-idle=0",
            "spring.datasource.hikari.initialization-fail-timeout=-1",
            "as.election.service-id=" + SERVICE,
            "as.election.node-id=" + nodeId,
            "as.election.lease-duration=" + this.lease.toMillis() + "ms",
            "as.election.renew-interval=" + this.renew.toMillis() + "ms",
            "as.election.mysql.operation-timeout=" + OPERATION_TIMEOUT.toMillis() + "ms",
            "as.election.drain-timeout=2s"));
    this.nodes.add(node);
    return node;
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

  /** Waits until a node leads. */
  NodeProcess awaitLeader() {
    return within(patience(), "a node leads")
        .until(this::leader, Optional::isPresent)
        .orElseThrow();
  }

  /** Waits until a node leads that is not the one named. */
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

  Optional<NodeProcess> leader() {
    return this.nodes.stream().filter(NodeProcess::leads).findFirst();
  }

  ConditionFactory within(Duration duration, String what) {
    return Awaitility.await(what)
        .atMost(duration)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(10));
  }

  History history() {
    return new History(
        this.nodes.stream().flatMap((node) -> node.claims().stream()).toList());
  }

  /** Prints how long nobody led between two claims that follow each other. */
  void printGap(String what, NodeProcess last, NodeProcess next) {
    System.out.printf(
        "Measured: %s: %.3f s without a leader (lease %s, renew interval %s)%n",
        what, gapSeconds(last, next), this.lease, this.renew);
  }

  /** From the last claim of a node to the first one of its successor. */
  double gapSeconds(NodeProcess last, NodeProcess next) {
    long end = last.claims().get(last.claims().size() - 1).to();
    return next.claims().stream()
        .filter((claim) -> claim.from() - end > 0)
        .findFirst()
        .map((claim) -> (claim.from() - end) / 1e9)
        .orElseThrow();
  }

  /** Lease, poll and two operation time-outs, three times. */
  private Duration patience() {
    return this.lease.plus(this.renew).plus(OPERATION_TIMEOUT.multipliedBy(2)).multipliedBy(3);
  }

  /** Ends all nodes and judges what they claimed. */
  @Override
  public void close() {
    this.nodes.stream().filter(NodeProcess::isAlive).forEach(NodeProcess::resume);
    this.nodes.stream().filter(NodeProcess::isAlive).forEach(NodeProcess::stop);
    History history = history();
    assertThat(history.claims()).as("claims").isNotEmpty();
    assertThat(history.violations()).as("violations").isEmpty();
    deleteFiles();
  }

  private void deleteFiles() {
    try {
      FileSystemUtils.deleteRecursively(this.folder);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  private void destroy() {
    this.nodes.forEach((node) -> {
      System.out.println("---- " + node + "\n" + node.log());
      node.destroy();
    });
  }

  /** Prints the logs of all nodes, for a test that failed. */
  void dump() {
    this.nodes.forEach((node) -> System.out.println("---- " + node + "\n" + node.log()));
  }
}
