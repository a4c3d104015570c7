package io.election.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.Leadership;
import io.election.test.Signal;
import java.io.BufferedReader;
import java.time.Duration;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

@Tag("faults")
class ZookeeperFenceIT {

  private static final String ROOT = "/soa/master/services";
  private static final String SERVICE = "billing";

  private Zookeeper server;
  private ZooKeeper client;
  private ZookeeperFence fence;

  @BeforeEach
  void start() throws Exception {
    this.server = Zookeeper.start();
    this.client = this.server.connect();
    this.fence =
        ZookeeperLeaseStore.builder(this.server.connectString()).root(ROOT).buildFence();
    for (String path : List.of("/fenced", "/unfenced")) {
      this.client.create(path, new byte[0], ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    }
  }

  @AfterEach
  void stop() throws Exception {
    this.fence.close();
    this.client.close();
    this.server.close();
  }

  private static long awaitTerm(Node node) {
    Awaitility.await(node + " leads").atMost(Duration.ofMinutes(1)).until(node::leads);
    return node.election().leadership().map(Leadership::term).orElseThrow();
  }

  private String data(String path) throws Exception {
    return new String(this.client.getData(path, false, null), UTF_8);
  }

  @Test
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
}
