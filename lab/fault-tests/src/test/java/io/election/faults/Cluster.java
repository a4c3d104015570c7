package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.Signal;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.Announcement;
import io.election.support.process.Claim;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import io.election.support.process.SafetyJudge;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.function.UnaryOperator;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.jspecify.annotations.Nullable;
import org.springframework.util.FileSystemUtils;

/**
 * Processes on one store. At the end of the scenario their claims are judged exactly, since
 * safety has no tolerance. Durations have only generous bounds.
 */
final class Cluster {

  static final String SERVICE = "jobs";

  static final Duration LEASE = Duration.ofSeconds(3);

  static final Duration RENEW = Duration.ofMillis(600);

  static final Duration OPERATION_TIMEOUT = Duration.ofMillis(500);

  /** The extra time for events that must happen at some point, on a busy machine. */
  static final Duration SLACK = Duration.ofSeconds(30);

  private final Map<String, String> store;

  /** Is {@code null} if the store is no database. */
  private final @Nullable TestDatabase database;

  private final Duration lease;

  private final Duration renew;

  private final Path folder;

  private final List<NodeProcess> nodes = new ArrayList<>();

  private final List<NodeProcess> replaced = new ArrayList<>();

  private @Nullable RowAudit audit;

  private boolean broken;

  private boolean missesEvents;

  private @Nullable Claim lost;

