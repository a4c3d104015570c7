package io.election.test.process;

import org.jspecify.annotations.Nullable;

/**
 * A stretch of time in which a process surely claimed to lead: from after the first {@code true} to
 * before the last one of a term.
 *
 * @param node the process
 * @param term the term; {@link #NO_TERM} of a tool that knows no terms
 * @param from {@link System#nanoTime()} after the first {@code true} was returned
 * @param to {@link System#nanoTime()} before the last {@code true} was asked for
 */
public record Claim(String node, long term, long from, long to) {

  /** The term of a tool that knows no terms. */
  public static final long NO_TERM = 0;

  /** Tells a claim whose term counts. */
  public boolean hasTerm() {
    return this.term != NO_TERM;
  }

  /**
   * Compares two claims.
   *
   * @param other another claim, or none
   * @return whether both are of one process in one term
   */
  public boolean isOfOneTermWith(@Nullable Claim other) {
    return other != null && this.term == other.term && this.node.equals(other.node);
  }

  /** Forgets the term. */
  public Claim withoutTerm() {
    return new Claim(this.node, NO_TERM, this.from, this.to);
  }

  boolean overlaps(Claim other) {
    return this.from - other.to <= 0 && other.from - this.to <= 0;
  }

  /**
   * Measures for how long this claim and another hold at once.
   *
   * @param other of another process
   * @param since what was before does not count
   * @return nanoseconds, at least 0
   */
  public long overlap(Claim other, long since) {
    long begin = Math.max(Math.max(this.from - since, other.from - since), 0);
    long end = Math.min(this.to - since, other.to - since);
    return Math.max(0, end - begin);
  }
}
