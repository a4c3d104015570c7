package io.election.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.election.keyvalue.NoThreads;
import io.election.lease.LeaseStoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.Test;

class ZookeeperSessionTest {

  private final NoThreads noThreads = new NoThreads();

  private final List<ZooKeeper> clients = new ArrayList<>();

  @Test
  void aSessionIsClosedThoughThereIsNoThreadThatCouldWaitForTheServer() {
    ZookeeperSession session = new ZookeeperSession(
        new ZookeeperConnection(
            List.of("127.0.0.1:1"),
            "/elections",
            null,
            ZooDefs.Ids.OPEN_ACL_UNSAFE,
            Map.of(),
            Duration.ofMillis(100)),
        (client) -> {
          this.clients.add(client);
          this.noThreads.set("");
        },
        System::nanoTime);
    session.begin();
    Throwable failure =
        catchThrowable(() -> session.multi("Reading", List.of(Op.getData("/elections"))));
    this.noThreads.remove();

    assertThat(failure).isInstanceOf(LeaseStoreException.class);
    assertThat(this.clients)
        .singleElement()
        .matches((client) -> !client.getState().isAlive(), "closed");
  }
}
