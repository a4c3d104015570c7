package io.election.lease;

import io.election.Names;
import io.election.PastTerm;
import io.election.lease.State.Draining;
import io.election.lease.State.Leader;
import io.election.store.ElectionDirectory;
import io.election.store.LeaseRow;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStoreException;
import io.election.store.Ticker;
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
 * Reads the histories of a node's elections once after each change of leader, so that they can be
 * shown without a call to the store. Prunes them once in each term of this node. Does nothing if
 * the store is not an {@link ElectionDirectory}. Used by the elector's thread.
 */
final class HistoryReader {

  /**
   * How long to wait after a repeated failure: histories are for display only, and a failed call
   * costs a connection.
   */
  private static final long RETRY_NANOS = Duration.ofMinutes(1).toNanos();

  /** The values that differ after a change of leader. */
  private record LeadershipView(String leaderId, long term, boolean over) {}

  /** Instants are readings of the {@link Ticker}. */
  private record Change(LeadershipView view, @Nullable Long unreadSince) {}

  private final @Nullable ElectionDirectory directory;

  private final LeaseSettings settings;

  /**
   * How long after a change of leader its history is read: the end of a term is recorded after the
   * change that it explains.
   */
  private final long settleNanos;

  private final Clocks clocks;

  private final ElectionLog log;

  private final Map<Candidate, Change> changes = new HashMap<>();

  /** The terms in which this node has begun to lead since it last pruned. */
  private final Map<String, Long> unpruned = new LinkedHashMap<>();

  private @Nullable Long notBefore;

  HistoryReader(
      @Nullable ElectionDirectory directory,
      LeaseSettings settings,
      Clocks clocks,
      ElectionLog log) {
    this.directory = directory;
    this.settings = settings;
    this.settleNanos = settings.renewInterval().toNanos() / 2;
    this.clocks = clocks;
    this.log = log;
  }

  /** Prunes or reads with one call, if either is due. Returns whether there was something to do. */
  boolean runBackgroundTask(Collection<Candidate> candidates) {
    if (this.directory == null) {
      return false;
    }
    if (!this.unpruned.isEmpty()) {
      prune(this.directory);
      return true;
    }
    List<Candidate> due = due(candidates, this.clocks.now());
    if (due.isEmpty()) {
      return false;
    }
    try {
      read(this.directory, due);
    } catch (Throwable ex) {
      this.log.historyUnknown(ex, failedAgain(this.clocks.now()), this.clocks.now());
    }
    return true;
  }

  /**
   * Returns the elections whose history must be read now. Followers spread their reads over a
   * lease, because all of them see the same change.
   */
  List<Candidate> due(Collection<Candidate> candidates, long now) {
    long spreadNanos = this.settings.leaseDuration().toNanos();
    List<Candidate> due = new ArrayList<>();
    for (Candidate candidate : candidates) {
      Change last = this.changes.get(candidate);
      Candidacy candidacy = candidate.candidacy();
      LeadershipView view = view(candidacy);
      if (view != null && (last == null || !view.equals(last.view()))) {
        last = new Change(view, now);
        this.changes.put(candidate, last);
      }
      Long unreadSince = last != null ? last.unreadSince() : null;
      long spread = candidacy.ledLast() ? 0 : candidacy.node().spread(spreadNanos);
      if (unreadSince != null && now - unreadSince >= this.settleNanos + spread) {
        due.add(candidate);
      }
    }
    return this.notBefore != null && now - this.notBefore < 0 ? List.of() : due;
  }

  /** Reads histories with one call, and passes them to their elections. */
  private void read(ElectionDirectory directory, List<Candidate> due) throws LeaseStoreException {
    Set<String> ids = new LinkedHashSet<>();
    due.forEach((candidate) -> ids.add(candidate.serviceId()));
    Map<String, List<PastTerm>> histories = directory.history(ids);
    for (Candidate candidate : due) {
      candidate.remember(histories.getOrDefault(candidate.serviceId(), List.of()).stream()
          .map(HistoryReader::printable)
          .toList());
      this.changes.computeIfPresent(candidate, (key, read) -> new Change(read.view(), null));
      if (candidate.candidacy().state() instanceof Leader leader) {
        this.unpruned.put(candidate.serviceId(), leader.term());
      }
    }
    this.notBefore = null;
  }

  /** Prunes the histories. A failed deletion is not repeated before the next term. */
  private void prune(ElectionDirectory directory) {
    Map<String, Long> terms = Map.copyOf(this.unpruned);
    this.unpruned.clear();
    try {
      directory.prune(terms, this.settings.historyRetention());
    } catch (Throwable ex) {
      this.log.notPruned(ex);
    }
  }

  /** Applies a failed call. Returns whether the previous call failed too. */
  private boolean failedAgain(long now) {
    boolean again = this.notBefore != null;
    this.notBefore = now + (again ? RETRY_NANOS : this.settleNanos);
    return again;
  }

  /**
   * Returns who leads as far as this node knows; {@code null} if it has not read the record since
   * it led, or waits to lead.
   */
  private static @Nullable LeadershipView view(Candidacy candidacy) {
    String me = candidacy.node().id();
    if (candidacy.state() instanceof Leader leader) {
      return new LeadershipView(me, leader.term(), false);
    }
    if (candidacy.state() instanceof Draining draining) {
      return new LeadershipView(me, draining.term(), true);
    }
    Observation seen = candidacy.seen();
    return seen != null ? view(seen.row()) : null;
  }

  private static LeadershipView view(@Nullable LeaseRow row) {
    return row != null
        ? new LeadershipView(row.leaderId(), row.term(), row.isReleased())
        : new LeadershipView("", 0, true);
  }

  /** The history may contain any text, because others can write to it. */
  private static PastTerm printable(PastTerm entry) {
    UnaryOperator<@Nullable String> printable =
        (text) -> text != null ? Names.printable(text, 255) : null;
    return new PastTerm(
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
