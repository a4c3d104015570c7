package io.election.faults;

import io.election.support.TestDatabase;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import io.election.support.process.TcpProxy;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Nodes on one database, each behind its own proxy. */
final class TcpProxies implements AutoCloseable {

  private final Map<String, TcpProxy> proxies = new LinkedHashMap<>();

  /** Opens a proxy for each node, in place of earlier ones, and returns the nodes behind them. */
  List<Node> between(TestDatabase database, List<Node> nodes) {
    close();
    nodes.forEach((node) -> this.proxies.put(node.name(), TcpProxy.to(database)));
    return nodes.stream()
        .map((node) -> node.through(this.proxies.get(node.name())))
        .toList();
  }

  SharedCluster cluster(Engine engine) {
    return new SharedCluster(
        Cluster.LEASE,
        Cluster.RENEW,
        engine::newDatabase,
        (database) -> between(database, Cluster.threeNodes()));
  }

  TcpProxy of(NodeProcess node) {
    return this.proxies.get(Cluster.place(node));
  }

  Integer[] ports() {
    return this.proxies.values().stream().map(TcpProxy::port).toArray(Integer[]::new);
  }

  void forEach(Consumer<TcpProxy> what) {
    this.proxies.values().forEach(what);
  }

  @Override
  public void close() {
    forEach(TcpProxy::close);
    this.proxies.clear();
  }
}
