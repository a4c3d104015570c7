package io.election.jdbc;

import io.election.ElectionSetupException;
import io.election.store.LeaseStoreException;
import java.sql.SQLException;
import java.time.Duration;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The only connection of a store. It is opened for the first call, kept between calls, and dropped
 * after any failure. It ends each call within the operation time-out and explains its failure.
 *
 * <p>Not thread-safe: use it from one thread at a time.
 */
final class StoreConnection {

  private static final Logger log = LoggerFactory.getLogger(StoreConnection.class);

  private final ElectionDatabase database;
  private final LeaderElectionSchema schema;
  private final Duration operationTimeout;
  private final long restSeconds;

  private Runnable dropped = () -> {};
  private @Nullable Session session;
  private Statements.@Nullable Facts last;
  private long lastUse;

  StoreConnection(
      ElectionDatabase database,
      LeaderElectionSchema schema,
      Duration operationTimeout,
      long restSeconds) {
    this.database = database;
    this.schema = schema;
    this.operationTimeout = operationTimeout;
    this.restSeconds = restSeconds;
  }

  /** Sets the action that is run each time the connection has been dropped. */
  void onDropped(Runnable dropped) {
    this.dropped = dropped;
  }

  /**
   * Makes a call.
   *
   * @param what what the call does, as the subject of the sentence that explains a failure
   * @throws LeaseStoreException if the call fails; the connection is then dropped, unless only the
   *     member table cannot be used
   */
  <T> T call(String what, SqlFunction<Session, T> work) throws LeaseStoreException {
    Session session = null;
    try {
      session = session();
      T result = work.apply(session);
      this.lastUse = System.nanoTime();
      return result;
    } catch (MemberTable.UnusableException ex) {
      // The server has answered, and the leases do not need that table.
      this.lastUse = System.nanoTime();
      throw new LeaseStoreException(SqlError.text(ex), ex);
    } catch (SQLException ex) {
      drop();
      if (SqlError.MISSING_TABLE.is(ex) || SqlError.MISSING_COLUMN.is(ex)) {
        this.schema.recheck();
      }
      String bound = Diagnosis.bound(this.operationTimeout, this.operationTimeout);
      throw Diagnosis.of(ex, what, this.database, session, bound);
    } catch (ElectionSetupException ex) {
      drop();
      throw new LeaseStoreException(what + " failed. " + ex.getMessage(), ex);
    } catch (ArithmeticException ex) {
      drop();
      throw new LeaseStoreException(
          what
              + " failed: the term in leader_election or leader_election_history is the greatest possible. Was it edited by hand? Set it back in both tables, then restart all nodes: each remembers the highest term that it has seen.",
          ex);
    } catch (RuntimeException | Error ex) {
      drop();
      throw ex;
    }
  }

  /**
   * Writes an informational note by a separate statement. Its failure is not a failure of the call,
   * and it takes at most half of the time that the call has left.
   */
  void note(String what, Session session, String sql, @Nullable Object... parameters) {
    try {
      session.until(session.deadline().halfway());
      session.updateOne(sql, parameters);
    } catch (SQLException ex) {
      log.debug("{} was not noted", what, ex);
      drop();
    }
  }

  /** Drops the connection. The next call opens another. */
  void drop() {
    Session session = this.session;
    this.session = null;
    this.dropped.run();
    if (session != null) {
      session.close();
    }
  }

  private Session session() throws SQLException, LeaseStoreException {
    Session session = this.session;
    if (session != null) {
      long rest = System.nanoTime() - this.lastUse;
      if (rest <= session.facts.restMillis() * 750_000L) {
        session.until(Deadline.in(this.operationTimeout));
        return session;
      }
      // The server has ended the connection, or will do so within the call.
      drop();
    }
    this.schema.ensure();
    session = Session.open(this.database, Deadline.in(this.operationTimeout), this.restSeconds);
    this.session = session;
    this.lastUse = System.nanoTime();
    warnIfMoved(session.facts);
    return session;
  }

  private void warnIfMoved(Statements.Facts now) {
    Statements.Facts before = this.last;
    if (before != null && !before.source().equals(now.source())) {
      log.warn(
          "The database of the election is another server now: {} ({}), before it was {} ({}). Its records are watched for a whole lease again. If this was no failover or restart, both servers may accept writes, and each would have its own leader",
          now.host(),
          now.source(),
          before.host(),
          before.source());
    }
    this.last = now;
  }
}
