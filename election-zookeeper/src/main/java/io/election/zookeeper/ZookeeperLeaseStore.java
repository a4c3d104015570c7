package io.election.zookeeper;

import io.election.ElectionSetupException;
import io.election.keyvalue.KeyValueLeaseStore;
import java.security.KeyStore;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.data.ACL;
import org.jspecify.annotations.Nullable;

/**
 * Stores leases in ZooKeeper 3.6 or newer. The record of an election is the data of a persistent
 * node below a root, {@code <root>/<service id>}. A node id written there by hand designates that
 * node, and a deletion forces a new election.
 *
 * <p>Uses one session of its own, which decides nothing: a lease is renewed by what a quorum has
 * agreed to write. While another tool leads by an ephemeral node at the path of a record, no node
 * takes that election over.
 *
 * <p>Not thread-safe, except for watches: use it from one thread at a time.
 */
public final class ZookeeperLeaseStore extends KeyValueLeaseStore {

  private ZookeeperLeaseStore(ZookeeperConnection connection) {
    super(new ZookeeperServer(connection));
  }

  /**
   * Begins to configure a store.
   *
   * @param connectString hosts and ports of the servers, separated by commas, and optionally the
   *     path of a node that is above the root: {@code zoo1:2181,zoo2:2181,zoo3:2181/applications}
   * @return the builder
   * @throws ElectionSetupException if the connect string is malformed
   */
  public static Builder builder(String connectString) {
    return new Builder(connectString);
  }

  /** The settings of a store. */
  public static final class Builder {

    private final ZookeeperConnection.Address address;
    private String root = "/election";
    private @Nullable String digest;
    private @Nullable List<ACL> acl;
    private Duration operationTimeout = Duration.ofSeconds(1);
    private final Map<String, String> properties = new HashMap<>();

    private Builder(String connectString) {
      this.address = ZookeeperConnection.Address.of(connectString);
    }

    /**
     * Sets the path of the node above all records, which is created if it is missing;
     * {@code /election} by default.
     *
     * @param root the path, without the one in the connect string
     * @return this builder
     * @throws ElectionSetupException if it is not a path, or a node of ZooKeeper itself
     */
    public Builder root(String root) {
      ZookeeperConnection.requireUsable(root);
      this.root = root;
      return this;
    }

    /**
     * Sets the user for the scheme {@code digest}. Without a user, and unless {@link #acl} is set,
     * every client may write to the nodes that the store creates, and a warning says so.
     *
     * @param name the name of the user
     * @param password the password
     * @return this builder
     */
    public Builder credentials(String name, String password) {
      this.digest = name + ":" + password;
      return this;
    }

    /**
     * Sets the access control list of the nodes that the store creates, including the root and the
     * nodes above it. The default with credentials is all permissions for their creator only. All
     * nodes of an election need all permissions.
     *
     * @param acl entries of the form {@code scheme:id:permissions}, separated by commas, as in
     *     zkCli's {@code setAcl}: {@code sasl:orders:cdrwa,world:anyone:r}
     * @return this builder
     * @throws ElectionSetupException if an entry is malformed
     */
    public Builder acl(String acl) {
      this.acl = ZookeeperConnection.acl(acl);
      return this;
    }

    /**
     * Connects to the secure port of the servers. ZooKeeper's client reads certificates from files,
     * so the keys are copied to a temporary folder that only the user of this process may read, and
     * that is deleted when the JVM ends.
     *
     * @param keys shows who the client is; {@code null} if it shows no certificate
     * @param keyPassword the password of the keys; {@code null} if they have none
     * @param trusted decides which servers are trusted; {@code null} for those of the Java runtime
     * @return this builder
     * @throws ElectionSetupException if the keys cannot be read
     */
    public Builder tls(
        @Nullable KeyStore keys, @Nullable String keyPassword, @Nullable KeyStore trusted) {
      this.properties.putAll(KeyFiles.write(keys, keyPassword, trusted));
      return this;
    }

    /**
     * Sets the bound of one call to the store; 1 s by default.
     *
     * @param operationTimeout at least 1 ms
     * @return this builder
     */
    public Builder operationTimeout(Duration operationTimeout) {
      this.operationTimeout = operationTimeout;
      return this;
    }

    /**
     * Sets a property of ZooKeeper's client, for instance for SASL ({@code
     * zookeeper.sasl.clientconfig}).
     *
     * @param name the name of the property, as in the documentation of ZooKeeper
     * @param value its value
     * @return this builder
     */
    public Builder property(String name, String value) {
      this.properties.put(name, value);
      return this;
    }

    /**
     * Creates the store, which connects upon the first call.
     *
     * @return the store
     */
    public ZookeeperLeaseStore build() {
      return new ZookeeperLeaseStore(
          connection(this.address.servers(), this.address.path() + this.root));
    }

    /**
     * Creates a fence for work on the same ZooKeeper, which connects upon the first call.
     *
     * @return the fence
     */
    public ZookeeperFence buildFence() {
      List<String> servers = this.address.servers().stream()
          .map((each) -> each + this.address.path())
          .toList();
      return new ZookeeperFence(connection(servers, this.root));
    }

    private ZookeeperConnection connection(List<String> servers, String root) {
      List<ACL> byDefault =
          this.digest != null ? ZooDefs.Ids.CREATOR_ALL_ACL : ZooDefs.Ids.OPEN_ACL_UNSAFE;
      return new ZookeeperConnection(
          servers,
          root,
          this.digest,
          this.acl != null ? this.acl : List.copyOf(byDefault),
          Map.copyOf(this.properties),
          this.operationTimeout);
    }
  }
}
