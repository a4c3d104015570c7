package io.election.benchmarks.candidates;

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

  /** Does what an application does at a clean stop. */
  void leave();
}
