package io.election.autoconfigure.leaderonly;

import io.election.ElectionService;

/**
 * Is notified of the {@link io.election.LeaderOnly} calls on a thread and the terms in which they
 * began.
 */
public interface TermBoundCalls {

  /**
   * Returns whether the terms of an election are relevant here.
   *
   * @param election the election
   * @return whether calls of the election must be reported
   */
  boolean appliesTo(ElectionService election);

  /**
   * Called when a call has begun on this thread; {@link #end()} follows on the same thread.
   *
   * @param election the election that this node leads
   * @param term the term in which the call began
   */
  void begin(ElectionService election, long term);

  /**
   * Returns how often work of an election was refused because its term had ended.
   *
   * @param serviceId the name of the election
   * @return the count since the start
   */
  long rejections(String serviceId);

  /** Called when the call that began last on this thread has ended. */
  void end();
}
