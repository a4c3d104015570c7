package io.election.benchmarks.scale;

import io.election.benchmarks.servers.Server;
import java.util.concurrent.TimeUnit;

/** Looks at a server's counter of statements each quarter of a second, for the greatest rate. */
final class Peak {

  private final Server server;

  private final Thread thread;

  private volatile boolean stopped;

  private volatile double perSecond;

  Peak(Server server) {
    this.server = server;
    this.thread = new Thread(this::look, "peak");
    this.thread.setDaemon(true);
    this.thread.start();
  }

  private void look() {
    long at = System.nanoTime();
    double count = count(0);
    while (!this.stopped) {
      try {
        TimeUnit.MILLISECONDS.sleep(250);
      } catch (InterruptedException ex) {
        return;
      }
      long now = System.nanoTime();
      double next = count(count);
      this.perSecond = Math.max(this.perSecond, (next - count) / ((now - at) / 1e9));
      at = now;
      count = next;
    }
  }

  /** The last count if the server does not answer. */
  private double count(double otherwise) {
    try {
      return this.server.counters().getOrDefault("Questions", otherwise);
    } catch (IllegalStateException ex) {
      return otherwise;
    }
  }

  double stop() throws InterruptedException {
    this.stopped = true;
    this.thread.join();
    return this.perSecond;
  }
}
