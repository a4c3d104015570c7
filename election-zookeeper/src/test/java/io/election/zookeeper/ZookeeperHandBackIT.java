package io.election.zookeeper;

import io.election.keyvalue.HandBackContract;
import io.election.lease.LeaseStore;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;

class ZookeeperHandBackIT extends HandBackContract {

  private static Zookeeper server;

  @BeforeAll
  static void start() {
    server = Zookeeper.start();
  }

  @AfterAll
  static void end() {
    server.close();
  }

  @Override
  protected LeaseStore newStore() {
    return ZookeeperLeaseStore.builder(server.connectString())
        .root("/hand-back")
        .operationTimeout(OPERATION_TIMEOUT)
        .build();
  }

  @Override
  protected long requests() {
    return server.requests();
  }

  /** It does not tell what was written: the record names a heartbeat, which is another request. */
  @Override
  protected long requestsToSeeALeader() {
    return 2;
  }
}
