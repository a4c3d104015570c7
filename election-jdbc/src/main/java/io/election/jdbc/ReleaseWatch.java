package io.election.jdbc;

import io.election.store.LeaseStoreException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/**
 * Waits for the {@linkplain Dialect#awaitSignal signal} that a lease was handed back.
 *
 * <p>Uses a connection of its own while it waits. If connections are scarce, it leaves them to
 * nodes that need one. After each wait in vain it stays disconnected for long enough that every
 * node that cannot connect tries again. It stays disconnected for longer once the server has
 * refused a connection.
 */
final class ReleaseWatch implements ReleaseListener.Signal {

  /** How long a wait lasts, and a dead connection goes unnoticed: long enough to cost nothing. */
  private static final Duration PATIENCE = Duration.ofMinutes(1);

  private final ElectionDatabase database;
  private final Duration operationTimeout;
  private final long restSeconds;
  private final Duration patience;
  private final CountDownLatch closed = new CountDownLatch(1);
  private @Nullable Session session;

  ReleaseWatch(ElectionDatabase database, Duration operationTimeout, long restSeconds) {
    this(database, operationTimeout, restSeconds, PATIENCE);
  }

  ReleaseWatch(
      ElectionDatabase database, Duration operationTimeout, long restSeconds, Duration patience) {
    this.database = database;
    this.operationTimeout = operationTimeout;
    this.restSeconds = restSeconds;
    this.patience = patience;
  }

  @Override
  public boolean await(String holder, Runnable look) throws LeaseStoreException {
    if (this.database.isCrowded()) {
      throw new LeaseStoreException(
          "%s had no connection left: for a while this node does not wait for leases to be handed back. If connections are scarce, set as.election.%s.hand-back-signals=false on all nodes."
              .formatted(this.database.location(), this.database.dialect().shortName()));
    }
    boolean heard = listen(holder, look);
    if (!heard) {
      leaveTheConnectionToOthers();
    }
    return heard;
  }

  private boolean listen(String holder, Runnable look) throws LeaseStoreException {
    Duration bound = this.operationTimeout;
    try {
      Session session = open();
      bound = this.patience.plus(this.operationTimeout);
      session.until(Deadline.in(bound));
      boolean free = session.dialect().awaitSignal(session, holder, this.patience.toSeconds());
      if (free) {
        look.run();
      }
      return free;
    } catch (SQLException ex) {
      throw Diagnosis.of(
          ex,
          "Waiting for a lease to be handed back",
          this.database,
          this.session,
          Diagnosis.bound(bound, this.operationTimeout));
    } finally {
      // This also frees the lock.
      discard();
    }
  }

  /** Waits for two renew intervals, because a node that cannot connect tries once in each. */
  private void leaveTheConnectionToOthers() throws LeaseStoreException {
    try {
      var unused = this.closed.await(this.restSeconds, TimeUnit.SECONDS);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new LeaseStoreException("Interrupted between two waits for a signal", ex);
    }
  }

  private Session open() throws SQLException {
    Session opened =
        Session.open(this.database, Deadline.in(this.operationTimeout), this.restSeconds);
    synchronized (this) {
      if (this.closed.getCount() > 0) {
        this.session = opened;
        return opened;
      }
    }
    opened.close();
    throw new SQLException("The signal is closed");
  }

  private synchronized void discard() {
    if (this.session != null) {
      this.session.close();
      this.session = null;
    }
  }

  @Override
  public synchronized void close() {
    this.closed.countDown();
    discard();
  }
}
