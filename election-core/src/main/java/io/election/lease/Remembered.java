package io.election.lease;

/**
 * What a process remembers about an election across standings.
 *
 * @param highestTerm the highest term seen; a new term is above it
 * @param ledTerm the last term in which a store has confirmed this node as leader since it started;
 *     0 if none. A term that was only read may belong to a copy of this process
 * @param promisedMillis the lease that the last record seen promised its holder, in milliseconds;
 *     the holder may still lead when the record and its history are gone. 0 if no record was seen
 */
record Remembered(long highestTerm, long ledTerm, long promisedMillis) {

  static final Remembered NONE = new Remembered(0, 0, 0);

  Remembered seen(long term) {
    return new Remembered(Math.max(this.highestTerm, term), this.ledTerm, this.promisedMillis);
  }

  Remembered led(long term) {
    return new Remembered(Math.max(this.highestTerm, term), term, this.promisedMillis);
  }

  Remembered promised(long millis) {
    return new Remembered(this.highestTerm, this.ledTerm, millis);
  }

  /**
   * Returns whether the store confirmed this node as leader in the highest term that it has seen.
   */
  boolean ledHighest() {
    return this.ledTerm > 0 && this.ledTerm == this.highestTerm;
  }
}
