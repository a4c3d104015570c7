package io.election.zookeeper;

import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.store.LeaseSettings;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;

/** A node of ours, in this process. */
final class Node implements AutoCloseable {

  static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofSeconds(4), Duration.ofSeconds(1), Duration.ofSeconds(1), Duration.ZERO, true);

  private final Elector elector;
  private final LeaseElectionService election;
  private final ZookeeperLeaseStore store;

  /** Starts a node. */
  Node(String id, String connectString, String root, String serviceId) {
    this.store = ZookeeperLeaseStore.builder(connectString)
        .root(root)
        .operationTimeout(SETTINGS.operationTimeout())
        .build();
    this.elector = new Elector(
        this.store,
        SETTINGS,
        () -> id,
        (service) -> false,
        (event) -> {},
        System::nanoTime,
        InstantSource.system());
    this.election = new LeaseElectionService(serviceId, this.elector);
    this.elector.start(List.of(this.election));
  }

  boolean leads() {
    return this.election.isLeader();
  }

  LeaseElectionService election() {
    return this.election;
  }

  @Override
  public void close() {
    this.elector.stop();
    this.store.close();
  }
}
