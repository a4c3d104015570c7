package io.election.store;

/**
 * What a leader needs beside its lease, for instance that an election of the application names the
 * node too. A {@link LeaseStore} may implement it. It can only keep a node from leading.
 *
 * <p>Thread-safe. Every method may block and must not throw; "no" is the answer if something fails.
 */
public interface LeadershipCondition {

  /**
   * Tries to meet the condition for a node that may try for the lease. Called by threads of its own
   * before each attempt.
   *
   * @param serviceId the name of the election
   * @return what keeps the node from leading, for display; empty if nothing does
   */
  String stand(String serviceId);

  /**
   * Returns whether the condition is met at this instant. Called whenever a node that holds the
   * lease is asked whether it leads, by the thread that asks, before the deadline of the lease is
   * compared. If it is not, the node hands its lease back.
   *
   * @param serviceId the name of the election
   */
  boolean confirms(String serviceId);

  /** Returns whether there is anything to ask; always the same. Otherwise nothing is asked. */
  boolean isConditional();
}
