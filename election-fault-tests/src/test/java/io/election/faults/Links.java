package io.election.faults;

import io.election.test.TestDatabase;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;

/** Nodes on one database, each behind a link of its own. */
final class Links implements AutoCloseable {

  /** For who measures waits for answers: the wait for a signal is meant to be long. */
  static final String WITHOUT_SIGNALS = "as.election.mysql.hand-back-signals=false";

  private final Map<String, Link> links = new LinkedHashMap<>();

  /** Links of three nodes. */
  static Links to(TestDatabase database) {
    Links links = new Links();
    Cluster.threeNodes().forEach((node) -> links.links.put(node.name(), Link.to(database)));
    return links;
  }

  /** The nodes behind the links, with some more properties. */
  List<Node> nodes(String... properties) {
    return this.links.entrySet().stream()
        .map((entry) -> {
          Node node = Node.named(entry.getKey()).through(entry.getValue());
          for (String property : properties) {
            node = node.with(property);
          }
          return node;
        })
        .toList();
  }

  Link of(NodeProcess node) {
    return this.links.get(node.name());
  }

  Integer[] ports() {
    return this.links.values().stream().map(Link::port).toArray(Integer[]::new);
  }

  void forEach(Consumer<Link> what) {
    this.links.values().forEach(what);
  }

  @Override
  public void close() {
    forEach(Link::close);
  }
}
