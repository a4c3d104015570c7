package io.election.benchmarks.sidebyside;

import io.election.support.process.Claim;
import java.util.List;

/** A way to elect a leader, as an application uses it. */
interface Candidate {

  /** Takes part in elections. */
  void join(List<String> elections) throws Exception;

  /** Answers as it would answer an application; with a consumer, whether that runs. */
  boolean isLeader(String election);

  /**
   * Returns the term in which this process leads; {@link Claim#NO_TERM} if the candidate has no
   * terms, or if the term has just ended.
   */
  default long term(String election) {
    return Claim.NO_TERM;
  }

  /** Hands the leadership on, on request. */
  default void resign(String election) {
    throw new UnsupportedOperationException();
  }

  /** Does what an application does at a clean stop. */
  void leave();
}
