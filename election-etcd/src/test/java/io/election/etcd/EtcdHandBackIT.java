package io.election.etcd;

import io.election.keyvalue.HandBackContract;
import io.election.store.LeaseStore;
import java.util.List;

class EtcdHandBackIT extends HandBackContract {

  @Override
  protected LeaseStore newStore() {
    return EtcdLeaseStore.builder(List.of(EtcdProcess.shared().url()))
        .prefix("/hand-back/")
        .operationTimeout(OPERATION_TIMEOUT)
        .build();
  }

  @Override
  protected long requests() {
    return EtcdProcess.shared().requests();
  }

  /** One of the leader, three of the next one. */
  @Override
  protected long requestsToHandBack() {
    return 5;
  }
}
