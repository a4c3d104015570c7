/** Leases over versioned keys: what the stores for etcd and ZooKeeper share. */
@NullMarked
package io.election.keyvalue;

import org.jspecify.annotations.NullMarked;