  private Cluster(
      Map<String, String> store, @Nullable TestDatabase database, Duration lease, Duration renew) {
    this.store = store;
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

  static void run(TestDatabase database, Scenario scenario) throws Exception {
    run(database, threeNodes(), scenario);
  }

  static void run(TestDatabase database, List<Node> nodes, Scenario scenario) throws Exception {
    run(database, LEASE, RENEW, nodes, scenario);
  }

  static void run(
      TestDatabase database, Duration lease, Duration renew, List<Node> nodes, Scenario scenario)
      throws Exception {
    prepare(database);
    start(database, lease, renew, nodes, (cluster) -> cluster.play(scenario));
  }

  static void start(
      TestDatabase database, Duration lease, Duration renew, List<Node> nodes, Start scenario)
      throws Exception {
    start(database, lease, renew, nodes).playAll(scenario);
  }

  static void run(Map<String, String> store, Start scenarios) throws Exception {
    run(store, threeNodes(), scenarios);
  }

  static void run(Map<String, String> store, List<Node> nodes, Start scenarios) throws Exception {
    Cluster cluster = new Cluster(store, null, LEASE, RENEW);
    cluster.start(nodes);
    cluster.playAll(scenarios);
  }

  private void playAll(Start scenarios) throws Exception {
    guard((cluster) -> {
      scenarios.run(this);
      close();
    });
  }

  static Cluster start(TestDatabase database, Duration lease, Duration renew, List<Node> nodes)
      throws Exception {
    Cluster cluster = new Cluster(properties(database), database, lease, renew);
    cluster.start(nodes);
    return cluster;
  }

  /** Starts nodes, of one cluster at a time: more would keep each other from the processors. */
  private void start(List<Node> nodes) throws Exception {
    synchronized (Cluster.class) {
      guard((cluster) -> {
        nodes.forEach(this::add);
        awaitUp();
      });
    }
  }

  /** Creates missing tables: the first node waits for a lease, so that the others have started. */
  static void prepare(TestDatabase database) {
    if (!RowAudit.hasColumns(database, "service_id")) {
      database.withTables();
    }
  }

  static List<Node> threeNodes() {
    return threeNodes(UnaryOperator.identity());
  }

  static List<Node> threeNodes(UnaryOperator<Node> variant) {
    return Stream.of("a", "b", "c").map(SamplingNode::named).map(variant).toList();
  }

  /** Returns a node on several servers, each of which may be the one that accepts writes. */
  static Node on(TestDatabase database, List<? extends TestServer> servers, Node node) {
    return node.with("spring.datasource.url=" + database.jdbcUrl(servers))
        .with("as.election.operation-timeout=1s");
  }

  /** Plays a scenario after the nodes that have ended are replaced. */
  void play(Scenario scenario) throws Exception {
    for (NodeProcess ended :
        this.nodes.stream().filter((node) -> !node.isAlive()).toList()) {
      this.nodes.remove(ended);
      this.replaced.add(ended);
      String name = place(ended) + "." + this.replaced.size();
      add(ended.node().called(name).with("as.election.node-id=" + name));
    }
    awaitUp();
    NodeProcess leader = awaitLeader();
    // Leaderships that were lost while processes started on a busy machine are no part of it.
    this.nodes.forEach(NodeProcess::forgetClaims);
    if (this.database != null) {
      this.audit = RowAudit.install(this.database);
    }
    scenario.run(this, leader);
    this.nodes.stream().filter(NodeProcess::isAlive).forEach(NodeProcess::resume);
    check();
  }

  /** Returns the name of the first process in place of which this one was started. */
  static String place(NodeProcess node) {
    return node.name().replaceFirst("\\..*", "");
  }

  /** Ends all nodes if the action fails, and prints their logs. */
  void guard(Start action) throws Exception {
    try {
      action.run(this);
    } catch (Exception | Error ex) {
      this.nodes.forEach((node) -> System.out.println("---- " + node + "\n" + node.log()));
      this.nodes.forEach(NodeProcess::destroy);
      // They may be the root cause.
      List<String> violations = judge().violations();
      if (!violations.isEmpty()) {
        ex.addSuppressed(new AssertionError("violations: " + violations));
      }
      throw ex;
    }
  }

  static Map<String, String> properties(TestDatabase database, Duration lease, Duration renew) {
    return properties(properties(database), lease, renew);
  }

  /** The properties of a node that leads only while it leads in another store and in MySQL. */
  static Map<String, String> listed(Map<String, String> store, TestDatabase database) {
    Map<String, String> properties = new LinkedHashMap<>(store);
    properties.remove("spring.autoconfigure.exclude");
    properties.computeIfPresent("as.election.algorithm", (key, first) -> first + ", Mysql");
    properties.putAll(properties(database));
    return properties;
  }

  private static Map<String, String> properties(TestDatabase database) {
    return Map.of(
        "spring.datasource.url", database.jdbcUrl(),
        "spring.datasource.username", database.username(),
        "spring.datasource.password", database.password(),
        "spring.datasource.hikari.minimum-idle", "0",
        "spring.datasource.hikari.initialization-fail-timeout", "-1");
  }

  private static Map<String, String> properties(
      Map<String, String> store, Duration lease, Duration renew) {
    Map<String, String> properties = new LinkedHashMap<>(store);
    properties.put("spring.main.web-application-type", "none");
    properties.put("spring.main.banner-mode", "off");
    properties.put("as.election.service-id", SERVICE);
    properties.put("as.election.lease-duration", lease.toMillis() + "ms");
    properties.put("as.election.renew-interval", renew.toMillis() + "ms");
    properties.put("as.election.operation-timeout", OPERATION_TIMEOUT.toMillis() + "ms");
    properties.put("as.election.drain-timeout", "2s");
    return properties;
  }

  NodeProcess add(Node node) {
    Map<String, String> properties = properties(this.store, this.lease, this.renew);
    node.properties().forEach((property) -> {
      String[] pair = property.split("=", 2);
      properties.put(pair[0], pair[1]);
    });
    NodeProcess process = NodeProcess.start(
        node,
        this.folder,
        properties.entrySet().stream().map(Map.Entry::toString).toList());
    this.nodes.add(process);
    return process;
  }

  void join(Node... joining) {
    Stream.of(joining).forEach(this::add);
    awaitUp();
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
    return awaitLeaderOtherThan(null);
  }

  NodeProcess awaitLeaderOtherThan(@Nullable NodeProcess last) {
    return awaitLeader(
        last, last == null ? "a node leads" : "a node other than " + last + " leads", patience());
  }

  private NodeProcess awaitLeader(@Nullable NodeProcess last, String what, Duration patience) {
    return within(patience, what)
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
      List<Announcement> published = node.announcements(SERVICE);
      return !published.isEmpty() && !published.get(published.size() - 1).acquired();
    });
  }

  void awaitWrites(int count) {
    long goal = version() + count;
    within(patience().plus(this.renew.multipliedBy(2L * count)), count + " writes")
        .pollInterval(Duration.ofMillis(100))
        .until(() -> version() >= goal);
  }

  private long version() {
    String version = Objects.requireNonNull(this.database)
        .query("SELECT version FROM leader_election WHERE service_id = '" + SERVICE + "'");
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

  void await(String what, Callable<Boolean> condition) {
    within(Duration.ofSeconds(60), what).until(condition);
  }

  NodeProcess awaitAny(String what, Callable<Optional<NodeProcess>> search) {
    return within(Duration.ofSeconds(60), what)
        .until(search, Optional::isPresent)
        .orElseThrow();
  }

  void letPass(Duration duration) {
    long end = System.nanoTime() + duration.toNanos();
    within(duration, duration + " have passed").until(() -> System.nanoTime() - end > 0);
  }

  SafetyJudge judge() {
    List<NodeProcess> all =
        Stream.concat(this.replaced.stream(), this.nodes.stream()).toList();
    return new SafetyJudge(
        all.stream()
            .flatMap((node) -> node.claims(Long.MIN_VALUE).stream())
            .map((claim) -> claim.isOfOneTermWith(this.lost) ? claim.withoutTerm() : claim)
            .toList(),
        all.stream()
            .filter((node) -> !this.missesEvents)
            .flatMap((node) -> node.announcements(SERVICE).stream())
            .toList(),
        all.stream()
            .filter(NodeProcess::endedCleanly)
            .map(NodeProcess::name)
            .collect(Collectors.toSet()));
  }

  /** Waits for a leader after a fault that ended at an instant, and prints how long that took. */
  NodeProcess awaitRecovery(String fault, long end) {
    return awaitRecovery(fault, end, patience());
  }

  NodeProcess awaitRecovery(String fault, long end, Duration patience) {
    NodeProcess leader = awaitLeader(null, "a node leads after: " + fault, patience);
    long from = judge().claims().stream()
        .filter((claim) -> claim.to() - end > 0)
        .mapToLong((claim) -> Math.max(claim.from() - end, 0))
        .min()
        .orElse(0);
    print("%s: a leader %.3f s after its end", fault, from / 1e9);
    return leader;
  }

  void printGap(String what, NodeProcess last, NodeProcess next) {
    print("%s: %.3f s without a leader", what, gapSeconds(last, next));
  }

  /** Prints for how long nobody has led since the scenario began. */
  void printGaps(String what) {
    List<Claim> claims = this.nodes.stream()
        .flatMap((node) -> node.claims().stream())
        .sorted(Comparator.comparingLong(Claim::from))
        .toList();
    long gaps = 0;
    for (int i = 1; i < claims.size(); i++) {
      gaps += claims.get(i).from() - claims.get(i - 1).to();
    }
    print("%s: %.3f s without a leader, %d changes", what, gaps / 1e9, claims.size() - 1);
  }

  private void print(String format, Object... values) {
    measured("%s (lease %s, renew interval %s)", format.formatted(values), this.lease, this.renew);
  }

  /** Prints a figure for the documentation. */
  static void measured(String format, Object... values) {
    System.out.println("Measured: " + format.formatted(values));
  }

  /** Returns the time from the last claim of a node to the first claim of its successor. */
  double gapSeconds(NodeProcess last, NodeProcess next) {
    long end = last.lastClaim().to();
    return next.claims().stream()
        .filter((claim) -> claim.from() - end > 0)
        .findFirst()
        .map((claim) -> (claim.from() - end) / 1e9)
        .orElseThrow();
  }

  private Duration patience() {
    return this.lease.plus(this.renew).plus(OPERATION_TIMEOUT.multipliedBy(2)).multipliedBy(3);
  }

  void close() throws IOException {
    List<NodeProcess> alive = this.nodes.stream().filter(NodeProcess::isAlive).toList();
    alive.forEach(NodeProcess::resume);
    alive.forEach((node) -> node.signal(Signal.TERM));
    alive.forEach(NodeProcess::awaitEnd);
    check();
    FileSystemUtils.deleteRecursively(this.folder);
  }

  private void check() {
    SafetyJudge judge = judge();
    assertThat(judge.claims()).as("claims").isNotEmpty();
    if (this.broken) {
      assertThat(judge.violations()).as("violations").isNotEmpty();
    } else {
      assertThat(judge.violations()).as("violations").isEmpty();
    }
    if (this.audit != null) {
      assertThat(this.audit.regressions()).as("terms and versions that fell").isNull();
    }
  }

  /** Declares that events may be missing, because a node could not allocate or print them. */
  void missesEvents() {
    this.missesEvents = true;
  }

  /** Declares that the scenario breaks a rule on purpose: the end must show a broken promise. */
  void expectViolations() {
    this.broken = true;
  }

  /**
   * Declares that the term of a claim is lost with its traces, so that another node may lead in it.
   */
  void expectTermLost(Claim claim) {
    this.lost = claim;
  }

  /** Waits until a node has led without a break for a duration, which may already have passed. */
  void awaitSteady(NodeProcess node, Duration duration) {
    within(patience().plus(duration.multipliedBy(2)), node + " leads for " + duration)
        .until(() ->
            node.leads() && node.lastClaim().to() - node.lastClaim().from() > duration.toNanos());
  }

  /** Does the same for any node. */
  void awaitSteadyLeader(Duration duration) {
    within(patience().plus(duration.multipliedBy(2)), "a node leads for " + duration)
        .until(() -> leader()
            .filter((node) -> node.lastClaim().to() - node.lastClaim().from() > duration.toNanos())
            .isPresent());
  }

  void staysLeader(NodeProcess leader, Duration duration) {
    Claim claim = leader.lastClaim();
    within(patience().plus(duration), leader + " goes on for " + duration)
        .until(() -> leader.lastClaim().to() - claim.to() > duration.toNanos()
            || leader.lastClaim().term() != claim.term());
    assertThat(leader.lastClaim().term()).as("term of the leader").isEqualTo(claim.term());
  }
}
