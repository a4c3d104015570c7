package io.election.autoconfigure.settings;

import io.election.Names;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.SocketException;
import java.net.UnknownHostException;
import java.util.function.Supplier;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.core.env.Environment;

/**
 * The id of this node, and the check whether a name refers to this node. Used within the
 * auto-configuration.
 */
public final class LocalNode {

  private static final Logger log = LoggerFactory.getLogger(LocalNode.class);

  private static final Pattern HOST_AND_PORT =
      Pattern.compile("(?:\\[(?<six>[^]]+)]|(?<four>[^:\\[\\]]+))(?::(?<port>\\d{1,5}))?");

  private final Environment environment;

  private final @Nullable String configuredId;

  private final Supplier<String> host;

  /** {@code null} until it is needed. */
  private volatile @Nullable String hostName;

  /**
   * Creates the node.
   *
   * @param environment provides the port of the web server once it has started
   * @param configuredId the id from the configuration, or {@code null}
   * @throws InvalidConfigurationPropertyValueException if the id is invalid
   */
  public LocalNode(Environment environment, @Nullable String configuredId) {
    this(environment, configuredId, HostName.LOCAL::get);
  }

  /**
   * Creates the node of an election that is disabled, whose id need not be unique: the name service
   * is not asked for the name of this host.
   *
   * @param environment provides the port of the web server once it has started
   * @param configuredId the id from the configuration, or {@code null}
   * @throws InvalidConfigurationPropertyValueException if the id is invalid
   */
  public static LocalNode ofDisabled(Environment environment, @Nullable String configuredId) {
    return new LocalNode(environment, configuredId, HostName.LOCAL::unasked);
  }

  LocalNode(Environment environment, @Nullable String configuredId, Supplier<String> host) {
    this.environment = environment;
    this.configuredId = configuredId;
    this.host = host;
    String problem = configuredId != null ? Names.nodeIdProblem(configuredId) : null;
    if (problem != null) {
      throw new InvalidConfigurationPropertyValueException(
          "as.election.node-id",
          configuredId,
          "it " + problem
              + "; write a name of 1 to 128 printable characters that no other process uses, or leave it out");
    }
    if (Names.problem(id()) != null) {
      throw new InvalidConfigurationPropertyValueException(
          "as.election.node-id",
          null,
          "the name of this host ('%s') cannot be part of a node id; set one of 1 to 128 printable characters"
              .formatted(hostName()));
    }
  }

  /**
   * Forgets the name of this host. Called at each start, because a process may have been restored
   * from a checkpoint on another host.
   *
   * @return this node
   */
  public LocalNode lookedUp() {
    this.hostName = null;
    return this;
  }

  /** Returns the node id: as configured, or host, port if known, and process id. */
  public String id() {
    if (this.configuredId != null) {
      return this.configuredId;
    }
    String port = port();
    long pid = ProcessHandle.current().pid();
    return port != null ? hostName() + ":" + port + ":" + pid : hostName() + ":" + pid;
  }

  private String hostName() {
    String name = this.hostName;
    if (name == null) {
      name = this.host.get();
      this.hostName = name;
    }
    return name;
  }

  /** Returns whether a node id, {@code host:port}, host name or IP address refers to this node. */
  public boolean isMeantBy(String name) {
    if (name.equals(id())) {
      return true;
    }
    if (name.chars().filter((c) -> c == ':').count() > 1 && isAddressLiteral(name)) {
      return isThisHost(name);
    }
    Matcher matcher = HOST_AND_PORT.matcher(name);
    if (!matcher.matches()) {
      return false;
    }
    String port = matcher.group("port");
    String six = matcher.group("six");
    String host = six != null ? six : matcher.group("four");
    if (port != null) {
      warnIfNowhere(name, host, Integer.parseInt(port));
    }
    return (port == null || port.equals(port())) && isThisHost(host);
  }

  /** Checks only names with a port. A name without one may be the id of another node. */
  private void warnIfNowhere(String name, String host, int port) {
    String problem = null;
    if (port < 1 || port > 65_535) {
      problem = "no port has the number " + port;
    } else if (!host.equalsIgnoreCase(hostName())) {
      try {
        InetAddress.getAllByName(host);
      } catch (UnknownHostException ex) {
        problem = "host '" + host + "' has no address";
      }
    }
    if (problem != null) {
      log.warn(
          "as.election.manual.leader-id is '{}', but {}: no node leads, unless this is the node id of another node",
          name,
          problem);
    }
  }

  private @Nullable String port() {
    String port = this.environment.getProperty("local.server.port");
    return port == null || port.equals("-1") ? null : port;
  }

  private boolean isThisHost(String host) {
    if (host.equalsIgnoreCase(hostName())) {
      return true;
    }
    try {
      for (InetAddress address : InetAddress.getAllByName(host)) {
        if (address.isLoopbackAddress()) {
          log.warn(
              "as.election.manual.leader-id names '{}', which is every machine for itself: two nodes on two machines would both lead",
              host);
          return true;
        }
        if (NetworkInterface.getByInetAddress(address) != null) {
          return true;
        }
      }
    } catch (UnknownHostException ex) {
      log.debug("'{}' is not a known host name", host, ex);
    } catch (SocketException ex) {
      log.warn("the addresses of this host are not known: it is not taken for '{}'", host, ex);
    }
    return false;
  }

  private static boolean isAddressLiteral(String name) {
    return name.chars()
        .allMatch((c) -> c == ':' || c == '.' || c == '%' || Character.digit(c, 16) >= 0);
  }
}
