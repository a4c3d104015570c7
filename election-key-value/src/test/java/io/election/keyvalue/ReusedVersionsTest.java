package io.election.keyvalue;

/** The contract where the versions of a key begin again after its deletion, as in ZooKeeper. */
class ReusedVersionsTest extends KeyValueContract {

  ReusedVersionsTest() {
    this.cluster.reusesVersions = true;
  }
}
