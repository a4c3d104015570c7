package io.election.lease;

import io.election.lease.Step.Read;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The calls to the store that have failed and have not worked since. A read that works says nothing
 * about writes: a node may be allowed to read only. Used by the elector's thread; {@link #problem} by
 * any.
 */
final class OpenFailures {

  /**
   * What fails.
   *
   * @param text what went wrong last, for people
   * @param since when the oldest of the failures began, by the {@link Ticker}
   */
  record Problem(String text, long since) {

    Duration age(long now) {
      return Duration.ofNanos(now - this.since);
    }
  }

  private record Call(Candidate candidate, boolean write) {}

  /** The call that failed last comes last. */
  private final Map<Call, Problem> open = new LinkedHashMap<>();

  /** Whether one of those that failed has worked again. */
  private boolean mended;

  private volatile @Nullable Problem problem;

  /** After a call of an election failed. */
  void failed(Candidate candidate, Step step, String text, long now) {
    Call call = new Call(candidate, isWrite(step));
    Problem before = this.open.remove(call);
    this.open.put(call, new Problem(text, before != null ? before.since() : now));
    update();
  }

  /**
   * After a call of an election was answered.
   *
   * @param after the candidacy after the answer
   */
  void answered(Candidate candidate, Step step, Candidacy after, long now) {
    if (this.open.isEmpty()) {
      return;
    }
    // Whoever can write can read.
    this.mended |= this.open.remove(new Call(candidate, false)) != null;
    if (isWrite(step)) {
      this.mended |= this.open.remove(new Call(candidate, true)) != null;
    } else if (!after.mayHaveToWrite(now)) {
      this.open.remove(new Call(candidate, true));
    }
    update();
  }

  /**
   * Begins anew when nothing fails any more.
   *
   * @return whether something works again; empty while something fails
   */
  Optional<Boolean> settle() {
    if (!this.open.isEmpty()) {
      return Optional.empty();
    }
    boolean worksAgain = this.mended;
    this.mended = false;
    return Optional.of(worksAgain);
  }

  /** What fails now; {@code null} if nothing does. */
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
