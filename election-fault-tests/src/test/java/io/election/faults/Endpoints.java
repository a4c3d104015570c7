package io.election.faults;

import io.election.test.process.Node;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** The endpoints of several nodes. */
final class Endpoints {

  private final Map<String, Endpoint> endpoints = new LinkedHashMap<>();

  List<Node> on(List<Node> nodes) {
    nodes.forEach((node) -> this.endpoints.put(node.name(), new Endpoint()));
    return nodes.stream().map((node) -> of(node.name()).on(node)).toList();
  }

  Endpoint of(String node) {
    return this.endpoints.get(node);
  }

  Collection<Endpoint> all() {
    return this.endpoints.values();
  }
}
