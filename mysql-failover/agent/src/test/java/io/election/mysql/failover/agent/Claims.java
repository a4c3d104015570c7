package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Sampler.Writable;
import io.election.mysql.failover.agent.Writer.Written;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** Invariants of a set. Each method returns the violations. */
final class Claims {

  /** How long a server may be writable after it was paused. */
  private static final Duration AFTER_PAUSE = Duration.ofSeconds(2);

  /** How long a source may take to commit what replicas have received. */
  private static final Duration COMMIT = Duration.ofSeconds(10);

  private Claims() {}

  /** Two servers never acknowledge writes in intervals that certainly overlap. */
  static List<String> oneServerAcknowledges(List<Written> written) {
    Map<String, Writable> tenures = new LinkedHashMap<>();
    written.forEach((each) -> tenures.merge(
        each.server() + each.connection(),
        new Writable(each.server(), each.began(), each.at(), each.began(), each.at()),
        Writable::until));
    return overlaps(List.copyOf(tenures.values()), "both acknowledged writes");
  }

  /**
   * Two servers are never writable at once, unless one of them acknowledged nothing in the meantime
   * and either was resumed less than two seconds ago or is being rebuilt, which discards its data.
   *
   * @param resumed when servers were resumed
   * @param rebuilt when rebuilds of servers were requested
   */
  static List<String> oneServerIsWritable(
      List<Writable> writable,
      Map<String, Long> resumed,
      Map<String, Long> rebuilt,
      List<Written> written) {
    List<Writable> unexcused = writable.stream()
        .filter((each) -> hasAcknowledged(each, written)
            || !(isJustResumed(each, resumed) || isRebuilt(each, rebuilt)))
        .toList();
    return overlaps(unexcused, "were both writable");
  }

  private static List<String> overlaps(List<Writable> all, String what) {
    List<String> violations = new ArrayList<>();
    for (int i = 0; i < all.size(); i++) {
      Writable one = all.get(i);
      for (Writable other : all.subList(i + 1, all.size())) {
        if (!one.server().equals(other.server()) && one.overlaps(other)) {
          violations.add("%s and %s %s, for %d ms"
              .formatted(
                  one.server(),
                  other.server(),
                  what,
                  (Math.min(one.lastBegan(), other.lastBegan())
                          - Math.max(one.firstEnded(), other.firstEnded()))
                      / 1_000_000));
        }
      }
    }
    return violations;
  }

  private static boolean hasAcknowledged(Writable run, List<Written> written) {
    return written.stream()
        .anyMatch((each) -> each.server().equals(run.server())
            && each.at() >= run.firstBegan()
            && each.at() <= run.lastEnded());
  }

  private static boolean isJustResumed(Writable run, Map<String, Long> resumed) {
    Long at = resumed.get(run.server());
    if (at == null || run.firstEnded() < at || run.lastBegan() > at + AFTER_PAUSE.toNanos()) {
      return false;
    }
    System.out.printf(
        "%s was writable until %d ms after it was resumed%n",
        run.server(), (run.lastBegan() - at) / 1_000_000);
    return true;
  }

  private static boolean isRebuilt(Writable run, Map<String, Long> rebuilt) {
    Long at = rebuilt.get(run.server());
    return at != null && run.firstEnded() >= at;
  }

  /**
   * No replica has executed a transaction that the source lacks. The source may take a moment to
   * commit what a replica has executed.
   *
   * @param executed what the replicas had executed before
   */
  static List<String> nobodyJoinsWrongly(Map<String, GtidSet> executed, Server source)
      throws SQLException {
    long end = System.nanoTime() + COMMIT.toNanos();
    while (true) {
      GtidSet has = GtidSet.parse(source.query("SELECT @@GLOBAL.gtid_executed"));
      List<String> violations = new ArrayList<>();
      executed.forEach((name, set) -> {
        if (!has.contains(set)) {
          violations.add("%s is a replica of %s and has %s, which that source lacks"
              .formatted(name, source.name, set.subtract(has)));
        }
      });
      if (violations.isEmpty() || System.nanoTime() - end > 0) {
        return violations;
      }
      LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
    }
  }

  /** No acknowledged transaction is lost. */
  static List<String> nothingIsLost(List<Written> written, String source, Set<Long> ids) {
    List<String> lost = written.stream()
        .filter((each) -> !ids.contains(each.id()))
        .map((each) -> "%d of %s".formatted(each.id(), each.server()))
        .toList();
    return lost.isEmpty()
        ? List.of()
        : List.of("%s lacks %d acknowledged transactions, from %s to %s"
            .formatted(source, lost.size(), lost.get(0), lost.get(lost.size() - 1)));
  }
}
