package io.election.mysql.failover.agent;

/**
 * What the agent shows of its server.
 *
 * @param role what the server is
 * @param reason why it is that; may be empty
 * @param lagSeconds how far the applier is behind
 */
record Status(Role role, String reason, long lagSeconds) {

  /** The roles of a server. */
  enum Role {
    /** The agent has not looked at it yet, or cannot reach it. */
    UNKNOWN,
    /** It applies what it has received, and becomes the source. */
    PROMOTING,
    /** It accepts writes. */
    SOURCE,
    /** It replicates from the source. */
    REPLICA,
    /** It waits for a source. */
    WAITING,
    /** It may not join the source. */
    REFUSED
  }
}
