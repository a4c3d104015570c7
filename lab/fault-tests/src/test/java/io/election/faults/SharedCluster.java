package io.election.faults;

import io.election.faults.Cluster.Scenario;
import io.election.support.TestDatabase;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import java.time.Duration;
import java.util.List;
import java.util.function.Function;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.extension.AfterAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/** A cluster for all tests of a class, started with the first and anew after one that fails. */
final class SharedCluster implements AfterAllCallback {

  private final Duration lease;

  private final Duration renew;

  private final Supplier<TestDatabase> databases;

  private final Function<TestDatabase, List<Node>> nodes;

  private @Nullable TestDatabase database;

  private @Nullable Cluster cluster;

  SharedCluster(Engine engine) {
    this(Cluster.LEASE, Cluster.RENEW, engine::newDatabase, (database) -> Cluster.threeNodes());
  }

  SharedCluster(
      Duration lease,
      Duration renew,
      Supplier<TestDatabase> databases,
      Function<TestDatabase, List<Node>> nodes) {
    this.lease = lease;
    this.renew = renew;
    this.databases = databases;
    this.nodes = nodes;
  }

  /** Plays a scenario, and judges what all nodes have claimed so far. */
  void run(Scenario scenario) throws Exception {
    if (this.cluster == null) {
      this.database = this.databases.get();
      Cluster.prepare(this.database);
      this.cluster =
          Cluster.start(this.database, this.lease, this.renew, this.nodes.apply(this.database));
    }
    Cluster current = this.cluster;
    this.cluster = null;
    current.guard((all) -> all.play((cluster, leader) -> {
      cluster.nodes().forEach(NodeProcess::forget);
      scenario.run(cluster, leader);
    }));
    this.cluster = current;
  }

  TestDatabase database() {
    return this.database;
  }

  @Override
  public void afterAll(ExtensionContext context) throws Exception {
    Cluster last = this.cluster;
    this.cluster = null; // another attempt at a test starts its own
    if (last != null) {
      last.close();
    }
  }
}
