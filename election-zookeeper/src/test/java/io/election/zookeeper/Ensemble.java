package io.election.zookeeper;

import io.election.test.TestServer;
import io.election.test.process.TcpProxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Three servers, one of which can be cut off from the others while its clients reach it. */
public final class Ensemble implements AutoCloseable {

  private final int[] quorumPorts = new int[4];
  private final int[] electionPorts = new int[4];
  private final int cutOff;
  private final List<TcpProxy> links = new ArrayList<>();
  private final Map<Integer, Zookeeper> servers = new HashMap<>();

  /**
   * Starts the ensemble.
   *
   * @param leads whether the server that can be cut off leads the ensemble
   */
  public Ensemble(boolean leads) {
    for (int id = 1; id <= 3; id++) {
      this.quorumPorts[id] = TestServer.freePort();
      this.electionPorts[id] = TestServer.freePort();
    }
    // Of the first two servers, the one with the greater number leads.
    this.cutOff = leads ? 3 : 1;
    start(3);
    start(leads ? 1 : 2);
    this.servers.values().forEach(Zookeeper::awaitUp);
    start(leads ? 2 : 1);
    this.servers.values().forEach(Zookeeper::awaitUp);
  }

  private void start(int id) {
    List<String> members = Stream.of(1, 2, 3)
        .map(other -> "server." + other + "=" + address(id, other))
        .toList();
    this.servers.put(id, Zookeeper.start(id, members));
  }

  /** The address of a member as another one knows it. */
  private String address(int self, int other) {
    if (self == other) {
      // Otherwise it tells the others an address that leads round the links.
      return "0.0.0.0:" + this.quorumPorts[other] + ":" + this.electionPorts[other];
    }
    boolean linked = self == this.cutOff || other == this.cutOff;
    return "127.0.0.1:%d:%d"
        .formatted(
            linked ? link(this.quorumPorts[other]) : this.quorumPorts[other],
            linked ? link(this.electionPorts[other]) : this.electionPorts[other]);
  }

  private int link(int port) {
    TcpProxy link = TcpProxy.to(port, () -> packet -> 1);
    this.links.add(link);
    return link.port();
  }

  /** The server that can be cut off. */
  public Zookeeper member() {
    return this.servers.get(this.cutOff);
  }

  /** All servers. */
  public Collection<Zookeeper> members() {
    return this.servers.values();
  }

  /** The connect string of the others. */
  String others() {
    return this.servers.values().stream()
        .filter(server -> server != member())
        .map(Zookeeper::connectString)
        .collect(Collectors.joining(","));
  }

  public void cutOff() {
    this.links.forEach(TcpProxy::cut);
  }

  public void heal() {
    this.links.forEach(TcpProxy::heal);
  }

  @Override
  public void close() {
    this.servers.values().forEach(Zookeeper::close);
    this.links.forEach(TcpProxy::close);
  }
}
