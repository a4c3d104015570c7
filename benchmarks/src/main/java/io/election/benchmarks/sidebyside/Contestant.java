package io.election.benchmarks.sidebyside;

import io.election.benchmarks.candidates.CandidateKind;
import io.election.benchmarks.candidates.CandidateNode;
import io.election.benchmarks.candidates.CandidateSettings;
import io.election.benchmarks.candidates.CrowdNode;
import io.election.benchmarks.servers.Server;
import io.election.benchmarks.servers.Server.Place;
import io.election.lease.LeaseStoreException;
import io.election.mysql.ElectionDatabase;
import io.election.mysql.MysqlLeaseStore;
import io.election.test.Signal;
import io.election.test.process.Claim;
import io.election.test.process.Node;
import io.election.test.process.NodeProcess;
import io.election.test.process.TcpProxy;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.awaitility.core.ConditionTimeoutException;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.util.FileSystemUtils;

/** The processes of one candidate. */
final class Contestant implements AutoCloseable {

  private final CandidateSettings settings;

  private final Place place;

  private final Path folder;

  private final List<NodeProcess> nodes = new ArrayList<>();

  private final Map<NodeProcess, TcpProxy> proxies = new HashMap<>();

  /**
   * Creates a contestant without processes.
   *
   * @param kind the candidate
   * @param timing its lease and renew interval
   * @param server the server that it elects on
   * @param group the prefix of its elections' names
   * @param elections the number of elections
   */
  Contestant(CandidateKind kind, Timing timing, Server server, String group, int elections) {
    this.place = server.newPlace();
    this.settings = new CandidateSettings(
        kind,
        "",
        "",
        this.place.username(),
        this.place.password(),
        timing.lease(kind),
        timing.renew(kind),
        timing == Timing.DEFAULTS,
        group,
        elections);
    try {
      this.folder = Files.createTempDirectory("side-by-side-" + kind.id() + "-");
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  NodeProcess add(String name) {
    return add(node(name, CandidateNode.class), "question=false");
  }

  /** Adds a process that measures the cost of a leadership query. */
  NodeProcess addWithQuestion(String name) {
    return add(
        node(name, CandidateNode.class).withJvmOption("-XX:TieredStopAtLevel=4"), "question=true");
  }

  /** Adds a process with many followers. */
  NodeProcess addCrowd(String name, int size) {
    return add(node(name, CrowdNode.class).withJvmOption("-Xmx1g"), "crowd=" + size);
  }

  /** Adds a process with many nodes, too many for a proxy. */
  NodeProcess addStorm(String name, int size, Duration start) {
    Node node = node(name, CrowdNode.class).withJvmOption("-Xmx1g");
    return add(
        node,
        this.place.port(),
        "crowd=" + size,
        "start-ms=" + start.toMillis(),
        "sample-ms=50",
        // Signals would need as many connections again.
        "signals=false");
  }

  void createTables() throws LeaseStoreException {
    String address = this.place.address(this.place.port());
    ElectionDatabase database = new ElectionDatabase(
        new DriverManagerDataSource(address, this.place.username(), this.place.password()),
        address);
    Duration patience = Duration.ofSeconds(10);
    try (MysqlLeaseStore store = new MysqlLeaseStore(
        database, MysqlLeaseStore.SchemaMode.MIGRATE, patience, patience, false)) {
      store.ensureTables();
    }
  }

  private static Node node(String name, Class<?> program) {
    return new Node(name, program)
        .withJvmOption("-Xss512k")
        .withJvmOption("-Xmx192m")
        .withJvmOption("-Dlogging.config=classpath:benchmarks-quiet.xml")
        .withJvmOption("-Dlogback.configurationFile=benchmarks-quiet.xml");
  }

  private NodeProcess add(Node node, String property) {
    TcpProxy proxy = kind().backend().proxyTo(this.place.port());
    NodeProcess process = add(node, proxy.port(), property);
    this.proxies.put(process, proxy);
    return process;
  }

  private NodeProcess add(Node node, int port, String... more) {
    List<String> properties = settings(node.name(), port).arguments();
    properties.addAll(List.of(more));
    NodeProcess process = NodeProcess.start(node, this.folder, properties);
    this.nodes.add(process);
    return process;
  }

  private CandidateSettings settings(String name, int port) {
    return new CandidateSettings(
        this.settings.kind(),
        name,
        this.place.address(port),
        this.settings.username(),
        this.settings.password(),
        this.settings.lease(),
        this.settings.renew(),
        this.settings.defaults(),
        this.settings.group(),
        this.settings.elections());
  }

  CandidateKind kind() {
    return this.settings.kind();
  }

  Duration lease() {
    return this.settings.lease();
  }

  Duration renew() {
    return this.settings.renew();
  }

  List<NodeProcess> nodes() {
    return this.nodes;
  }

  /** Returns the proxy between a process and its server. */
  TcpProxy proxyOf(NodeProcess node) {
    return Objects.requireNonNull(this.proxies.get(node), node.name());
  }

  Optional<NodeProcess> leader() {
    return this.nodes.stream().filter(NodeProcess::leads).findFirst();
  }

  /** Starts the processes that have ended, and waits until all run and one leads. */
  NodeProcess awaitLeader() {
    this.nodes.stream().filter((node) -> !node.isAlive()).forEach(NodeProcess::restart);
    within(Duration.ofSeconds(90), "all nodes of " + kind().title() + " are up")
        .until(() -> this.nodes.stream().allMatch(NodeProcess::isUp));
    return within(patience(), "a node of " + kind().title() + " leads")
        .until(this::leader, Optional::isPresent)
        .orElseThrow();
  }

  /** Waits until a node other than the last leader has claimed to lead since an instant. */
  void awaitSuccessor(NodeProcess last, long since) {
    within(patience(), "a node of " + kind().title() + " succeeds " + last.name())
        .until(() -> this.nodes.stream()
            .filter((node) -> node != last)
            .flatMap((node) -> node.claims(since).stream())
            .findAny()
            .isPresent());
  }

  /** Waits until a node claims to lead after an instant, and returns the first such claim. */
  Claim awaitClaimAfter(long instant) {
    return within(patience(), "a node of " + kind().title() + " leads")
        .until(
            () -> this.nodes.stream()
                .flatMap((node) -> node.claims(instant).stream())
                .min(Comparator.comparingLong((claim) -> claim.from() - instant)),
            Optional::isPresent)
        .orElseThrow();
  }

  /** Returns how long two nodes have led at once since an instant. */
  long overlap(long since) {
    long sum = 0;
    for (int i = 0; i < this.nodes.size(); i++) {
      for (int j = i + 1; j < this.nodes.size(); j++) {
        for (Claim one : this.nodes.get(i).claims(since)) {
          for (Claim other : this.nodes.get(j).claims(since)) {
            sum += one.overlap(other, since);
          }
        }
      }
    }
    return sum;
  }

  /** Restarts all processes after a failure. */
  void restartAll() throws InterruptedException {
    for (NodeProcess node : this.nodes) {
      proxyOf(node).heal();
      node.kill();
      node.restart();
    }
  }

  /** Twice the sum of lease and renew interval, plus extra time for a busy machine. */
  Duration patience() {
    return this.settings.lease().plus(this.settings.renew()).multipliedBy(2).plusSeconds(20);
  }

  private static ConditionFactory within(Duration duration, String what) {
    return Awaitility.await(what)
        .atMost(duration)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(20));
  }

  /** Returns the last lines of each process's output. */
  String logs() {
    StringBuilder logs = new StringBuilder();
    for (NodeProcess node : this.nodes) {
      List<String> lines = node.log().lines().toList();
      logs.append("---- %s %s%n".formatted(kind().title(), node));
      lines
          .subList(Math.max(0, lines.size() - 15), lines.size())
          .forEach((line) -> logs.append(line).append('\n'));
    }
    return logs.toString();
  }

  /** Stops all processes, cleanly if possible. */
  @Override
  public void close() {
    this.nodes.forEach(NodeProcess::resume);
    this.nodes.forEach((node) -> node.signal(Signal.TERM));
    try {
      within(Duration.ofSeconds(15), kind().title() + " ends")
          .until(() -> this.nodes.stream().noneMatch(NodeProcess::isAlive));
    } catch (ConditionTimeoutException ex) {
      System.out.println(ex.getMessage());
    }
    this.nodes.forEach(NodeProcess::destroy);
    this.proxies.values().forEach(TcpProxy::close);
    try {
      FileSystemUtils.deleteRecursively(this.folder);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
