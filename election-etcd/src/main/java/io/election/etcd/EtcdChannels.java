package io.election.etcd;

import io.grpc.Channel;
import io.grpc.ChannelCredentials;
import io.grpc.ClientInterceptor;
import io.grpc.ClientInterceptors;
import io.grpc.Grpc;
import io.grpc.ManagedChannel;
import io.grpc.Metadata;
import io.grpc.stub.MetadataUtils;
import java.net.InetSocketAddress;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * The connection to one endpoint of etcd at a time, and the token of its user. Retries nothing.
 * Used by one thread at a time.
 */
final class EtcdChannels {

  private static final Metadata.Key<String> TOKEN =
      Metadata.Key.of("token", Metadata.ASCII_STRING_MARSHALLER);

  /** Makes a member that has lost its quorum end a watch. */
  private static final Metadata.Key<String> HAS_LEADER =
      Metadata.Key.of("hasleader", Metadata.ASCII_STRING_MARSHALLER);

  private final List<InetSocketAddress> addresses;
  private final ChannelCredentials credentials;
  private final EtcdLogin login;
  private @Nullable ManagedChannel channel;
  private @Nullable String token;
  private int next;

  EtcdChannels(List<InetSocketAddress> addresses, ChannelCredentials credentials, EtcdLogin login) {
    this.addresses = List.copyOf(addresses);
    this.credentials = credentials;
    this.login = login;
  }

  /** Returns connections of another thread to the same endpoints. */
  EtcdChannels another() {
    return new EtcdChannels(this.addresses, this.credentials, this.login);
  }

  /** Returns the connection, after authenticating if that is needed. */
  Channel open(long timeoutNanos) {
    ManagedChannel open = this.channel;
    if (open == null) {
      InetSocketAddress address = this.addresses.get(this.next);
      open = Grpc.newChannelBuilderForAddress(
              address.getHostString(), address.getPort(), this.credentials)
          .disableRetry()
          // Watches only pass on what they see.
          .directExecutor()
          .maxInboundMessageSize(64 << 20)
          .keepAliveTime(30, TimeUnit.SECONDS)
          .build();
      this.channel = open;
    }
    Metadata headers = new Metadata();
    headers.put(HAS_LEADER, "true");
    if (!this.login.isEmpty()) {
      headers.put(TOKEN, token(open, timeoutNanos));
    }
    ClientInterceptor interceptor = MetadataUtils.newAttachHeadersInterceptor(headers);
    return ClientInterceptors.intercept(open, interceptor);
  }

  private String token(ManagedChannel open, long timeoutNanos) {
    String token = this.token;
    if (token == null) {
      token = this.login.authenticate(open, timeoutNanos);
      this.token = token;
    }
    return token;
  }

  /** Returns whether the next call uses a token that exists already, and may have expired. */
  boolean hasToken() {
    return this.token != null;
  }

  /** Forgets the token, which was refused. */
  void logOut() {
    this.token = null;
  }

  /**
   * Closes the connection hard. The next one goes to the next endpoint, where the token is valid
   * too.
   */
  void drop() {
    ManagedChannel open = this.channel;
    this.channel = null;
    this.next = (this.next + 1) % this.addresses.size();
    if (open != null) {
      open.shutdownNow();
    }
  }

  @Override
  public String toString() {
    return String.join(
        ", ",
        this.addresses.stream()
            .map((address) -> address.getHostString() + ":" + address.getPort())
            .toList());
  }
}
