package io.election;

/**
 * A change of this node's leadership in one election.
 *
 * <p>For each election acquired and lost alternate strictly, beginning with acquired. Those of a lease are
 * delivered on a thread of their own: a listener that is slow delays later events, one that throws is
 * logged, and neither harms the election. A listener that came too late for an event can ask {@link
 * ElectionService#leadership()}.
 */
public sealed interface LeadershipEvent permits LeadershipAcquiredEvent, LeadershipLostEvent {

  /**
   * The name of the election.
   *
   * @return the name
   */
  String serviceId();

  /**
   * This node.
   *
   * @return the node id
   */
  String nodeId();

  /**
   * The term that began or ended.
   *
   * @return the term; 0 where the election has no terms
   */
  long term();
}
