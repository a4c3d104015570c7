package io.election.lease;

import io.election.HistoryEntry;
import io.election.Names;
import io.election.lease.Standing.Leading;
import io.election.lease.Standing.SteppingDown;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Reads the histories of a node's elections, once after each change of leader, so that whoever asks for
 * them is answered without a call to the store; and prunes them, once in each term of this node. Used by
 * the elector's thread.
 */
final class HistoryReader {

  /**
   * After a failure that was not the first, since histories are for people, and a call that fails costs
   * a connection.
   */
  private static final long RETRY_NANOS = Duration.ofMinutes(1).toNanos();

  /** What a change of leader changes. */
  private record Reign(String leaderId, long term, boolean over) {}

  /** Instants are readings of the {@link Ticker}. */
  private record Change(Reign reign, @Nullable Long unreadSince) {}

  private final LeaseStore store;

  private final LeaseSettings settings;

  private final Clocks clocks;

  private final ElectionLog log;

  private final Map<Candidate, Change> changes = new HashMap<>();

  /** The terms that this node has begun to lead in since it last pruned. */
  private final Map<String, Long> unpruned = new LinkedHashMap<>();

  private @Nullable Long notBefore;

  HistoryReader(LeaseStore store, LeaseSettings settings, Clocks clocks, ElectionLog log) {
    this.store = store;
    this.settings = settings;
    this.clocks = clocks;
    this.log = log;
  }

  /**
   * Prunes or reads, with one call, if it is time for that.
   *
   * @param readNanos how long reads have taken of late
   * @return whether there was something to do
   */
  boolean tend(Collection<Candidate> candidates, long readNanos) {
    if (!this.unpruned.isEmpty()) {
      prune();
      return true;
    }
    long settleNanos = this.settings.renewInterval().toNanos() / 2;
    long spreadNanos = Math.min(64 * readNanos, this.settings.leaseDuration().toNanos());
    List<Candidate> due = due(candidates, this.clocks.now(), settleNanos, spreadNanos);
    if (due.isEmpty()) {
      return false;
    }
    try {
      read(due);
    } catch (LeaseStoreException | RuntimeException ex) {
      this.log.historyUnknown(ex, failedAgain(this.clocks.now(), settleNanos), this.clocks.now());
    }
    return true;
  }

  /**
   * Gives the elections whose history has to be read now.
   *
   * @param settleNanos how long ago the change has to be: the end of a term is noted after what it tells
   *     of
   * @param spreadNanos over how long followers spread their reading
   */
  List<Candidate> due(
      Collection<Candidate> candidates, long now, long settleNanos, long spreadNanos) {
    List<Candidate> due = new ArrayList<>();
    for (Candidate candidate : candidates) {
      Change last = this.changes.get(candidate);
      Candidacy candidacy = candidate.candidacy();
      Reign reign = reign(candidacy);
      if (reign != null && (last == null || !reign.equals(last.reign()))) {
        last = new Change(reign, now);
        this.changes.put(candidate, last);
      }
      Long unreadSince = last != null ? last.unreadSince() : null;
      long wait =
          candidacy.ledLast() ? settleNanos : settleNanos + candidacy.node().spread(spreadNanos);
      if (unreadSince != null && now - unreadSince >= wait) {
        due.add(candidate);
      }
    }
    return this.notBefore != null && now - this.notBefore < 0 ? List.of() : due;
  }

  /** Reads histories with one call, and hands them to their elections. */
  private void read(List<Candidate> due) throws LeaseStoreException {
    Set<String> ids = new LinkedHashSet<>();
    due.forEach((candidate) -> ids.add(candidate.serviceId()));
    Map<String, List<HistoryEntry>> histories = this.store.history(ids);
    for (Candidate candidate : due) {
      candidate.remember(histories.getOrDefault(candidate.serviceId(), List.of()).stream()
          .map(HistoryReader::printable)
          .toList());
      this.changes.computeIfPresent(candidate, (key, read) -> new Change(read.reign(), null));
      if (candidate.candidacy().standing() instanceof Leading leading) {
        this.unpruned.put(candidate.serviceId(), leading.term());
      }
    }
    this.notBefore = null;
  }

  /** What fails waits for the next term. */
  private void prune() {
    Map<String, Long> terms = Map.copyOf(this.unpruned);
    this.unpruned.clear();
    try {
      this.store.prune(terms, this.settings.historyRetention());
    } catch (LeaseStoreException | RuntimeException ex) {
      this.log.notPruned(ex);
    }
  }

  /**
   * After a call that failed.
   *
   * @param settleNanos after how long to try again if the one before did not fail
   * @return whether the one before failed too, so that it is not the store alone
   */
  private boolean failedAgain(long now, long settleNanos) {
    boolean again = this.notBefore != null;
    this.notBefore = now + (again ? RETRY_NANOS : settleNanos);
    return again;
  }

  /**
   * Who leads as far as this node knows; {@code null} if it has not looked since it led itself, or waits
   * to lead.
   */
  private static @Nullable Reign reign(Candidacy candidacy) {
    String me = candidacy.node().id();
    if (candidacy.standing() instanceof Leading leading) {
      return new Reign(me, leading.term(), false);
    }
    if (candidacy.standing() instanceof SteppingDown down) {
      return new Reign(me, down.term(), true);
    }
    Observation seen = candidacy.seen();
    return seen != null ? reign(seen.row()) : null;
  }

  private static Reign reign(@Nullable LeaseRow row) {
    return row != null
        ? new Reign(row.leaderId(), row.term(), row.isReleased())
        : new Reign("", 0, true);
  }

  /** Somebody may have written anything into the history. */
  private static HistoryEntry printable(HistoryEntry entry) {
    UnaryOperator<@Nullable String> printable =
        (text) -> text != null ? Names.printable(text, 255) : null;
    return new HistoryEntry(
        entry.term(),
        Names.printable(entry.leaderId()),
        entry.from(),
        entry.until(),
        printable.apply(entry.reason()),
        printable.apply(entry.endReason()),
        printable.apply(entry.endedBy()),
        printable.apply(entry.note()));
  }
}
