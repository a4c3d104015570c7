package io.election.benchmarks.servers;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * The way of one process to its server: a TCP proxy that counts requests and can be cut. While it is
 * cut nothing passes in either direction, not even the end of a connection; what was sent meanwhile
 * flows when it is healed, as what TCP sends again.
 */
public final class Link implements AutoCloseable {

  private final Backend backend;

  private final int target;

  private final ServerSocket listener;

  private final AtomicLong requests = new AtomicLong();

  private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();

  private final Object gate = new Object();

  private boolean cut;

  /**
   * Opens a link.
   *
   * @param backend what the server is
   * @param target its port on this machine
   */
  public Link(Backend backend, int target) {
    this.backend = backend;
    this.target = target;
    try {
      this.listener = new ServerSocket(0, 500, InetAddress.getLoopbackAddress());
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
    daemon("link", this::accept);
  }

  /**
   * Where it listens.
   *
   * @return the port on this machine
   */
  public int port() {
    return this.listener.getLocalPort();
  }

  /**
   * How much was asked so far: statements of MySQL and whatever else its driver sends, requests and
   * pings of ZooKeeper, messages of gRPC.
   *
   * @return the number of requests
   */
  public long requestCount() {
    return this.requests.get();
  }

  /** Lets nothing pass. */
  public void cut() {
    synchronized (this.gate) {
      this.cut = true;
    }
  }

  /** Lets all pass again. */
  public void heal() {
    synchronized (this.gate) {
      this.cut = false;
      this.gate.notifyAll();
    }
  }

  @Override
  public void close() {
    close(this.listener);
    this.sockets.forEach(Link::close);
    heal();
  }

  private void accept() {
    while (!this.listener.isClosed()) {
      try {
        Socket client = this.listener.accept();
        this.sockets.add(client);
        daemon("link-connection", () -> open(client));
      } catch (IOException ex) {
        return; // closed
      }
    }
  }

  private void open(Socket client) {
    try {
      passGate();
      Socket server = new Socket(InetAddress.getLoopbackAddress(), this.target);
      this.sockets.add(server);
      client.setTcpNoDelay(true);
      server.setTcpNoDelay(true);
      daemon("link-answers", () -> pump(server, client, null));
      pump(client, server, new Requests(this.backend.protocol(), this.requests));
    } catch (IOException ex) {
      end(client);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }

  private void pump(Socket from, Socket to, @Nullable Requests requests) {
    byte[] buffer = new byte[16384];
    try {
      int length;
      while ((length = read(from, buffer)) > 0) {
        passGate();
        if (requests != null) {
          requests.sent(buffer, length);
        }
        to.getOutputStream().write(buffer, 0, length);
      }
      passGate();
    } catch (IOException ex) {
      // The other end is gone.
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
    end(from);
    end(to);
  }

  private static int read(Socket from, byte[] buffer) {
    try {
      return from.getInputStream().read(buffer);
    } catch (IOException ex) {
      return -1; // reset: an end like others
    }
  }

  private void passGate() throws InterruptedException {
    synchronized (this.gate) {
      while (this.cut) {
        this.gate.wait();
      }
    }
  }

  private void end(Socket socket) {
    this.sockets.remove(socket);
    close(socket);
  }

  private static void daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.start();
  }

  private static void close(Closeable closeable) {
    try {
      closeable.close();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
