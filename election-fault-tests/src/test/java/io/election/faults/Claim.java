package io.election.faults;

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
record Claim(String node, long term, long from, long to) {

  static final long NO_TERM = 0;

  boolean hasTerm() {
    return this.term != NO_TERM;
  }

  boolean isOfOneTermWith(@Nullable Claim other) {
    return other != null && this.term == other.term && this.node.equals(other.node);
  }

  Claim withoutTerm() {
    return new Claim(this.node, NO_TERM, this.from, this.to);
  }

  boolean overlaps(Claim other) {
    return this.from - other.to <= 0 && other.from - this.to <= 0;
  }
}
