package io.election.benchmarks.sidebyside;

import io.election.support.Signal;
import io.election.support.process.Claim;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import io.election.support.process.SafetyJudge;
import io.election.support.process.TcpProxy;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
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
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.awaitility.core.ConditionTimeoutException;
import org.springframework.util.FileSystemUtils;

/** The processes of one candidate. */
final class Contestant implements AutoCloseable {

  /** Nodes are started with the first compiler alone, which starts fastest. */
  private static final String OPTIMISED = "-XX:TieredStopAtLevel=4";

  final CandidateKind kind;

  final Duration lease;

  final Duration renew;

  /** The server and the credentials of the processes. */
  final CandidateSettings settings;

  final Server server;

  private final Path folder;

  private final List<NodeProcess> nodes = new ArrayList<>();

  private final Map<NodeProcess, TcpProxy> proxies = new HashMap<>();

  private final Map<NodeProcess, Traffic> traffic = new HashMap<>();

  /**
   * Creates a contestant without processes.
   *
   * @param group the prefix of its elections' names
   */
  Contestant(CandidateKind kind, Timing timing, Server server, String group, int elections) {
    this.kind = kind;
    this.lease = timing.lease(kind);
    this.renew = timing.renew(kind);
    this.server = server;
    this.settings = new CandidateSettings(kind, timing, "", server.newPlace(), group, elections);
    try {
      this.folder = Files.createTempDirectory("side-by-side-" + kind.id() + "-");
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  NodeProcess add(String name, String... options) {
    String host = this.server.host(this.nodes.size());
    Traffic traffic = new Traffic();
    TcpProxy proxy = this.kind.backend.proxyTo(
        new InetSocketAddress(host, this.settings.place().port()), traffic);
    boolean question = List.of(options).contains("question");
    List<String> jvm = question ? List.of("-Xmx192m", OPTIMISED) : List.of("-Xmx192m");
    NodeProcess process = start(name, proxy.port(), jvm, options);
    this.proxies.put(process, proxy);
    this.traffic.put(process, traffic);
    return process;
  }

  /** Adds a process with many nodes, too many for a proxy. */
  NodeProcess addWithoutProxy(String name, String... options) {
    List<String> jvm = List.of("-Xms2500m", "-Xmx2500m", "-Xmn1800m", OPTIMISED);
    return start(name, this.settings.place().port(), jvm, options);
  }

  private NodeProcess start(String name, int port, List<String> jvm, String... options) {
    Node node = new Node(name, CandidateNode.class)
        .withJvmOption("-Xss512k")
        .withJvmOption("-Dlogging.config=classpath:benchmarks-quiet.xml")
        .withJvmOption("-Dlogback.configurationFile=benchmarks-quiet.xml")
        .withJvmOptions(jvm);
    String settings = "settings=" + this.settings.of(name, port);
    String password = CandidateSettings.PASSWORD + "=" + this.settings.place().password();
    NodeProcess process = NodeProcess.start(
        node,
        this.folder,
        Stream.concat(Stream.of(settings, password), Stream.of(options)).toList());
    this.nodes.add(process);
    return process;
  }

  List<NodeProcess> nodes() {
    return this.nodes;
  }

  /** Returns the proxy between a process and its server. */
  TcpProxy proxyOf(NodeProcess node) {
    return Objects.requireNonNull(this.proxies.get(node), node.name());
  }

  /**
   * Returns the kinds of requests that the proxy between a process and its server distinguishes.
   */
  Traffic trafficOf(NodeProcess node) {
    return Objects.requireNonNull(this.traffic.get(node), node.name());
  }

  Optional<NodeProcess> leader() {
    return this.nodes.stream().filter(NodeProcess::leads).findFirst();
  }

  /** Starts the processes that have ended, and waits until all run and one leads. */
  NodeProcess awaitLeader() {
    this.nodes.stream().filter((node) -> !node.isAlive()).forEach(NodeProcess::restart);
    within(Duration.ofMinutes(3), "all nodes are up")
        .until(() -> this.nodes.stream().allMatch(NodeProcess::isUp));
    return within(patience(), "a node leads")
        .until(this::leader, Optional::isPresent)
        .orElseThrow();
  }

  /** Returns the first claim to lead after an instant of a node other than the given ones. */
  Optional<Claim> claimAfter(long instant, NodeProcess... others) {
    return this.nodes.stream()
        .filter((node) -> !List.of(others).contains(node))
        .flatMap((node) -> node.claims(instant).stream())
        .min(Comparator.comparingLong((claim) -> claim.from() - instant));
  }

  Claim awaitClaimAfter(long instant, NodeProcess... others) {
    return within(patience(), "a node leads")
        .until(() -> claimAfter(instant, others), Optional::isPresent)
        .orElseThrow();
  }

  /** Returns how long two nodes have led at once since an instant. */
  long overlap(long since) {
    List<Claim> claims =
        this.nodes.stream().flatMap((node) -> node.claims(since).stream()).toList();
    return new SafetyJudge(claims)
        .overlaps().stream()
            .mapToLong((pair) -> pair.first().overlap(pair.second(), since))
            .sum();
  }

  void restartAll() {
    for (NodeProcess node : this.nodes) {
      proxyOf(node).heal();
      node.kill();
      node.restart();
    }
  }

  /** Twice the sum of lease and renew interval, plus extra time for a busy machine. */
  private Duration patience() {
    return this.lease.plus(this.renew).multipliedBy(2).plusSeconds(20);
  }

  ConditionFactory within(Duration duration, String what) {
    return Awaitility.await(this.kind.title + ": " + what)
        .atMost(duration)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(20));
  }

  String logs() {
    StringBuilder logs = new StringBuilder();
    for (NodeProcess node : this.nodes) {
      List<String> lines = node.log().lines().toList();
      logs.append("---- %s %s%n".formatted(this.kind.title, node));
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
      within(Duration.ofSeconds(15), "all nodes have ended")
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
