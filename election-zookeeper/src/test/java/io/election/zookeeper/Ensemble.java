package io.election.zookeeper;

import io.election.support.TestServer;
import io.election.support.process.TcpProxy;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Three servers. */
public final class Ensemble implements AutoCloseable {

  private final int[] quorumPorts = new int[4];
  private final int[] electionPorts = new int[4];

  /** The server that can be cut off from the others while its clients reach it; 0 if none can. */
  private final int cutOff;

  private final List<TcpProxy> links = new ArrayList<>();
  private final Map<Integer, Zookeeper> servers = new HashMap<>();

  /**
   * Starts an ensemble of which a server can be cut off.
   *
   * @param leads whether that server leads the ensemble
   */
  public Ensemble(boolean leads) {
    // Of the first two servers, the one with the greater number leads.
    this(leads ? 3 : 1, leads ? List.of(3, 1, 2) : List.of(3, 2, 1));
  }

  private Ensemble(int cutOff, List<Integer> order) {
    for (int id = 1; id <= 3; id++) {
      this.quorumPorts[id] = TestServer.freePort();
      this.electionPorts[id] = TestServer.freePort();
    }
    this.cutOff = cutOff;
    start(order.get(0));
    start(order.get(1));
    this.servers.values().forEach(Zookeeper::awaitUp);
    start(order.get(2));
    this.servers.values().forEach(Zookeeper::awaitUp);
  }

  /** Starts an ensemble of which no server can be cut off. */
  public static Ensemble withoutLinks() {
    return new Ensemble(0, List.of(3, 2, 1));
  }

  private void start(int id) {
    List<String> members = Stream.of(1, 2, 3)
        .map((other) -> "server." + other + "=" + address(id, other))
        .toList();
    this.servers.put(id, Zookeeper.start(id, members));
  }

  /** The address of a member as another one knows it. */
  private String address(int self, int other) {
    if (self == other && this.cutOff != 0) {
      // Otherwise it tells the others an address that leads round the links.
      return "0.0.0.0:" + this.quorumPorts[other] + ":" + this.electionPorts[other];
    }
    boolean linked = self == this.cutOff || other == this.cutOff;
    return "127.0.0.1:%d:%d"
        .formatted(
            linked ? link(this.quorumPorts[other]) : this.quorumPorts[other],
            linked ? link(this.electionPorts[other]) : this.electionPorts[other]);
  }

  /**
   * A server often connects to its leader before the leader listens. It tries again if it is refused, but
   * gives up if it is connected and then reset, and the leader waits 20 s for it.
   */
  private int link(int port) {
    TcpProxy link = TcpProxy.to(port, () -> (packet) -> 1).awaitServer();
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
        .filter((server) -> server != member())
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
