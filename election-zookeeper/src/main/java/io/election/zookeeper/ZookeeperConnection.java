package io.election.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.election.ElectionSetupException;
import io.election.Names;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.client.ConnectStringParser;
import org.apache.zookeeper.client.ZKClientConfig;
import org.apache.zookeeper.common.PathUtils;
import org.apache.zookeeper.common.ZKConfig;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.jspecify.annotations.Nullable;

/**
 * How a store connects to ZooKeeper.
 *
 * @param servers host and port of each server
 * @param root the node above all records, with what the connect string puts above it
 * @param digest user name and password, separated by a colon; {@code null} for none
 * @param acl who may read and write the nodes that the store creates
 * @param properties further settings of ZooKeeper's client
 * @param operationTimeout the bound of one call
 */
record ZookeeperConnection(
    List<String> servers,
    String root,
    @Nullable String digest,
    List<ACL> acl,
    Map<String, String> properties,
    Duration operationTimeout) {

  /**
   * The maximum that a server with default settings grants. The session decides nothing: the longer
   * it lasts, the fewer pings it needs.
   */
  private static final int SESSION_MILLIS = 40_000;

  /** Old terms and heartbeats are deleted. */
  private static final int NEEDED =
      ZooDefs.Perms.CREATE | ZooDefs.Perms.DELETE | ZooDefs.Perms.READ | ZooDefs.Perms.WRITE;

  /** In an id, as that of {@code digest}, there may be colons. */
  private static final Pattern ACL_ENTRY = Pattern.compile("(\\w+):(.*):([cdrwa]+)");

  /** One read shows the records of all elections. The server limits the size of each one. */
  private static final int MAX_ANSWER = 64 << 20;

  /**
   * The parts of a connect string.
   *
   * @param servers host and port of each server, in random order
   * @param path the path at its end; empty if there is none
   */
  record Address(List<String> servers, String path) {

    /**
     * Parses a connect string.
     *
     * @throws ElectionSetupException if it is malformed
     */
    static Address of(String connectString) {
      List<String> servers = new ArrayList<>();
      try {
        ConnectStringParser parsed = new ConnectStringParser(connectString.strip());
        parsed.getServerAddresses().forEach((server) -> servers.add(requireUsable(server)));
        if (servers.isEmpty()) {
          throw new IllegalArgumentException("it names no server");
        }
        Collections.shuffle(servers);
        return new Address(servers, Objects.requireNonNullElse(parsed.getChrootPath(), ""));
      } catch (IllegalArgumentException ex) {
        throw new ElectionSetupException(
            "The connect string of ZooKeeper, '%s', is malformed: %s."
                .formatted(Names.printable(connectString), ex.getMessage()),
            "Write the host and port of each server, separated by commas: zoo1:2181,zoo2:2181,zoo3:2181",
            ex);
      }
    }
  }

  private static String requireUsable(InetSocketAddress server) {
    String host = server.getHostString();
    if (server.getPort() == 0 || !host.matches("[\\p{Alnum}._:%-]+")) {
      throw new IllegalArgumentException("'" + Names.printable(host) + "' is not a host and port");
    }
    return (host.contains(":") ? "[" + host + "]" : host) + ":" + server.getPort();
  }

  /**
   * Checks a root.
   *
   * @throws ElectionSetupException if it is not a path, or a node of ZooKeeper itself
   */
  static void requireUsable(String root) {
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

  /**
   * Parses an access control list in the form of zkCli.
   *
   * @throws ElectionSetupException if it is malformed, or lets nobody keep records
   */
  static List<ACL> acl(String text) {
    List<ACL> acl = new ArrayList<>();
    for (String entry : text.split(",", -1)) {
      Matcher parts = ACL_ENTRY.matcher(entry.strip());
      if (!parts.matches()) {
        throw new ElectionSetupException(
            "'%s' in the access control list of ZooKeeper, '%s', is malformed."
                .formatted(Names.printable(entry), Names.printable(text)),
            "Write scheme:id:permissions, with permissions out of cdrwa, and commas between the entries; for instance sasl:orders:cdrwa");
      }
      acl.add(new ACL(permissions(parts.group(3)), new Id(parts.group(1), parts.group(2))));
    }
    if (acl.stream().noneMatch((entry) -> (entry.getPerms() & NEEDED) == NEEDED)) {
      throw new ElectionSetupException(
          "No entry of the access control list of ZooKeeper, '%s', gives the rights that a node needs."
              .formatted(Names.printable(text)),
          "Give the user of the nodes cdrw (create, delete, read, write); for instance sasl:orders:cdrwa");
    }
    return acl;
  }

  private static int permissions(String letters) {
    return letters.chars().map((letter) -> 1 << "rwcda".indexOf(letter)).reduce(0, (a, b) -> a | b);
  }

  boolean isOpenToAll() {
    return this.acl.equals(ZooDefs.Ids.OPEN_ACL_UNSAFE);
  }

  /**
   * Creates a client of one server, which connects on a thread of its own.
   *
   * @param watcher is told whether the client is connected and authenticated
   */
  ZooKeeper open(String server, Watcher watcher) throws IOException {
    ZKClientConfig config = new ZKClientConfig();
    config.setProperty(ZKConfig.JUTE_MAXBUFFER, Integer.toString(MAX_ANSWER));
    // Bounds the wait for the answer when the session is closed, and nothing else.
    config.setProperty(
        ZKClientConfig.ZOOKEEPER_REQUEST_TIMEOUT, Long.toString(this.operationTimeout.toMillis()));
    this.properties.forEach(config::setProperty);
    ZooKeeper client = new ZooKeeper(server, SESSION_MILLIS, watcher, config);
    if (this.digest != null) {
      client.addAuthInfo("digest", this.digest.getBytes(UTF_8));
    }
    return client;
  }
}
