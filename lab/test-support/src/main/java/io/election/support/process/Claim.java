package io.election.support.process;

import org.jspecify.annotations.Nullable;

/**
 * An interval in which a process certainly claimed to lead: from after the first {@code true} to
 * before the last one of a term.
 *
 * @param node the process
 * @param term the term; {@link #NO_TERM} for a tool without terms
 * @param from {@link System#nanoTime()} after the first {@code true} was returned
 * @param to {@link System#nanoTime()} before the call that returned the last {@code true}
 */
public record Claim(String node, long term, long from, long to) {

  public static final long NO_TERM = 0;

  public boolean hasTerm() {
    return this.term != NO_TERM;
  }

  /** Whether this claim and another one, if there is one, are of one process in one term. */
  public boolean isOfOneTermWith(@Nullable Claim other) {
    return other != null && this.term == other.term && this.node.equals(other.node);
  }

  public Claim withoutTerm() {
    return new Claim(this.node, NO_TERM, this.from, this.to);
  }

  boolean overlaps(Claim other) {
    return this.from - other.to <= 0 && other.from - this.to <= 0;
  }

  /** The nanoseconds for which this claim and another one overlap after an instant. */
  public long overlap(Claim other, long since) {
    long begin = Math.max(Math.max(this.from - since, other.from - since), 0);
    long end = Math.min(this.to - since, other.to - since);
    return Math.max(0, end - begin);
  }
}
