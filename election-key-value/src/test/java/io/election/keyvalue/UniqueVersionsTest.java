package io.election.keyvalue;

/** The contract where versions are never reused, as in etcd. */
class UniqueVersionsTest extends KeyValueContract {}
