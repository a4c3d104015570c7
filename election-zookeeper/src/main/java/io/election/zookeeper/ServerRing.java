package io.election.zookeeper;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.UnknownHostException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.zookeeper.client.HostProvider;

/**
 * The servers of a connect string, of which each attempt to connect takes the next, even if a new
 * session makes it: a session that is given up because its server hangs is followed by one with
 * another server. Names are resolved at each attempt. Thread-safe.
 */
final class ServerRing {

  private final List<InetSocketAddress> servers;
  private final AtomicInteger cursor = new AtomicInteger();

  /** Creates a ring that begins with any server. */
  ServerRing(Collection<InetSocketAddress> servers) {
    this.servers = new ArrayList<>(servers);
    Collections.shuffle(this.servers);
  }

  private InetSocketAddress next() {
    InetSocketAddress server =
        this.servers.get(Math.floorMod(this.cursor.getAndIncrement(), this.servers.size()));
    try {
      return new InetSocketAddress(InetAddress.getByName(server.getHostString()), server.getPort());
    } catch (UnknownHostException ex) {
      return server;
    }
  }

  /** Returns the provider of one session, which rests after each fruitless round. */
  HostProvider session() {
    return new HostProvider() {
      private int tried;

      @Override
      public int size() {
        return ServerRing.this.servers.size();
      }

      @Override
      public InetSocketAddress next(long restMillis) {
        if (this.tried > 0 && this.tried % size() == 0) {
          try {
            Thread.sleep(restMillis);
          } catch (InterruptedException ex) {
            Thread.currentThread().interrupt();
          }
        }
        this.tried++;
        return ServerRing.this.next();
      }

      @Override
      public void onConnected() {
        this.tried = 0;
      }

      @Override
      public boolean updateServerList(
          Collection<InetSocketAddress> servers, InetSocketAddress current) {
        return false;
      }
    };
  }
}
