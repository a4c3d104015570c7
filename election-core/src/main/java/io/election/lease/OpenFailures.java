package io.election.lease;

import io.election.lease.Step.Read;
import io.election.store.Ticker;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The calls to the store that have failed and have not succeeded since. A successful read says
 * nothing about writes, because a node may have permission only to read. Used by the elector's
 * thread; {@link #problem} by any thread.
 */
final class OpenFailures {

  /**
   * A current failure.
   *
   * @param text the last failure, for display
   * @param since when the oldest of the failures began, by the {@link Ticker}
   */
  record Problem(String text, long since) {

    Duration age(long now) {
      return Duration.ofNanos(now - this.since);
    }
  }

  private record Call(Candidate candidate, boolean write) {}

  /** The call that failed last is the last entry. */
  private final Map<Call, Problem> open = new LinkedHashMap<>();

  /** Whether one of the failed calls has succeeded since. */
  private boolean mended;

  private volatile @Nullable Problem problem;

  /**
   * Applies a failed call of an election.
   *
   * @return whether it has failed before for the same reason, and not succeeded since
   */
  boolean failed(Candidate candidate, Step step, String text, long now) {
    Call call = new Call(candidate, isWrite(step));
    Problem before = this.open.remove(call);
    this.open.put(call, new Problem(text, before != null ? before.since() : now));
    update();
    return before != null && before.text().equals(text);
  }

  /**
   * Applies an answered call of an election.
   *
   * @param after the candidacy after the answer
   */
  void answered(Candidate candidate, Step step, Candidacy after, long now) {
    if (this.open.isEmpty()) {
      return;
    }
    // A successful write implies that reads work.
    this.mended |= this.open.remove(new Call(candidate, false)) != null;
    if (isWrite(step)) {
      this.mended |= this.open.remove(new Call(candidate, true)) != null;
    } else if (!after.mayHaveToWrite(now)) {
      this.open.remove(new Call(candidate, true));
    }
    update();
  }

  /**
   * Resets the state if no call fails any more.
   *
   * @return whether a call that failed has succeeded since; empty while a call fails
   */
  Optional<Boolean> settle() {
    if (!this.open.isEmpty()) {
      return Optional.empty();
    }
    boolean worksAgain = this.mended;
    this.mended = false;
    return Optional.of(worksAgain);
  }

  /** Returns the current failure; {@code null} if there is none. */
  @Nullable
  Problem problem() {
    return this.problem;
  }

  private void update() {
    Problem last = null;
    for (Problem failure : this.open.values()) {
      last = last != null && last.since() - failure.since() < 0
          ? new Problem(failure.text(), last.since())
          : failure;
    }
    this.problem = last;
  }

  private static boolean isWrite(Step step) {
    return !(step instanceof Read);
  }
}
