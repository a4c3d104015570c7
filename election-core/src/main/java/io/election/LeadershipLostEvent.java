package io.election;

/**
 * This node is no longer the leader. Published at the deadline of the lease at the latest, even
 * while a call to the store hangs.
 *
 * <p>The next node may lead before a listener of this event has run. What must have stopped by then,
 * such as a consumer or a poller, is to be {@link LeaderBound}.
 *
 * @param serviceId the name of the election
 * @param nodeId the id of this node
 * @param term the term that ended; 0 if the election has no terms
 * @param reason why the leadership ended
 */
public record LeadershipLostEvent(String serviceId, String nodeId, long term, Reason reason)
    implements LeadershipEvent {

  /** Why a leadership ended. */
  public enum Reason {
    /** No renewal was confirmed before the deadline. */
    EXPIRED,
    /** The record no longer names this node in this term: it was edited or deleted. */
    DISPLACED,
    /** {@link ElectionService#lostLeader()} was called, or a new election was forced. */
    RESIGNED,
    /**
     * Another node was designated, or a part of the list of stores that is no store no longer names
     * this node.
     */
    HANDED_OVER,
    /** The node was {@linkplain ElectionOperations#pause paused}. */
    PAUSED,
    /** The node is being stopped. */
    STOPPED
  }
}
