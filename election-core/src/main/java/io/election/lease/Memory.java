package io.election.lease;

import io.election.Instruction;
import io.election.LeadershipLostEvent;
import org.jspecify.annotations.Nullable;

/**
 * What a process remembers of an election from one standing to the next.
 *
 * @param running whether the node takes part, rather than being stopped
 * @param highestTerm the highest term seen; a new one is above it
 * @param ledTerm the last term that a store has answered this node to lead since it started; 0 if
 *     none. A term that was only read may be that of a copy of this process
 * @param promisedMillis what the last record that was seen promised its holder, who may still lead
 *     when the record and its history are gone; 0 if none was seen
 * @param watchOnly whether somebody else writes under this node's name: two that keep the record warm
 *     against each other would wait for ever
 * @param asideUntil until when the node stands aside, by the {@link Ticker}; {@code null} if it does
 *     not
 * @param paused who told the node to stand aside until it is resumed, and why; {@code null} if nobody
 *     did
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

  /** Whether this node was answered to lead in the highest term that it has seen. */
  boolean ledHighest() {
    return this.ledTerm > 0 && this.ledTerm == this.highestTerm;
  }

  /** Why a node hands back at once what it has just been granted. */
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
