package io.election.zookeeper;

import io.election.keyvalue.HandBackContract;
import io.election.store.LeaseStore;

class ZookeeperHandBackIT extends HandBackContract {

  private static final Zookeeper server = Zookeeper.shared();

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
