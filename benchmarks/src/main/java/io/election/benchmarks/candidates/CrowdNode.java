package io.election.benchmarks.candidates;

import io.election.test.process.Claim;
import io.election.test.process.LeadershipLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** A process that takes part many times, as if it were as many processes. */
public final class CrowdNode {

  private CrowdNode() {}

  /**
   * Takes part until killed. What is sampled is whether any of the crowd leads; {@link LeadershipLog#led()}
   * is how many do.
   *
   * @param arguments as those of {@link CandidateNode}, and {@code crowd=…}, how many take part
   * @throws Exception if they cannot
   */
  public static void main(String[] arguments) throws Exception {
    Map<String, String> values = CandidateSettings.parse(arguments);
    CandidateSettings settings = CandidateSettings.parse(values);
    LeadershipLog claims = CandidateSettings.claims(values);
    int size = Integer.parseInt(CandidateSettings.value(values, "crowd"));
    String election = settings.electionNames().get(0);
    List<Candidate> crowd = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      CandidateSettings member = settings.named(settings.node() + "-" + i);
      Candidate candidate = settings.kind() == CandidateKind.ELECTION
          ? new ElectorCandidate(member)
          : settings.kind().create(member);
      candidate.join(List.of(election));
      crowd.add(candidate);
    }
    while (true) {
      long before = System.nanoTime();
      int leading = 0;
      for (Candidate candidate : crowd) {
        leading += candidate.isLeader(election) ? 1 : 0;
      }
      claims.sample(
          before, System.nanoTime(), leading > 0 ? Claim.NO_TERM : LeadershipLog.NOT_LEADING);
      claims.led(leading);
      LockSupport.parkNanos(1_000_000);
    }
  }
}
