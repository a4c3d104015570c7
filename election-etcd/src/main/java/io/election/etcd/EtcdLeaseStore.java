package io.election.etcd;

import io.election.ElectionSetupException;
import io.election.keyvalue.KeyValueLeaseStore;
import io.grpc.ChannelCredentials;
import io.grpc.InsecureChannelCredentials;
import io.grpc.TlsChannelCredentials;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.URISyntaxException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.KeyManager;
import javax.net.ssl.TrustManager;
import org.jspecify.annotations.Nullable;

/**
 * Stores leases in etcd, 3.4 or newer: the record of an election is the key {@code <prefix><service
 * id>}.
 *
 * <p>Uses key-value and watch calls alone, on a connection of its own. No server-side lease is
 * involved. After a failure the connection is closed hard, and the next call opens one to the next
 * endpoint. Not thread-safe: use it from one thread at a time.
 */
public final class EtcdLeaseStore extends KeyValueLeaseStore {

  private EtcdLeaseStore(EtcdServer server) {
    super(server);
  }

  /**
   * Begins to configure a store.
   *
   * @param endpoints the members of one cluster, each as {@code http://host:2379}, or all with
   *     {@code https}
   * @return the builder
   * @throws ElectionSetupException if an endpoint cannot be used
   */
  public static Builder builder(List<String> endpoints) {
    return new Builder(endpoints);
  }

  /** The settings of a store. */
  public static final class Builder {

    private final List<InetSocketAddress> addresses = new ArrayList<>();
    private final boolean tls;
    private String prefix = "/election/";
    private Duration operationTimeout = Duration.ofSeconds(1);
    private EtcdLogin login = new EtcdLogin("", "", System::nanoTime);
    private @Nullable ChannelCredentials credentials;

    private Builder(List<String> endpoints) {
      if (endpoints.isEmpty()) {
        throw malformed("No etcd endpoint is given.", "");
      }
      this.tls = endpoints.get(0).startsWith("https:");
      for (String endpoint : endpoints) {
        URI uri = uri(endpoint);
        if (uri.getScheme().equals("https") != this.tls) {
          throw malformed("The endpoints of etcd mix http and https: " + endpoints + ".", "");
        }
        int port = uri.getPort() < 0 ? 2379 : uri.getPort();
        this.addresses.add(InetSocketAddress.createUnresolved(uri.getHost(), port));
      }
    }

    private static URI uri(String endpoint) {
      try {
        URI uri = new URI(endpoint);
        boolean web = "http".equals(uri.getScheme()) || "https".equals(uri.getScheme());
        boolean bare = uri.getRawUserInfo() == null
            && uri.getRawQuery() == null
            && List.of("", "/").contains(String.valueOf(uri.getRawPath()));
        boolean port = uri.getPort() != 0 && uri.getPort() <= 65535;
        if (web && bare && port && uri.getHost() != null) {
          return uri;
        }
      } catch (URISyntaxException ex) {
        // Reported below.
      }
      throw malformed(
          "'%s' is not an etcd endpoint.".formatted(endpoint.replaceFirst("//[^/]*@", "//…@")),
          " A path, a user or a password is not part of it.");
    }

    private static ElectionSetupException malformed(String found, String more) {
      return new ElectionSetupException(
          found,
          "Name each member of the cluster as http://host:2379 or https://host:2379." + more);
    }

    /**
     * Sets the beginning of all keys; {@code /election/} by default.
     *
     * @param prefix ends with {@code /}
     * @return this builder
     * @throws ElectionSetupException if it does not
     */
    public Builder prefix(String prefix) {
      if (!prefix.endsWith("/") || prefix.chars().anyMatch(Character::isISOControl)) {
        throw new ElectionSetupException(
            "The prefix '%s' of the keys in etcd does not end with '/', or has control characters."
                .formatted(prefix),
            "Otherwise keys of other applications could begin with it. Write for instance /election/.");
      }
      this.prefix = prefix;
      return this;
    }

    /**
     * Sets the bound of one call; 1 s by default.
     *
     * @param operationTimeout at least 1 ms
     * @return this builder
     */
    public Builder operationTimeout(Duration operationTimeout) {
      this.operationTimeout = operationTimeout;
      return this;
    }

    /**
     * Sets the user, if etcd authenticates by passwords.
     *
     * @param username the user, who may read and write all keys that begin with the prefix
     * @param password the password
     * @return this builder
     */
    public Builder login(String username, String password) {
      this.login = new EtcdLogin(username, password, System::nanoTime);
      return this;
    }

    /**
     * Sets the certificates for {@code https}; the machine's own by default.
     *
     * @param keyManagers show who the client is; empty if it shows no certificate
     * @param trustManagers decide which servers are trusted
     * @return this builder
     */
    public Builder tls(KeyManager[] keyManagers, TrustManager[] trustManagers) {
      TlsChannelCredentials.Builder credentials =
          TlsChannelCredentials.newBuilder().trustManager(trustManagers);
      this.credentials =
          (keyManagers.length > 0 ? credentials.keyManager(keyManagers) : credentials).build();
      return this;
    }

    /**
     * Creates the store, which connects upon the first call.
     *
     * @return the store
     */
    public EtcdLeaseStore build() {
      return new EtcdLeaseStore(server());
    }

    /**
     * Creates a fence for work on the same etcd, which connects upon the first call.
     *
     * @return the fence
     */
    public EtcdFence buildFence() {
      return new EtcdFence(server());
    }

    private EtcdServer server() {
      ChannelCredentials secure =
          this.credentials != null ? this.credentials : TlsChannelCredentials.create();
      EtcdChannels channels = new EtcdChannels(
          this.addresses, this.tls ? secure : InsecureChannelCredentials.create(), this.login);
      return new EtcdServer(channels, this.prefix, this.operationTimeout);
    }
  }
}
