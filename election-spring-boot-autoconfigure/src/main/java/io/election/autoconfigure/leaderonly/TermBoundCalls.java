package io.election.autoconfigure.leaderonly;

import io.election.ElectionService;
import org.springframework.beans.factory.config.BeanPostProcessor;

/** Hears of the {@link io.election.LeaderOnly} calls on a thread and the terms in which they began. */
public interface TermBoundCalls {

  /**
   * Tells whether the terms of an election mean anything here.
   *
   * @param election the election
   * @return whether calls of the election are to be told
   */
  boolean concern(ElectionService election);

  /**
   * A call has begun on this thread; {@link #end()} follows on the same one.
   *
   * @param election the election that this node leads
   * @param term the term in which the call began
   */
  void begin(ElectionService election, long term);

  /**
   * How much work of an election was refused, since its term had ended.
   *
   * @param serviceId the name of the election
   * @return the count since the start
   */
  long rejections(String serviceId);

  /**
   * Binds the transaction managers of one context to the terms of calls.
   *
   * @return a post-processor for that context
   */
  BeanPostProcessor installer();

  /** The call that began last on this thread has ended. */
  void end();
}
