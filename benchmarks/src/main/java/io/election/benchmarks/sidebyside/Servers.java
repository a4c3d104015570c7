package io.election.benchmarks.sidebyside;

import io.election.benchmarks.servers.Backend;
import io.election.benchmarks.servers.NotInstalledException;
import io.election.benchmarks.servers.Server;
import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;

/** One server of each kind. */
final class Servers implements AutoCloseable {

  private final Map<Backend, Server> servers = new EnumMap<>(Backend.class);

  private final Map<Backend, String> missing = new EnumMap<>(Backend.class);

  private boolean paused;

  private boolean closed;

  static Servers start(Collection<Backend> backends) throws IOException {
    Servers servers = new Servers();
    for (Backend backend : backends) {
      try {
        servers.servers.put(backend, backend.start());
      } catch (NotInstalledException ex) {
        servers.missing.put(backend, String.valueOf(ex.getMessage()));
      }
    }
    // No container may stay when this program is stopped.
    Runtime.getRuntime().addShutdownHook(new Thread(servers::close));
    return servers;
  }

  /** Replaces a server that a measurement has worn out. */
  synchronized void renew(Backend backend) throws IOException {
    Server old = this.servers.remove(backend);
    if (old != null) {
      old.close();
      try {
        this.servers.put(backend, backend.start());
      } catch (NotInstalledException ex) {
        this.missing.put(backend, String.valueOf(ex.getMessage()));
      }
    }
  }

  /** Returns the server, if this machine has one. */
  Optional<Server> find(Backend backend) {
    return Optional.ofNullable(this.servers.get(backend));
  }

  /** Returns why there is no server. */
  String reason(Backend backend) {
    return this.missing.getOrDefault(backend, "not asked for");
  }

  /** Freezes all servers for a while. Of several concurrent calls only the first does so. */
  void pauseFor(Duration duration) throws InterruptedException {
    synchronized (this) {
      if (!this.paused) {
        this.paused = true;
        this.servers.values().forEach(Server::pause);
        Thread resume = new Thread(() -> resumeAfter(duration), "resume");
        resume.start();
      }
      while (this.paused) {
        wait();
      }
    }
  }

  private void resumeAfter(Duration duration) {
    try {
      TimeUnit.NANOSECONDS.sleep(duration.toNanos());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
    synchronized (this) {
      this.servers.values().forEach(Server::resume);
      this.paused = false;
      notifyAll();
    }
  }

  String versions() {
    return String.join(", ", this.servers.values().stream().map(Server::version).toList());
  }

  @Override
  public synchronized void close() {
    if (this.closed) {
      return;
    }
    this.closed = true;
    this.servers.values().forEach(Server::close);
  }
}
