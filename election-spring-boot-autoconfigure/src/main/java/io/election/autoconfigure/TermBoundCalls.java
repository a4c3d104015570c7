package io.election.autoconfigure;

import io.election.ElectionService;

/** Hears of the {@link io.election.LeaderOnly} calls on a thread and the terms in which they began. */
interface TermBoundCalls {

  /**
   * Tells whether the terms of an election mean anything here.
   *
   * @param election the election
   */
  boolean concern(ElectionService election);

  /** A call has begun on this thread; {@link #end()} follows on the same one. */
  void begin(ElectionService election, long term);

  /** How much work of an election was refused, since its term had ended. */
  long rejections(String serviceId);

  /** The call that began last on this thread has ended. */
  void end();
}
