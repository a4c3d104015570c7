package io.election;

/**
 * This node became the leader, and the store confirmed it.
 *
 * @param serviceId the name of the election
 * @param nodeId the id of this node
 * @param term the term that begins; 0 if the election has no terms
 * @param reason why this node could become the leader
 */
public record LeadershipAcquiredEvent(String serviceId, String nodeId, long term, Reason reason)
    implements LeadershipEvent {

  /** Why a node could become the leader. */
  public enum Reason {
    /** There was no record of the election, and it stayed unclaimed for one lease. */
    CREATED,
    /** The previous leader had handed the lease back. */
    RELEASED,
    /** The previous leader had not renewed for its whole lease. */
    EXPIRED,
    /** The record named this node: it was designated, or led before a restart. */
    DESIGNATED,
    /** The configuration allocates leadership to this node. */
    ALLOCATED
  }
}
