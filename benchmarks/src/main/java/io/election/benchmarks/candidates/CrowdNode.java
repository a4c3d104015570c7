package io.election.benchmarks.candidates;

import io.election.test.process.LeadershipLog;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;

/** A process that takes part many times, as if it were that many processes. */
public final class CrowdNode {

  private static final long MILLISECOND = 1_000_000;

  private CrowdNode() {}

  /**
   * Takes part until killed. Each member of the crowd has its own track of the log for each
   * election. {@link LeadershipLog#led()} is how often one of them leads.
   *
   * @param arguments as those of {@link CandidateNode}, and {@code crowd=…}, the number of members;
   *     {@code start-ms=…}, the time over which they start; {@code sample-ms=…}, the interval at
   *     which they are sampled; {@code signals=false} for electors that do not wait for hand-back
   *     signals
   * @throws Exception if they cannot take part
   */
  public static void main(String[] arguments) throws Exception {
    Map<String, String> values = CandidateSettings.parse(arguments);
    CandidateSettings settings = CandidateSettings.parse(values);
    LeadershipLog claims = CandidateSettings.claims(values);
    int size = Integer.parseInt(CandidateSettings.value(values, "crowd"));
    long start = Long.parseLong(values.getOrDefault("start-ms", "0"));
    long sample = Long.parseLong(values.getOrDefault("sample-ms", "1"));
    boolean signals = Boolean.parseBoolean(values.getOrDefault("signals", "true"));
    List<String> elections = settings.electionNames();
    List<Candidate> crowd = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      CandidateSettings member = settings.named(settings.node() + "-" + i);
      Candidate candidate = settings.kind() == CandidateKind.ELECTION
          ? new ElectorCandidate(member, signals)
          : settings.kind().create(member);
      candidate.join(elections);
      crowd.add(candidate);
      LockSupport.parkNanos(start * MILLISECOND / size);
    }
    while (true) {
      claims.led(sample(crowd, elections, claims));
      LockSupport.parkNanos(sample * MILLISECOND);
    }
  }

  private static int sample(List<Candidate> crowd, List<String> elections, LeadershipLog claims) {
    int leading = 0;
    int track = 0;
    for (Candidate candidate : crowd) {
      for (String election : elections) {
        long before = System.nanoTime();
        boolean leader = candidate.isLeader(election);
        long after = System.nanoTime();
        long term = leader ? candidate.term(election) : LeadershipLog.NOT_LEADING;
        claims.sample(track++, before, after, term);
        leading += leader ? 1 : 0;
      }
    }
    return leading;
  }
}
