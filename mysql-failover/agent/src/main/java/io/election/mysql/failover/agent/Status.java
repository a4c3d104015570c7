package io.election.mysql.failover.agent;

/**
 * The status of a server, as its agent publishes it.
 *
 * @param role the role of the server
 * @param reason the reason for the role; may be empty
 * @param lagSeconds the lag of the applier, in seconds
 */
record Status(Role role, String reason, long lagSeconds) {

  enum Role {
    /** The agent has not checked the server yet, or cannot reach it. */
    UNKNOWN,
    /** The server applies the received transactions and is about to become the source. */
    PROMOTING,
    /** The server accepts writes. */
    SOURCE,
    /** The server replicates from the source. */
    REPLICA,
    /** The server waits for a source, or is a source that waits for acknowledging replicas. */
    WAITING,
    /** The server may not join the source. */
    REFUSED
  }
}
