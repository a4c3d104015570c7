package io.election.keyvalue;

import io.election.lease.LeaseStore;
import io.election.testing.ManualEdits;
import io.election.testing.ManualEditsContract;
import java.util.Map;

/** The contract of a store, over keys in memory. */
abstract class KeyValueContract extends ManualEditsContract {

  final MemoryKeyValueServer.Cluster cluster = new MemoryKeyValueServer.Cluster();

  @Override
  protected LeaseStore open() {
    return new KeyValueLeaseStore(new MemoryKeyValueServer(this.cluster));
  }

  @Override
  protected ManualEdits edits() {
    return new KeyValueEdits(new KeyValueEdits.Hand() {

      @Override
      public void put(String key, String value) {
        KeyValueContract.this.cluster.put(key, value);
      }

      @Override
      public void delete(String key) {
        KeyValueContract.this.cluster.delete(key);
      }

      @Override
      public Map<String, String> below(String parent) {
        return KeyValueContract.this.cluster.below(parent);
      }

      @Override
      public String get(String key) {
        return KeyValueContract.this.cluster.value(key).orElseThrow();
      }
    });
  }
}
