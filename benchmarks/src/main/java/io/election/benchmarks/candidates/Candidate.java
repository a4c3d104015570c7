package io.election.benchmarks.candidates;

import io.election.test.process.Claim;
import java.util.List;

/** A way to elect a leader, as an application would use it. */
interface Candidate {

  /**
   * Takes part in elections.
   *
   * @param elections their names
   * @throws Exception if it cannot
   */
  void join(List<String> elections) throws Exception;

  /**
   * Answers as the application is answered.
   *
   * @param election one of those joined
   * @return whether this process leads
   */
  boolean isLeader(String election);

  /**
   * Tells the term in which this process leads.
   *
   * @param election one of those joined, which this process leads
   * @return the term; {@link Claim#NO_TERM} if there are none, or if it has just ended
   */
  default long term(String election) {
    return Claim.NO_TERM;
  }

  /** Does what an application does at a clean stop. */
  void leave();
}
