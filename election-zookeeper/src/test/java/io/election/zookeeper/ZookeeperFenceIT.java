package io.election.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.Leadership;
import io.election.LeadershipLostEvent;
import io.election.LeadershipLostException;
import io.election.store.LeaseRow;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import io.election.support.Signal;
import io.election.test.Leases;
import java.io.BufferedReader;
import java.time.Duration;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

class ZookeeperFenceIT {

  private static final String ROOT = "/soa/master/services";
  private static final String SERVICE = "billing";

  private final Zookeeper server = Zookeeper.shared();

  private ZooKeeper client;
  private ZookeeperFence fence;

  @BeforeEach
  void start() throws Exception {
    this.client = this.server.connect();
    Zookeeper.deleteAll(this.client, "/soa");
    this.fence =
        ZookeeperLeaseStore.builder(this.server.connectString()).root(ROOT).buildFence();
    for (String path : List.of("/fenced", "/unfenced")) {
      Zookeeper.deleteAll(this.client, path);
      this.client.create(path, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    }
  }

  @AfterEach
  void stop() throws Exception {
    this.fence.close();
    this.client.close();
  }

  private static long awaitTerm(Node node) {
    Awaitility.await(node + " leads").atMost(Duration.ofMinutes(1)).until(node::leads);
    return node.election().leadership().map(Leadership::term).orElseThrow();
  }

  private String data(String path) throws Exception {
    return new String(this.client.getData(path, false, null), UTF_8);
  }

  @Test
  @Tag("long")
  void aLeaderThatWasPausedDoesNotWriteInTheTermOfTheNext() throws Exception {
    Process paused = Zookeeper.launch(FencedWork.class, this.server.connectString(), ROOT, SERVICE);
    try (BufferedReader output = paused.inputReader()) {
      awaitLine(output, "written");
      awaitLine(output, "begun");
      Signal.STOP.send(paused.toHandle());
      try (Node next = new Node("next", this.server.connectString(), ROOT, SERVICE)) {
        Op inItsTerm = this.fence.check(SERVICE, "next", awaitTerm(next));
        byte[] result = "by the next".getBytes(UTF_8);
        this.client.multi(List.of(inItsTerm, Op.setData("/fenced", result, -1)));
        this.client.setData("/unfenced", result, -1);

        Signal.CONT.send(paused.toHandle());
        paused.outputWriter().append('\n').flush();
        awaitLine(output, "refused: BADVERSION");
        paused.waitFor();

        assertThat(data("/fenced")).isEqualTo("by the next");
        assertThat(data("/unfenced")).isEqualTo("by the paused one");
        this.client.multi(List.of(inItsTerm, Op.setData("/fenced", result, -1)));
      }
    } finally {
      paused.destroyForcibly();
    }
  }

  private static void awaitLine(BufferedReader output, String line) throws Exception {
    String read = output.readLine();
    while (read != null && !read.equals(line)) {
      read = output.readLine();
    }
    assertThat(read).isEqualTo(line);
  }

  /** The path of the check is that of a client with the same connect string. */
  @Test
  void workDoesNotBeginOrEndInATermThatHasEndedOrNeverWas() throws Exception {
    this.client.addAuthInfo("digest", "election:secret".getBytes(UTF_8));
    this.client.create("/soa", new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    String connectString = this.server.connectString() + "/soa";
    ZookeeperLeaseStore.Builder builder = ZookeeperLeaseStore.builder(connectString)
        .root("/ours")
        .credentials("election", "secret")
        .operationTimeout(Duration.ofSeconds(20))
        .property("zookeeper.sasl.client", "false");
    ZooKeeper below = Zookeeper.connect(connectString);
    below.addAuthInfo("digest", "election:secret".getBytes(UTF_8));
    try (ZookeeperLeaseStore store = builder.build();
        ZookeeperFence ours = builder.buildFence()) {
      LeaseRow created = Leases.create(store, SERVICE, "a", 10_000, 0).orElseThrow();
      long term = Leases.begin(store, SERVICE, created, 10_000).orElseThrow();
      Op inThisTerm = ours.check(SERVICE, "a", term);
      below.multi(List.of(inThisTerm));

      TermEnd ending = new TermEnd(LeadershipLostEvent.Reason.RESIGNED, null);
      assertThat(store.release(SERVICE, "a", term, "", ending)).isTrue();
      assertThatThrownBy(() -> below.multi(List.of(inThisTerm)))
          .isInstanceOf(KeeperException.BadVersionException.class);
      assertThatThrownBy(() -> ours.check(SERVICE, "a", term))
          .isInstanceOf(LeadershipLostException.class);
      assertThatThrownBy(() -> ours.check(SERVICE, "a", term + 1))
          .isInstanceOf(LeadershipLostException.class);
      assertThatThrownBy(() -> ours.check("another", "a", term))
          .isInstanceOf(LeadershipLostException.class);
      try (ZookeeperFence stranger =
          ZookeeperLeaseStore.builder(connectString).root("/ours").buildFence()) {
        assertThatThrownBy(() -> stranger.check(SERVICE, "a", term))
            .isInstanceOf(LeaseStoreException.class)
            .hasMessageContaining("ZooKeeper does not show /ours/~terms/" + SERVICE + "/")
            .hasMessageContaining(": NOAUTH");
        assertThat(stranger.acl()).isEqualTo(ZooDefs.Ids.OPEN_ACL_UNSAFE);
      }
    } finally {
      below.close();
      Zookeeper.deleteAll(this.client, "/soa");
    }
  }
}
