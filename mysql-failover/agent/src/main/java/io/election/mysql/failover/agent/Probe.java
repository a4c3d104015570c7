package io.election.mysql.failover.agent;

import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Writes to the source as a client does: through the binary log, with acknowledgements. Shows that
 * the source is able to, and gives replicas something to receive. Used by the agent's thread.
 */
final class Probe implements AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(Probe.class);

  static final Duration INTERVAL = Duration.ofSeconds(5);

  /** How long a source that cannot commit counts as alive. */
  static final Duration PATIENCE = Duration.ofSeconds(10);

  private final MysqlServer server;
  private final LongSupplier clock;
  private @Nullable Future<Void> writing;
  private long began;
  private long succeeded;

  /**
   * @param server its connection belongs to the probe
   */
  Probe(MysqlServer server, LongSupplier clock) {
    this.server = server;
    this.clock = clock;
    forget();
  }

  /** Begins anew: for a while, nothing could be committed. */
  void forget() {
    this.began = this.clock.getAsLong();
    this.succeeded = this.began;
  }

  /**
   * Writes again if it is time, without waiting.
   *
   * @param joined whether a replica has joined: until it has received something, it is not proven to
   *     have everything
   * @return whether the last write came in time
   */
  boolean look(boolean joined) {
    long now = this.clock.getAsLong();
    Future<Void> writing = this.writing;
    try {
      if (writing != null && VitalThread.isDone(writing, 0)) {
        this.writing = null;
        this.succeeded = this.began;
      }
    } catch (SQLException ex) {
      this.writing = null;
      log.debug("The probe has failed", ex);
    }
    if (this.writing == null && (joined || now - this.began >= INTERVAL.toNanos())) {
      this.began = now;
      this.writing = VitalThread.start("probe", () -> {
        this.server.probe();
        return null;
      });
    }
    return now - this.succeeded < INTERVAL.plus(PATIENCE).toNanos();
  }

  @Override
  public void close() {
    this.server.abort();
  }
}
