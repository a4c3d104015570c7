package io.election.benchmarks.candidates;

import io.election.test.process.Claim;
import io.election.test.process.LeadershipLog;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** A process that takes part, and asks every millisecond whether it leads. */
public final class CandidateNode {

  /** The prefix of the output line with the cost of a leadership query in nanoseconds. */
  public static final String QUESTION = "A question costs ";

  private static final long MILLISECOND = 1_000_000;

  private static final int BLOCKS = 40;

  private static final int QUESTIONS = 1_000_000;

  private CandidateNode() {}

  /**
   * Takes part until killed or stopped.
   *
   * @param arguments {@link CandidateSettings#arguments()}; {@code test.claims=…}, the log to
   *     write; and {@code question=true} to measure the cost of a leadership query first
   * @throws Exception if it cannot take part
   */
  public static void main(String[] arguments) throws Exception {
    Map<String, String> values = CandidateSettings.parse(arguments);
    CandidateSettings settings = CandidateSettings.parse(values);
    LeadershipLog claims = CandidateSettings.claims(values);
    Candidate candidate = settings.kind().create(settings);
    List<String> elections = settings.electionNames();
    candidate.join(elections);
    Runtime.getRuntime().addShutdownHook(new Thread(candidate::leave, "leave"));
    if (Boolean.parseBoolean(values.get("question"))) {
      measureQuestion(candidate, elections.get(0));
    }
    sample(candidate, elections, claims);
  }

  /** Queries the leadership in a tight loop once the process leads. */
  private static void measureQuestion(Candidate candidate, String election) {
    while (!candidate.isLeader(election)) {
      LockSupport.parkNanos(MILLISECOND);
    }
    double[] nanos = new double[BLOCKS];
    for (int block = 0; block < BLOCKS; block++) {
      int leading = 0;
      long start = System.nanoTime();
      for (int i = 0; i < QUESTIONS; i++) {
        leading += candidate.isLeader(election) ? 1 : 0;
      }
      nanos[block] = (double) (System.nanoTime() - start) / QUESTIONS;
      if (leading == 0) {
        System.out.println("Lost the leadership while it was asked for");
      }
    }
    // The first half is the warm-up.
    double[] warm = Arrays.copyOfRange(nanos, BLOCKS / 2, BLOCKS);
    Arrays.sort(warm);
    System.out.println(QUESTION + warm[warm.length / 2]);
  }

  private static void sample(Candidate candidate, List<String> elections, LeadershipLog claims) {
    String first = elections.get(0);
    long counted = System.nanoTime();
    while (true) {
      long before = System.nanoTime();
      boolean leader = candidate.isLeader(first);
      claims.sample(before, System.nanoTime(), leader ? Claim.NO_TERM : LeadershipLog.NOT_LEADING);
      if (before - counted > 200 * MILLISECOND) {
        claims.led((int) elections.stream().filter(candidate::isLeader).count());
        counted = before;
      }
      LockSupport.parkNanos(MILLISECOND);
    }
  }
}
