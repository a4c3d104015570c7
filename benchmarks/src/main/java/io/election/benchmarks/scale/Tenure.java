package io.election.benchmarks.scale;

/**
 * What a node said of one leadership when it was asked. All instants are {@link System#nanoTime()},
 * which is one clock for all processes of a machine.
 *
 * @param node the number of the node
 * @param election the number of the election
 * @param term its term
 * @param sent before the request was sent that began it
 * @param from after its first "yes"
 * @param to before its last "yes" was asked for
 * @param deadline until when it may say "yes" without a further renewal, as it said when it was last
 *     asked; if it said "no" before that, its last "yes"
 */
record Tenure(long node, long election, long term, long sent, long from, long to, long deadline) {

  static final int LONGS = 7;

  long[] cells() {
    return new long[] {
      this.node, this.election, this.term, this.sent, this.from, this.to, this.deadline
    };
  }

  static Tenure of(long[] cells) {
    return new Tenure(cells[0], cells[1], cells[2], cells[3], cells[4], cells[5], cells[6]);
  }

  Tenure goesOn(long to, long deadline) {
    return new Tenure(this.node, this.election, this.term, this.sent, this.from, to, deadline);
  }

  /** After its first "no", at an instant: what ended before its deadline was handed back. */
  Tenure endedBefore(long instant) {
    return instant - this.deadline < 0 ? goesOn(this.to, this.to) : this;
  }

  /** For how long two nodes were both heard to say "yes"; 0 unless both are in one election. */
  long overlap(Tenure other) {
    return rivals(other) ? common(this.from, this.to, other.from, other.to) : 0;
  }

  /**
   * For how long two could have said "yes" at most, whenever they were asked: from before the request
   * that began the leadership to its deadline.
   */
  long possibleOverlap(Tenure other) {
    return rivals(other) ? common(this.sent, this.deadline, other.sent, other.deadline) : 0;
  }

  private boolean rivals(Tenure other) {
    return this.election == other.election && this.node != other.node;
  }

  private static long common(long from, long to, long otherFrom, long otherTo) {
    long begin = from - otherFrom < 0 ? otherFrom : from;
    long end = to - otherTo < 0 ? to : otherTo;
    return Math.max(0, end - begin);
  }
}
