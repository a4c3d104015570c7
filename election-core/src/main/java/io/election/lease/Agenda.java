package io.election.lease;

import io.election.lease.Step.Acquire;
import io.election.lease.Step.Create;
import io.election.lease.Step.Read;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Touch;
import io.election.lease.Step.Wait;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Determines what is due in the elections of a node. Renewals come first, then reads, each as one
 * call for all elections; then all other calls, one election at a time and in turns. Used by the
 * elector's thread.
 */
final class Agenda {

  private final List<Candidate> candidates;

  private final RunningWork work;

  private final Clocks clocks;

  private final Backoff backoff;

  private final HoldBack holdBack;

  private final Answers answers;

  private final long renewInterval;

  /** The index of the candidate that is next in turn for a call of its own. */
  private int turn;

  private Map<Candidate, Step.Call<?>> due = Map.of();

  private long pause;

  Agenda(
      ElectorContext context,
      Node node,
      List<Candidate> candidates,
      Backoff backoff,
      HoldBack holdBack,
      Answers answers) {
    this.candidates = candidates;
    this.work = context.work();
    this.clocks = context.clocks();
    this.backoff = backoff;
    this.holdBack = holdBack;
    this.answers = answers;
    this.renewInterval = node.settings().renewInterval().toNanos();
    // Each node starts at another index, so that not all of them try for the same row first.
    this.turn = Math.floorMod(node.id().hashCode(), Math.max(1, candidates.size()));
  }

  /** Asks all candidacies for their next step. */
  void update() {
    this.due = new LinkedHashMap<>();
    this.pause = this.renewInterval;
    long now = this.clocks.now();
    for (Candidate candidate : this.candidates) {
      boolean updated = this.answers.run(
          candidate.serviceId(),
          "the next step of this node",
          () -> update(candidate, now),
          "it takes none");
      if (!updated) {
        pauseUntil(now + this.renewInterval / 4, now);
      }
    }
  }

  private void update(Candidate candidate, long now) {
    Candidacy candidacy = candidate.update();
    Step step = holdBack(next(candidate, candidacy, now), candidate, candidacy, now);
    if (step instanceof Wait await) {
      pauseUntil(await.until(), now);
    } else if (step instanceof Step.Call<?> call) {
      if (step instanceof Renew || this.backoff.isOver(now)) {
        this.due.put(candidate, call);
      } else {
        pauseUntil(now + this.backoff.remaining(now), now);
      }
    }
  }

  private Step next(Candidate candidate, Candidacy candidacy, long instant) {
    return candidacy.next(instant, this.work.isRunning(candidate.serviceId()));
  }

  /** Lets nodes that go first try for the record: until then this one follows. */
  private Step holdBack(Step step, Candidate candidate, Candidacy candidacy, long now) {
    if (!stands(step)) {
      this.holdBack.closeUnlessOpen(candidacy, candidate.serviceId(), now);
      return step;
    }
    long holdBack = this.holdBack.holdBack(candidacy, candidate.serviceId(), now);
    if (holdBack == 0) {
      return step;
    }
    pauseUntil(now + Math.min(holdBack, this.renewInterval / 4), now);
    return now - candidacy.dueAt() >= 0 ? new Read() : new Wait(candidacy.dueAt());
  }

  private static boolean stands(Step step) {
    return step instanceof Create || step instanceof Touch || step instanceof Acquire;
  }

  private void pauseUntil(long instant, long now) {
    this.pause = Math.min(this.pause, Math.max(instant - now, 0));
  }

  boolean isEmpty() {
    return this.due.isEmpty();
  }

  boolean contains(Candidate candidate) {
    return this.due.containsKey(candidate);
  }

  boolean containsRenewals() {
    return this.due.values().stream().anyMatch(Renew.class::isInstance);
  }

  /** Returns in how many nanoseconds something is due, if nothing is due now. */
  long pause() {
    return this.pause;
  }

  /**
   * Returns the most urgent due steps, as many as one call to the store can execute.
   *
   * @param preferred the candidate that is served first if the call is for one candidate alone;
   *     {@code null} for the next in turn
   */
  Map<Candidate, Step.Call<?>> mostUrgent(@Nullable Candidate preferred) {
    if (containsRenewals()) {
      return all(Renew.class, this.renewInterval);
    }
    if (this.due.values().stream().anyMatch(Read.class::isInstance)) {
      return all(Read.class, this.renewInterval / 2);
    }
    Candidate next = preferred != null && contains(preferred) ? preferred : takeTurn();
    return Map.of(next, this.due.get(next));
  }

  /**
   * Returns all steps of a kind that fall due soon, so that a node sends one call per renew
   * interval: from then on they fall due together. In the order of the elections, not in the order
   * in which they fall due.
   *
   * @param ahead how soon, in nanoseconds: all renewals fall due within a renew interval
   */
  private Map<Candidate, Step.Call<?>> all(Class<? extends Step.Call<?>> kind, long ahead) {
    Map<Candidate, Step.Call<?>> all = new LinkedHashMap<>();
    long now = this.clocks.now();
    long soon = now + ahead;
    for (Candidate candidate : this.candidates) {
      Step step = this.due.get(candidate);
      if (step == null) {
        step = next(candidate, candidate.candidacy(), soon);
      }
      if (kind.isInstance(step)) {
        all.put(candidate, kind.cast(step));
      }
    }
    return all;
  }

  /**
   * Returns the next candidate in turn, so that one that fails repeatedly does not block the
   * others.
   */
  private Candidate takeTurn() {
    Candidate next;
    do {
      next = this.candidates.get(this.turn);
      this.turn = (this.turn + 1) % this.candidates.size();
    } while (!contains(next));
    return next;
  }
}
