package io.election.keyvalue;

import io.election.store.LeaseStore;
import io.election.test.ManualEdits;
import io.election.test.ManualEditsContract;

/** The contract of a store, over keys in memory. */
abstract class KeyValueContract extends ManualEditsContract {

  final MemoryKeyValueServer.Cluster cluster = new MemoryKeyValueServer.Cluster();

  @Override
  protected LeaseStore open() {
    return new KeyValueLeaseStore(new MemoryKeyValueServer(this.cluster));
  }

  @Override
  protected ManualEdits edits() {
    return new KeyValueEdits(this.cluster);
  }
}
