/** Leases in ZooKeeper, and the fence for work on the same ZooKeeper. */
@NullMarked
package io.election.zookeeper;

import org.jspecify.annotations.NullMarked;
