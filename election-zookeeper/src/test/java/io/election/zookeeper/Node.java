package io.election.zookeeper;

import io.election.Leadership;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.lease.LeaseSettings;
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
  private final Claims claims;

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
        service -> false,
        event -> {},
        System::nanoTime,
        InstantSource.system());
    this.election = new LeaseElectionService(serviceId, this.elector);
    this.claims = new Claims(
        id, () -> this.election.leadership().map(Leadership::term).orElse(Claims.NOT_LEADING));
    this.elector.start(List.of(this.election));
  }

  boolean leads() {
    return this.election.isLeader();
  }

  LeaseElectionService election() {
    return this.election;
  }

  /** When the node claimed to lead. */
  Claims claims() {
    return this.claims;
  }

  @Override
  public void close() {
    this.elector.stop();
    this.store.close();
    this.claims.close();
  }
}
