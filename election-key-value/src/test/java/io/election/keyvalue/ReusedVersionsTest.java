package io.election.keyvalue;

/** The contract where a key that was deleted and created again counts anew, as in ZooKeeper. */
class ReusedVersionsTest extends KeyValueContract {

  ReusedVersionsTest() {
    this.cluster.reusesVersions = true;
  }
}
