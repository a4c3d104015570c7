package io.election.lease;

import io.election.Instruction;
import io.election.LeadershipLostEvent;
import org.jspecify.annotations.Nullable;

/**
 * What a process remembers about an election across standings.
 *
 * @param running whether the node takes part, that is, is not stopped
 * @param highestTerm the highest term seen; a new term is above it
 * @param ledTerm the last term in which a store has confirmed this node as leader since it started;
 *     0 if none. A term that was only read may belong to a copy of this process
 * @param promisedMillis the lease that the last record seen promised its holder, in milliseconds;
 *     the holder may still lead when the record and its history are gone. 0 if no record was seen
 * @param watchOnly whether another process writes under this node's id: if both kept the record
 *     warm against each other, they would wait forever
 * @param asideUntil until when the node stands aside, by the {@link Ticker}; {@code null} if it
 *     does not
 * @param paused who paused the node, and why; {@code null} if it is not paused
 */
record Memory(
    boolean running,
    long highestTerm,
    long ledTerm,
    long promisedMillis,
    boolean watchOnly,
    @Nullable Long asideUntil,
    @Nullable Instruction paused) {

  static final Memory NONE = new Memory(true, 0, 0, 0, false, null, null);

  Memory stopped() {
    return new Memory(
        false,
        this.highestTerm,
        this.ledTerm,
        this.promisedMillis,
        this.watchOnly,
        this.asideUntil,
        this.paused);
  }

  Memory seen(long term) {
    return new Memory(
        this.running,
        Math.max(this.highestTerm, term),
        this.ledTerm,
        this.promisedMillis,
        this.watchOnly,
        this.asideUntil,
        this.paused);
  }

  Memory led(long term) {
    return new Memory(
        this.running,
        Math.max(this.highestTerm, term),
        term,
        this.promisedMillis,
        this.watchOnly,
        this.asideUntil,
        this.paused);
  }

  Memory promised(long millis) {
    return new Memory(
        this.running,
        this.highestTerm,
        this.ledTerm,
        millis,
        this.watchOnly,
        this.asideUntil,
        this.paused);
  }

  Memory watchOnly(boolean watch) {
    return new Memory(
        this.running,
        this.highestTerm,
        this.ledTerm,
        this.promisedMillis,
        watch,
        this.asideUntil,
        this.paused);
  }

  Memory asideUntil(@Nullable Long until) {
    return new Memory(
        this.running,
        this.highestTerm,
        this.ledTerm,
        this.promisedMillis,
        this.watchOnly,
        until,
        this.paused);
  }

  Memory paused(@Nullable Instruction by) {
    return new Memory(
        this.running,
        this.highestTerm,
        this.ledTerm,
        this.promisedMillis,
        this.watchOnly,
        this.asideUntil,
        by);
  }

  /**
   * Returns whether the store confirmed this node as leader in the highest term that it has seen.
   */
  boolean ledHighest() {
    return this.ledTerm > 0 && this.ledTerm == this.highestTerm;
  }

  /** Returns why a node immediately hands back a lease that it was just granted. */
  Ending whyItMayNotStand() {
    if (!this.running) {
      return Ending.of(LeadershipLostEvent.Reason.STOPPED);
    }
    return this.paused != null
        ? new Ending(LeadershipLostEvent.Reason.PAUSED, this.paused)
        : Ending.of(LeadershipLostEvent.Reason.RESIGNED);
  }

  boolean isAside(long now) {
    return this.asideUntil != null && now - this.asideUntil < 0;
  }
}
