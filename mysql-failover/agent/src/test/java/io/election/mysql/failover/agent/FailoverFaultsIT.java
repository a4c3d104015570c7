package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.mysql.failover.agent.Writer.Written;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Applies two given faults and then random ones, from a seed, to four servers with agents in JVMs
 * of their own, while clients with and without privileges write. System properties:
 * {@code failover.rounds}, {@code failover.seed}, and {@code failover.fault} for some kinds alone.
 */
@Tag("faults")
@Tag("failover")
class FailoverFaultsIT {

  private final int rounds = Integer.getInteger("failover.rounds", 5);

  private final long seed = Long.getLong("failover.seed", System.nanoTime() % 1_000_000);

  private final Random random = new Random(this.seed);

  private final List<Fault> kinds = Pattern.compile(",")
      .splitAsStream(System.getProperty("failover.fault", ""))
      .filter((name) -> !name.isEmpty())
      .map(Fault::valueOf)
      .toList();

  /** The next faults: first the worst two, then all of them in random order, again and again. */
  private final List<Fault> deck = new ArrayList<>(
      this.kinds.isEmpty() ? List.of(Fault.WINNER_UNPLUGGED, Fault.RELAY_LOG_LOST) : List.of());

  private final List<String> violations = new ArrayList<>();

  @Test
  void noFaultMakesTwoSourcesOrLosesWhatWasAcknowledged() throws Exception {
    Path folder = Path.of("target", "failover-faults", Long.toString(this.seed));
    Files.createDirectories(folder);
    int acknowledging = this.random.nextInt(1, 3);
    System.out.printf(
        "Seed %d, %d acknowledging replicas, logs in %s%n", this.seed, acknowledging, folder);
    List<String> summary = new ArrayList<>();
    try (FailoverSet set = new FailoverSet(folder, acknowledging, "a", "b", "c", "d")) {
      String source = set.settle();
      for (int round = 1; round <= this.rounds; round++) {
        Fault fault = next();
        long began = System.nanoTime();
        System.out.printf("%s Round %d: %s, source %s%n", LocalTime.now(), round, fault, source);
        fault.strike(set, source, this.random);
        String before = source;
        source = set.settle();
        List<Written> written = set.written(began);
        Gap gap = Gap.longest(began, written);
        String line =
            "%s Round %d: %s, source %s, then %s, %.2f s without writes from %.2f s on, %.0f s in all"
                .formatted(
                    LocalTime.now(),
                    round,
                    fault,
                    before,
                    source,
                    gap.length() / 1e9,
                    (gap.since() - began) / 1e9,
                    (System.nanoTime() - began) / 1e9);
        System.out.println(line);
        summary.add(line);
        judge(set, round + " (" + fault + ")", source, began);
      }
      for (AgentProcess agent : set.agents.values()) {
        System.out.printf("Measured: an agent takes %d MB%n", agent.mostResidentMegabytes());
      }
    } finally {
      summary.forEach(System.out::println);
      System.out.printf(
          "Seed %d: %d rounds, %d violations%n", this.seed, summary.size(), this.violations.size());
      this.violations.forEach(System.out::println);
    }
    assertThat(this.violations).as("violations of seed %d", this.seed).isEmpty();
  }

  private Fault next() {
    if (this.deck.isEmpty()) {
      this.deck.addAll(this.kinds.isEmpty() ? List.of(Fault.values()) : this.kinds);
      Collections.shuffle(this.deck, this.random);
    }
    return this.deck.remove(0);
  }

  private void judge(FailoverSet set, String round, String source, long began) throws Exception {
    List<Written> all = set.written(Long.MIN_VALUE);
    List<Written> written = all.stream().filter((each) -> each.at() >= began).toList();
    List<String> found = new ArrayList<>(Claims.oneServerAcknowledges(written));
    found.addAll(
        Claims.oneServerIsWritable(set.writable(began), set.resumed, set.rebuilt, written));
    found.addAll(Claims.nothingIsLost(all, source, set.set.get(source).ids()));
    found.addAll(Claims.nobodyJoinsWrongly(set.executedByReplicas(source), set.set.get(source)));
    found.addAll(set.violations);
    set.violations.clear();
    found.forEach((violation) -> {
      System.out.println("Violation: " + violation);
      this.violations.add("Round " + round + ": " + violation);
    });
    set.refusals.forEach((refusal) -> System.out.println("Rebuilt " + refusal));
    set.refusals.clear();
    set.rebuilt.clear();
  }

  /** A time without an answer to a writer. */
  private record Gap(long since, long length) {

    static Gap longest(long began, List<Written> written) {
      Gap longest = new Gap(began, 0);
      long last = began;
      for (Written each : written) {
        if (each.at() - last > longest.length()) {
          longest = new Gap(last, each.at() - last);
        }
        last = each.at();
      }
      return longest;
    }
  }
}
