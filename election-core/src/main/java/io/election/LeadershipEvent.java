package io.election;

/**
 * A change of this node's leadership in one election.
 *
 * <p>For each election, acquired and lost events alternate strictly, beginning with acquired.
 * Events of a lease-based election are delivered on a dedicated thread: a slow listener delays
 * later events, an exception of a listener is logged, and neither affects the election. A listener
 * that was registered too late for an event can call {@link ElectionService#leadership()}.
 */
public sealed interface LeadershipEvent permits LeadershipAcquiredEvent, LeadershipLostEvent {

  /**
   * Returns the name of the election.
   *
   * @return the name
   */
  String serviceId();

  /**
   * Returns the id of this node.
   *
   * @return the node id
   */
  String nodeId();

  /**
   * Returns the term that began or ended.
   *
   * @return the term; 0 if the election has no terms
   */
  long term();
}
