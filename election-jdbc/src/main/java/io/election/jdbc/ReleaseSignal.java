package io.election.jdbc;

import java.sql.SQLException;
import java.time.Duration;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The leader's side of {@link ReleaseWatch}, on the store's connection. A failure here costs
 * followers a renew interval and nothing else.
 */
final class ReleaseSignal {

  private static final Logger log = LoggerFactory.getLogger(ReleaseSignal.class);

  private static final long RETRY = Duration.ofSeconds(30).toNanos();

  private final StoreConnection connection;
  private final ElectionDatabase database;

  /** Whether the settings and the server allow such locks. */
  private volatile boolean allowed;

  private boolean held;
  private long dueAt = System.nanoTime();

  ReleaseSignal(StoreConnection connection, ElectionDatabase database, boolean allowed) {
    this.connection = connection;
    this.database = database;
    this.allowed = allowed;
    connection.onDropped(this::forget);
  }

  boolean isAllowed() {
    return this.allowed;
  }

  /**
   * Prepares the signal that followers of this node wait for, unless that is done. If it is not
   * possible now, a later call tries again; until then followers poll at their usual times.
   */
  void prepare(Session session, String nodeId) {
    long now = System.nanoTime();
    if (this.allowed && !this.held && now - this.dueAt >= 0) {
      this.dueAt = now + RETRY;
      attempt(session, (own) -> this.held = own.dialect().prepareSignal(own, nodeId));
    }
  }

  /** Makes followers poll now rather than at their next usual time. */
  void send(Session session, String nodeId) {
    if (this.held) {
      forget();
      attempt(session, (own) -> {
        own.dialect().signal(own, nodeId);
        return true;
      });
    }
  }

  private void forget() {
    this.held = false;
    this.dueAt = System.nanoTime();
  }

  private void attempt(Session session, SqlFunction<Session, Boolean> work) {
    try {
      work.apply(session);
    } catch (SQLException ex) {
      if (!SqlError.isRefusal(ex)) {
        log.debug("A signal failed", ex);
        // What may have been prepared ends together with the connection.
        this.connection.drop();
        if (!SqlError.isConnectionLost(ex)) {
          this.dueAt = System.nanoTime() + RETRY;
        }
      } else {
        this.allowed = false;
        log.info(
            "{} does not let leaders signal that they hand a lease back ({}): followers notice it at their next poll, within a renew interval",
            this.database.location(),
            SqlError.text(ex));
      }
    }
  }
}
