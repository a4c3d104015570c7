package io.election.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.process.LocalSampler;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.Callable;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** The way from an election by ephemeral nodes to ours, node by node, and back. */
@Tag("long")
class BesideSeedIT {

  private static final String ROOT = "/soa/master/services";
  private static final String KEY = "AccountService:1.0.0";

  private Zookeeper server;
  private ZooKeeper hand;

  @AutoClose
  private final LocalSampler sampler = new LocalSampler();

  @BeforeEach
  void start() throws Exception {
    this.server = Zookeeper.start();
    this.hand = this.server.connect();
    for (String path : List.of("/soa", "/soa/master", ROOT)) {
      this.hand.create(path, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    }
  }

  @AfterEach
  void stop() throws Exception {
    this.hand.close();
    this.server.close();
  }

  private Node ours(String id) {
    Node node = new Node(id, this.server.connectString(), ROOT, KEY);
    this.sampler.add(id, node.election());
    return node;
  }

  private SeedService seed(String address) {
    SeedService service = new SeedService(this.server, address, KEY);
    this.sampler.add(address, (log) -> service.sample(KEY, log));
    return service;
  }

  private static void await(String what, Callable<Boolean> condition) {
    Awaitility.await(what).atMost(Duration.ofMinutes(1)).until(condition);
  }

  private void assertOneLeaderAtATime() {
    assertThat(this.sampler.judge().violations()).isEmpty();
  }

  @Test
  void forwardOursTakeOverAfterTheLastSeedHasGone() throws Exception {
    SeedService first = seed("192.168.99.100:9090");
    await("a seed leads", () -> first.isMaster(KEY));
    SeedService second = seed("192.168.99.101:9090");

    try (Node a = ours("a");
        Node b = ours("b")) {
      await(
          "ours know the leader",
          () -> a.election().leaderId().filter("192.168.99.100:9090"::equals).isPresent());
      first.close();
      await("the next seed leads", () -> second.isMaster(KEY));
      await(
          "ours know it",
          () -> b.election().leaderId().filter("192.168.99.101:9090"::equals).isPresent());
      await("ours have waited for longer than a lease", waited());
      assertThat(a.leads() || b.leads()).isFalse();

      second.close();
      await("one of ours leads", () -> a.leads() || b.leads());
      SeedService late = seed("192.168.99.102:9090");
      await("a renewal", waited());
      assertThat(late.isMaster(KEY)).isFalse();
      late.close();
    }
    assertOneLeaderAtATime();
  }

  private static Callable<Boolean> waited() {
    long begin = System.nanoTime();
    long time =
        Node.SETTINGS.leaseDuration().plus(Node.SETTINGS.renewInterval()).toNanos();
    return () -> System.nanoTime() - begin > time;
  }

  @Test
  void backTheSeedsElectAfterTheRecordWasDeleted() throws Exception {
    Node a = ours("a");
    await("ours lead", a::leads);
    a.close();
    // A seed that was started before misses the deletion: its watch ends with the first change.
    SeedService first = seed("192.168.99.100:9090");
    SeedService second = seed("192.168.99.101:9090");

    await("nobody leads", waited());
    assertThat(first.isMaster(KEY) || second.isMaster(KEY)).isFalse();
    assertThat(this.hand.exists(ROOT + "/" + KEY, false)).isNotNull();

    this.server.type("delete", ROOT + "/" + KEY);
    await("a seed leads", () -> first.isMaster(KEY) || second.isMaster(KEY));
    assertThat(new String(this.hand.getData(ROOT + "/" + KEY, false, null), UTF_8))
        .startsWith("192.168.99.10");
    assertThat(this.hand.getChildren(ROOT + "/~terms/" + KEY, false))
        .as("history")
        .isNotEmpty();
    first.close();
    second.close();
    assertOneLeaderAtATime();
  }
}
