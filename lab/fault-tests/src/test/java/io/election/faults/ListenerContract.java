package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.AuditNote;
import io.election.ElectionOperations;
import io.election.faults.Handlings.Handling;
import io.election.support.TestDatabase;
import io.election.support.process.Claim;
import io.election.support.process.LeadershipLog;
import io.election.support.process.LocalSampler;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import io.election.support.process.SafetyJudge;
import io.election.support.process.TcpProxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.api.parallel.Isolated;
import org.junit.jupiter.api.parallel.ResourceAccessMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.ResourceLockTarget;
import org.springframework.context.ApplicationContext;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.Lifecycle;

/**
 * A listener that runs where the leader is, on a real broker that gets messages all the time: none is
 * lost, and none is handled while another node leads, handles or could handle one.
 */
@ResourceLock(
    value = MoveIT.THREADS,
    mode = ResourceAccessMode.READ,
    target = ResourceLockTarget.CHILDREN)
@Order(1)
@Tag("faults")
@Isolated // a broker and its messages starve nodes whose lease is short
abstract class ListenerContract {

  private static final AuditNote NOTE = new AuditNote("test", "");

  /** How long the listener takes for a message during which the leader changes. */
  private static final long SLOW_MILLIS = 2_000;

  private final TestDatabase database = TestDatabase.newDatabase();

  private final Map<String, ConfigurableApplicationContext> nodes = new LinkedHashMap<>();

  private final Map<String, TcpProxy> proxies = new LinkedHashMap<>();

  @AutoClose
  private final LocalSampler sampler = new LocalSampler();

  @AutoClose("shutdownNow")
  private final ScheduledExecutorService producer = Executors.newSingleThreadScheduledExecutor();

  /** The number of messages that the broker has accepted. */
  private int sent;

  private Path handlings;

  /** The properties of a node, among them the beans with the listener. */
  abstract List<String> properties();

  /** The container of the listener. */
  abstract Lifecycle container(ApplicationContext node);

  /** Returns when the broker has accepted the message. */
  abstract void send(String message);

  @BeforeEach
  void createTables(@TempDir Path folder) {
    this.handlings = folder.resolve("handlings");
    Cluster.prepare(this.database);
  }

  @AfterEach
  void stop() {
    this.nodes.values().forEach(ConfigurableApplicationContext::close);
    this.proxies.values().forEach(TcpProxy::close);
  }

  @Test
  void handOversOfAllKindsLoseNoMessageAndNeverOverlap() throws Exception {
    for (String name : List.of("a", "b", "c")) {
      start(name);
    }
    produce();
    change("designation", (leader) -> election(leader).designate(follower()));
    change("forced election", (leader) -> election(leader).forceElection());
    change("container that stops itself", (leader) -> {
      Lifecycle container = container(this.nodes.get(leader));
      this.producer.execute(container::stop); // returns when the message is handled
      await("the container is stopping").until(() -> !container.isRunning());
      election(leader).designate(follower());
    });
    change("pause", (leader) -> election(leader).pause(NOTE));
    for (String name : this.nodes.keySet()) {
      election(name).resume(NOTE);
    }
    change("shutdown", (leader) -> this.nodes.remove(leader).close());
    assertNoOverlap(this.sampler.judge().claims());

    String last = awaitLeader();
    this.proxies.get(last).cut();
    awaitHandledByOtherThan(last, "cut-off database");
    assertNothingIsLost();
    this.nodes.forEach((name, node) -> assertThat(container(node).isRunning())
        .as("the listener of %s runs", name)
        .isEqualTo(election(name).isLeader()));
  }

  @Test
  @Tag("long")
  void processesThatEndLoseNoMessageAndNeverOverlap() throws Exception {
    Cluster.run(this.database, Cluster.threeNodes(this::withListener), (cluster, first) -> {
      produce();
      awaitBusy();
      first.stop();
      NodeProcess second = cluster.awaitLeaderOtherThan(first);
      awaitHandledByOtherThan(first.name(), "SIGTERM");
      awaitBusy();
      second.kill();
      awaitHandledByOtherThan(second.name(), "kill -9");
      assertNothingIsLost();
      assertNoOverlap(cluster.judge().claims());
    });
  }

  private Node withListener(Node node) {
    Node listening = node.with("test.handlings=" + this.handlings)
        // Longer than the listener takes.
        .with("as.election.drain-timeout=20s");
    for (String property : properties()) {
      listening = listening.with(property);
    }
    return listening;
  }

