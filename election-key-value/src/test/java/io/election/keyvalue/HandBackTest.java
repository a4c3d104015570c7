package io.election.keyvalue;

import io.election.store.LeaseStore;

class HandBackTest extends HandBackContract {

  private final MemoryKeyValueServer.Cluster cluster = new MemoryKeyValueServer.Cluster();

  @Override
  protected LeaseStore newStore() {
    return new KeyValueLeaseStore(new MemoryKeyValueServer(this.cluster));
  }

  @Override
  protected long requests() {
    return this.cluster.requests();
  }
}
