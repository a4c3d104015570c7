package io.election.benchmarks.sidebyside;

import java.io.IOException;
import java.time.Duration;
import java.util.Collection;
import java.util.EnumMap;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import org.opentest4j.TestAbortedException;

/** One server of each kind. */
final class Servers implements AutoCloseable {

  private final Map<Backend, Server> servers = new EnumMap<>(Backend.class);

  private final Map<Backend, String> missing = new EnumMap<>(Backend.class);

  private long pausedUntil = System.nanoTime();

  static Servers start(Collection<Backend> backends) throws Exception {
    Servers servers = new Servers();
    for (Backend backend : backends) {
      servers.start(backend);
    }
    // No container may stay when this program is stopped.
    Runtime.getRuntime().addShutdownHook(new Thread(servers::close));
    return servers;
  }

  private void start(Backend backend) throws Exception {
    try {
      this.servers.put(backend, backend.start());
    } catch (IOException | TestAbortedException ex) {
      this.missing.put(backend, backend + " cannot be started: " + ex.getMessage());
    }
  }

  /** Replaces a server that a measurement has worn out. */
  synchronized void renew(Backend backend) throws Exception {
    Server old = this.servers.remove(backend);
    if (old != null) {
      old.close();
      start(backend);
    }
  }

  /** Returns the server, if this machine has one. */
  Optional<Server> find(Backend backend) {
    return Optional.ofNullable(this.servers.get(backend));
  }

  String reason(Backend backend) {
    return this.missing.getOrDefault(backend, "");
  }

  /** Freezes all servers for a while. Of several concurrent calls only the first does so. */
  void pauseFor(Duration duration) throws InterruptedException {
    long called = System.nanoTime();
    synchronized (this) {
      if (this.pausedUntil - called <= 0) {
        this.servers.values().forEach(Server::pause);
        TimeUnit.NANOSECONDS.sleep(duration.toNanos());
        this.servers.values().forEach(Server::resume);
        this.pausedUntil = System.nanoTime();
      }
    }
  }

  String versions() {
    return String.join(", ", this.servers.values().stream().map(Server::version).toList());
  }

  @Override
  public synchronized void close() {
    this.servers.values().forEach(Server::close);
    this.servers.clear();
  }
}