  private void start(String name) {
    TcpProxy proxy = TcpProxy.to(this.database);
    Node node = withListener(SamplingNode.named(name)).through(proxy);
    ConfigurableApplicationContext context =
        SamplingNode.run(this.database, node.properties().toArray(String[]::new));
    this.proxies.put(name, proxy);
    this.nodes.put(name, context);
    ElectionOperations election = election(name);
    Lifecycle container = container(context);
    this.sampler.add(name, (log) -> {
      log.sample(election);
      long before = System.nanoTime();
      long term = container.isRunning() ? Claim.NO_TERM : LeadershipLog.NOT_LEADING;
      log.sample(1, before, System.nanoTime(), term);
    });
  }

  private ElectionOperations election(String node) {
    return this.nodes.get(node).getBean(ElectionOperations.class);
  }

  private Optional<String> leader() {
    return this.nodes.keySet().stream()
        .filter((name) -> election(name).isLeader())
        .findFirst();
  }

  private String awaitLeader() {
    await("a node leads").until(() -> leader().isPresent());
    return leader().orElseThrow();
  }

  private String follower() {
    return this.nodes.keySet().stream()
        .filter((name) -> !election(name).isLeader())
        .findFirst()
        .orElseThrow();
  }

  private void produce() {
    this.producer.scheduleWithFixedDelay(() -> send(5), 0, 10, TimeUnit.MILLISECONDS);
  }

  private synchronized int send(long millis) {
    send(Handlings.message(this.sent, millis));
    return this.sent++;
  }

  /** Waits until the listener is in the middle of a message, and returns one that has to wait. */
  private int awaitBusy() {
    int slow = send(SLOW_MILLIS);
    await("a message is being handled").until(() -> Handlings.hasBegun(this.handlings, slow));
    return send(0);
  }

  private interface Change {

    void make(String leader) throws Exception;
  }

  /** Changes the leader while its listener is in the middle of a message. */
  private void change(String how, Change change) throws Exception {
    String leader = awaitLeader();
    int waiting = awaitBusy();
    change.make(leader);
    awaitHandledByOtherThan(leader, how);
    await("the next node handles what the last one had received")
        .until(() -> Handlings.hasBegun(this.handlings, waiting));
  }

  private void awaitHandledByOtherThan(String last, String how) {
    await("another node than " + last + " handles messages after: " + how).until(() -> {
      List<Handling> ended = Handlings.ended(this.handlings);
      return !ended.get(ended.size() - 1).claim().node().equals(last);
    });
    List<Claim> claims =
        Handlings.ended(this.handlings).stream().map(Handling::claim).toList();
    Claim first = claims.get(claims.size() - 1);
    for (int i = claims.size() - 1; i >= 0; i--) {
      Claim claim = claims.get(i);
      if (claim.node().equals(last)) {
        Cluster.measured(
            "%s: %s handles %.3f s after %s",
            how, first.node(), (first.from() - claim.to()) / 1e9, last);
        return;
      }
      first = claim;
    }
  }

  private void assertNoOverlap(List<Claim> others) {
    List<Claim> claims = new ArrayList<>(others);
    Map<Long, String> leaders = new HashMap<>();
    for (Handling handling : Handlings.ended(this.handlings)) {
      Claim claim = handling.claim();
      claims.add(claim);
      assertThat(claim.hasTerm()).as("%s is in a term", handling).isTrue();
      assertThat(leaders.computeIfAbsent(claim.term(), (term) -> claim.node()))
          .as("the only node that handles messages in term %d", claim.term())
          .isEqualTo(claim.node());
    }
    assertThat(new SafetyJudge(claims).overlaps())
        .as("what two nodes did at once")
        .allMatch((overlap) -> overlap.first().node().equals(overlap.second().node()));
  }

  private void assertNothingIsLost() {
    assertThat(Handlings.late(this.handlings))
        .as("what outlived the beans it needs")
        .isEmpty();
    this.producer.shutdown();
    await("the last message is sent").until(this.producer::isTerminated);
    await("all messages are handled")
        .untilAsserted(() -> assertThat(Handlings.ended(this.handlings).stream()
                .map(Handling::message)
                .collect(Collectors.toSet()))
            .hasSize(this.sent));
    Cluster.measured(
        "%d messages handled, %d of them twice",
        this.sent, Handlings.ended(this.handlings).size() - this.sent);
  }

  private static ConditionFactory await(String what) {
    return Awaitility.await(what).atMost(Cluster.SLACK).pollInterval(Duration.ofMillis(10));
  }
}
