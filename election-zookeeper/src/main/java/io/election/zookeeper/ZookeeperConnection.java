package io.election.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.election.ElectionSetupException;
import io.election.Names;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ConnectStringParser;
import org.apache.zookeeper.client.HostProvider;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.PathUtils;
import org.apache.zookeeper.common.ZKConfig;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * How a store connects to ZooKeeper.
 *
 * @param servers the servers, whose names are not resolved yet
 * @param root the node above all records, with what the connect string puts above it
 * @param digest user name and password, separated by a colon; {@code null} for none
 * @param acl who may read and write the nodes that the store makes
 * @param properties further settings of ZooKeeper's client
 * @param operationTimeout the bound of one call
 */
record ZookeeperConnection(
    List<InetSocketAddress> servers,
    String root,
    @Nullable String digest,
    List<ACL> acl,
    Map<String, String> properties,
    Duration operationTimeout) {

  /**
   * What a server with its default settings grants at most. The session decides nothing: the longer
   * it lasts, the fewer pings it needs.
   */
  private static final int SESSION_MILLIS = 40_000;

  /** One read shows the records of all elections. The server limits the size of each one. */
  private static final int MAX_ANSWER = 64 << 20;

  /**
   * Checks the addresses.
   *
   * @throws ElectionSetupException if the connect string or the root is malformed
   */
  static ZookeeperConnection of(
      String connectString,
      String root,
      @Nullable String digest,
      @Nullable List<ACL> acl,
      Map<String, String> properties,
      Duration operationTimeout) {
    String above = "";
    List<InetSocketAddress> servers;
    try {
      ConnectStringParser parsed = new ConnectStringParser(connectString.strip());
      servers = List.copyOf(parsed.getServerAddresses());
      above = parsed.getChrootPath() != null ? parsed.getChrootPath() : "";
    } catch (IllegalArgumentException ex) {
      throw malformedConnectString(connectString, String.valueOf(ex.getMessage()), ex);
    }
    if (servers.isEmpty()) {
      throw malformedConnectString(connectString, "it names no server", null);
    }
    for (InetSocketAddress server : servers) {
      if (server.getPort() == 0 || !server.getHostString().matches("[\\p{Alnum}._:%-]+")) {
        throw malformedConnectString(
            connectString, "'" + server.getHostString() + "' is no host and port", null);
      }
    }
    requireUsable(root);
    List<ACL> byDefault =
        digest != null ? ZooDefs.Ids.CREATOR_ALL_ACL : ZooDefs.Ids.OPEN_ACL_UNSAFE;
    return new ZookeeperConnection(
        servers,
        above + root,
        digest,
        acl != null ? List.copyOf(acl) : byDefault,
        Map.copyOf(properties),
        operationTimeout);
  }

  private static ElectionSetupException malformedConnectString(
      String found, String problem, @Nullable Exception cause) {
    return new ElectionSetupException(
        "The connect string of ZooKeeper, '%s', is malformed: %s."
            .formatted(Names.printable(found), problem),
        "Write the host and port of each server, separated by commas: zoo1:2181,zoo2:2181,zoo3:2181",
        cause);
  }

  private static void requireUsable(String root) {
    String problem = null;
    try {
      PathUtils.validatePath(root);
      if (root.equals("/") || root.equals("/zookeeper") || root.startsWith("/zookeeper/")) {
        problem = "ZooKeeper keeps its own nodes there";
      }
    } catch (IllegalArgumentException ex) {
      problem = ex.getMessage();
    }
    if (problem != null) {
      throw new ElectionSetupException(
          "The root of the elections in ZooKeeper, '%s', cannot be used: %s."
              .formatted(Names.printable(root), problem),
          "Write the path of a node below which only elections are, for instance /soa/master/services");
    }
  }

  boolean isOpenToAll() {
    return this.acl.equals(ZooDefs.Ids.OPEN_ACL_UNSAFE);
  }

  /** Returns the servers for messages. */
  String addresses() {
    return this.servers.stream()
        .map((server) -> server.getHostString() + ":" + server.getPort())
        .collect(Collectors.joining(","));
  }

  /** Creates a client, which connects on a thread of its own. */
  ZooKeeper open(HostProvider servers) throws IOException {
    ZKClientConfig config = new ZKClientConfig();
    config.setProperty(ZKConfig.JUTE_MAXBUFFER, Integer.toString(MAX_ANSWER));
    // Bounds the wait for the answer when the session is closed, and nothing else.
    config.setProperty(
        ZKClientConfig.ZOOKEEPER_REQUEST_TIMEOUT, Long.toString(this.operationTimeout.toMillis()));
    this.properties.forEach(config::setProperty);
    ZooKeeper client =
        new ZooKeeper(addresses(), SESSION_MILLIS, (event) -> {}, false, servers, config);
    if (this.digest != null) {
      client.addAuthInfo("digest", this.digest.getBytes(UTF_8));
    }
    return client;
  }
}
