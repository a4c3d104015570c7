package io.election.zookeeper;

import io.election.test.process.Claim;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import java.util.function.LongSupplier;

/** Asks a node in a loop whether it leads, on a thread of its own, and notes when it said so. */
final class Claims implements AutoCloseable {

  /** The answer of a node that does not lead. */
  static final long NOT_LEADING = -1;

  private static final long PAUSE_NANOS = 200_000;

  private final String node;
  private final LongSupplier term;
  private final List<Claim> claims = new ArrayList<>();
  private final Thread asking;
  private volatile boolean closed;

  /**
   * Begins to ask.
   *
   * @param term the term in which the node leads, or {@link #NOT_LEADING}
   */
  Claims(String node, LongSupplier term) {
    this.node = node;
    this.term = term;
    this.asking = new Thread(this::ask, "claims-of-" + node);
    this.asking.setDaemon(true);
    this.asking.start();
  }

  private void ask() {
    Claim open = null;
    while (!this.closed) {
      long before = System.nanoTime();
      long led = this.term.getAsLong();
      long after = System.nanoTime();
      if (led == NOT_LEADING) {
        open = null;
      } else {
        synchronized (this.claims) {
          if (open != null && open.term() == led) {
            this.claims.remove(open);
            open = new Claim(this.node, led, open.from(), before);
          } else {
            open = new Claim(this.node, led, after, after);
          }
          this.claims.add(open);
        }
      }
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  /** The claims so far. */
  List<Claim> all() {
    synchronized (this.claims) {
      return List.copyOf(this.claims);
    }
  }

  /** When the node last said that it leads. */
  long last() {
    List<Claim> all = all();
    return all.get(all.size() - 1).to();
  }

  @Override
  public void close() {
    this.closed = true;
    try {
      this.asking.join();
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }
}
