package io.election.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.election.Leadership;
import java.time.Duration;
import java.util.List;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooKeeper;
import org.awaitility.Awaitility;

/**
 * A process that begins work when it leads, and writes the result when it is told to: with the
 * fence to {@code /fenced}, and without to {@code /unfenced}.
 */
final class FencedWork {

  private FencedWork() {}

  /** Runs the process on the server, root and election that the arguments name. */
  public static void main(String[] arguments) throws Exception {
    ZooKeeper client = Zookeeper.connect(arguments[0]);
    try (Node node = new Node("paused", arguments[0], arguments[1], arguments[2]);
        ZookeeperFence fence =
            ZookeeperLeaseStore.builder(arguments[0]).root(arguments[1]).buildFence()) {
      Awaitility.await().atMost(Duration.ofMinutes(1)).until(node::leads);
      long term = node.election().leadership().map(Leadership::term).orElseThrow();
      Op inThisTerm = fence.check(arguments[2], node.election().nodeId(), term);
      write(client, inThisTerm);
      System.out.println("begun");

      System.in.read();
      write(client, inThisTerm);
    }
  }

  private static void write(ZooKeeper client, Op inThisTerm) throws Exception {
    byte[] result = "by the paused one".getBytes(UTF_8);
    try {
      client.multi(List.of(inThisTerm, Op.setData("/fenced", result, -1)));
      System.out.println("written");
    } catch (KeeperException ex) {
      System.out.println("refused: " + ex.code());
    }
    client.setData("/unfenced", result, -1);
  }
}
