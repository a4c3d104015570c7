package io.election.autoconfigure;

import io.election.ElectionService;
import java.util.Collection;
import java.util.List;
import org.springframework.context.SmartLifecycle;

/**
 * Takes part in the elections while the application runs. Starts when the web server knows its
 * port, and stops before the web server, the schedulers and the pools.
 */
final class ElectionLifecycle implements SmartLifecycle {

  private final ElectionBackend backend;

  private final Collection<ElectionService> services;

  private volatile boolean running;

  ElectionLifecycle(ElectionBackend backend, Collection<ElectionService> services) {
    this.backend = backend;
    this.services = List.copyOf(services);
  }

  @Override
  public synchronized void start() {
    if (!this.running) {
      try {
        this.backend.start(this.services);
      } catch (Throwable ex) {
        stopAfter(ex);
        throw ex;
      }
      this.running = true;
    }
  }

  /** Stops what a start has left that failed: Spring stops only what runs. */
  private void stopAfter(Throwable failure) {
    try {
      this.backend.stop();
    } catch (Throwable ex) {
      failure.addSuppressed(ex);
    }
  }

  @Override
  public synchronized void stop() {
    if (this.running) {
      this.running = false;
      this.backend.stop();
    }
  }

  @Override
  public boolean isRunning() {
    return this.running;
  }

  @Override
  public int getPhase() {
    return ElectionBackend.PHASE;
  }
}
