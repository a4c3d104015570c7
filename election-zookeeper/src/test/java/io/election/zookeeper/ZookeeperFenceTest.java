package io.election.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.List;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.junit.jupiter.api.Test;

class ZookeeperFenceTest {

  @Test
  void aFenceTellsWhoMayUseTheNodesOfTheElection() {
    ZookeeperLeaseStore.Builder builder = ZookeeperLeaseStore.builder("zoo:2181");
    assertThat(builder.credentials("election", "secret").buildFence().acl())
        .isEqualTo(ZooDefs.Ids.CREATOR_ALL_ACL);
    assertThat(builder.acl("ip:10.0.0.1:cdrw").buildFence().acl())
        .containsExactly(new ACL(15, new Id("ip", "10.0.0.1")));
  }

  /** A session that nobody closes would keep its threads. */
  @Test
  void aFenceClosesItsSessionAndOpensItAgain() throws Exception {
    try (ScriptedServer scripted = new ScriptedServer()) {
      ZookeeperFence fence = ZookeeperLeaseStore.builder(scripted.address())
          .operationTimeout(Duration.ofSeconds(20))
          .buildFence();
      for (int sessions = 1; sessions <= 2; sessions++) {
        assertThat(fence.send(List.of(Op.getData("/a")))).hasSize(1);
        assertThat(fence.sendInOrder(List.of(List.of(Op.getData("/a")), List.of(Op.getData("/b")))))
            .hasSize(2);
        assertThat(scripted.sessions()).isEqualTo(sessions);
        fence.close();
      }
    }
  }
}
