/** Auto-configuration of elections in ZooKeeper. */
@NullMarked
package io.election.autoconfigure.zookeeper;

import org.jspecify.annotations.NullMarked;
