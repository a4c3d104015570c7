package io.election.benchmarks.sidebyside;

import io.election.support.process.LeadershipLog;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Scanner;
import java.util.concurrent.locks.LockSupport;
import org.apache.commons.math3.stat.StatUtils;
import org.jspecify.annotations.Nullable;
import org.springframework.core.env.SimpleCommandLinePropertySource;

/** A process that takes part, once or many times, and asks each millisecond whether it leads. */
final class CandidateNode {

  /** The prefix of the output line with the cost of a leadership query in nanoseconds. */
  static final String QUESTION = "A question costs ";

  private static final long MILLISECOND = 1_000_000;

  private static final int BLOCKS = 40;

  private static final int QUESTIONS = 1_000_000;

  private CandidateNode() {}

  /**
   * Takes part until killed or stopped.
   *
   * @param arguments {@code --settings}, see {@link CandidateSettings}; {@code --test.claims}, the
   *     log to write; {@code --question} to measure the cost of a leadership query first; {@code
   *     --crowd} to take part that many times, with a track of the log for each member and election
   *     ({@code --start-ms}, the time over which they start; {@code --sample-ms}, the interval at
   *     which they are sampled; {@code --signals=false} for electors without hand-back signals)
   */
  public static void main(String[] arguments) throws Exception {
    var options = new SimpleCommandLinePropertySource(arguments);
    CandidateSettings settings =
        CandidateSettings.parse(Objects.requireNonNull(options.getProperty("settings")));
    // A node that is not sampled for 100 ms, for example while paused, counts as claiming nothing.
    LeadershipLog claims = LeadershipLog.open(
        Path.of(Objects.requireNonNull(options.getProperty("test.claims"))),
        Duration.ofMillis(100));
    List<String> elections = settings.electionNames();
    boolean crowd = options.containsProperty("crowd");
    long size = number(options.getProperty("crowd"), 1);
    List<Candidate> candidates = new ArrayList<>();
    for (int i = 0; i < size; i++) {
      candidates.add(
          crowd
              ? member(
                  settings.of(settings.node() + "-" + i, settings.place().port()),
                  !"false".equals(options.getProperty("signals")))
              : settings.kind().create(settings));
      candidates.get(i).join(elections);
      LockSupport.parkNanos(number(options.getProperty("start-ms"), 0) * MILLISECOND / size);
    }
    if (!crowd) {
      Runtime.getRuntime().addShutdownHook(new Thread(candidates.get(0)::leave, "leave"));
      Thread operator = new Thread(() -> obey(candidates.get(0), elections.get(0)), "operator");
      operator.setDaemon(true);
      operator.start();
    }
    if (options.containsProperty("question")) {
      measureQuestion(candidates.get(0), elections.get(0));
    }
    long pause = number(options.getProperty("sample-ms"), 1) * MILLISECOND;
    long counted = System.nanoTime();
    while (true) {
      sample(candidates, crowd ? elections : elections.subList(0, 1), claims);
      if (System.nanoTime() - counted > 200 * MILLISECOND) {
        claims.led((int) candidates.stream()
            .mapToLong(
                (candidate) -> elections.stream().filter(candidate::isLeader).count())
            .sum());
        counted = System.nanoTime();
      }
      LockSupport.parkNanos(pause);
    }
  }

  /** Resigns for each line of the standard input. */
  private static void obey(Candidate candidate, String election) {
    new Scanner(System.in).forEachRemaining((line) -> candidate.resign(election));
  }

  private static long number(@Nullable String value, long otherwise) {
    return value != null ? Long.parseLong(value) : otherwise;
  }

  /** One of hundreds of our nodes in this process does without Spring Boot. */
  private static Candidate member(CandidateSettings settings, boolean signals) {
    return settings.kind().isOurs()
        ? new ElectorCandidate(settings, signals)
        : settings.kind().create(settings);
  }

  private static void sample(
      List<Candidate> candidates, List<String> elections, LeadershipLog claims) {
    int track = 0;
    for (Candidate candidate : candidates) {
      for (String election : elections) {
        long before = System.nanoTime();
        boolean leader = candidate.isLeader(election);
        long after = System.nanoTime();
        long term = leader ? candidate.term(election) : LeadershipLog.NOT_LEADING;
        claims.sample(track++, before, after, term);
      }
    }
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
    System.out.println(QUESTION + StatUtils.percentile(nanos, BLOCKS / 2, BLOCKS / 2, 50));
  }
}
