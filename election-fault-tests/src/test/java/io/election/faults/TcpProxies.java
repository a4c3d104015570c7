package io.election.faults;

import io.election.test.TestDatabase;
import io.election.test.process.Node;
import io.election.test.process.NodeProcess;
import io.election.test.process.TcpProxy;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Nodes on one database, each behind its own proxy. */
final class TcpProxies implements AutoCloseable {

  /** For tests that measure waits for answers: the wait for a signal is long on purpose. */
  static final String WITHOUT_SIGNALS = "as.election.mysql.hand-back-signals=false";

  private final Map<String, TcpProxy> proxies = new LinkedHashMap<>();

  /** Creates the proxies of three nodes. */
  static TcpProxies to(TestDatabase database) {
    TcpProxies proxies = new TcpProxies();
    Cluster.threeNodes().forEach((node) -> proxies.proxies.put(node.name(), TcpProxy.to(database)));
    return proxies;
  }

  /** Returns the nodes behind the proxies, with additional properties. */
  List<Node> nodes(String... properties) {
    return this.proxies.entrySet().stream()
        .map((entry) -> {
          Node node = SamplingNode.named(entry.getKey()).through(entry.getValue());
          for (String property : properties) {
            node = node.with(property);
          }
          return node;
        })
        .toList();
  }

  TcpProxy of(NodeProcess node) {
    return this.proxies.get(node.name());
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
  }
}
