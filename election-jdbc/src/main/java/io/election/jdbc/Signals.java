package io.election.jdbc;

import java.sql.SQLException;

/** Tells followers that a lease was handed back. A signal that is lost costs a renew interval. */
interface Signals {

  /**
   * Prepares the holder's session.
   *
   * @return whether {@link #send} will be noticed
   */
  boolean prepare(Session session, String holder) throws SQLException;

  /** Wakes the followers of a holder. */
  boolean send(Session session, String holder) throws SQLException;

  /**
   * Waits for a signal.
   *
   * @param session a session of the follower's own
   * @param seconds how long to wait
   * @return whether there may have been one; if not, nothing happened for so long
   */
  boolean await(Session session, String holder, long seconds) throws SQLException;
}
