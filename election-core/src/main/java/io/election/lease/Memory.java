package io.election.lease;

import org.jspecify.annotations.Nullable;

/**
 * What a process remembers of an election from one standing to the next.
 *
 * @param running whether the node takes part, rather than being stopped
 * @param highestTerm the highest term seen; a new one is above it
 * @param promisedMillis what the last record that was seen promised its holder, who may still lead
 *     when the record and its history are gone; 0 if none was seen
 * @param watchOnly whether somebody else writes under this node's name: two that keep the record warm
 *     against each other would wait for ever
 * @param asideUntil until when the node stands aside, by the {@link Ticker}; {@code null} if it does
 *     not
 */
record Memory(
    boolean running,
    long highestTerm,
    long promisedMillis,
    boolean watchOnly,
    @Nullable Long asideUntil) {

  static final Memory NONE = new Memory(true, 0, 0, false, null);

  Memory stopped() {
    return new Memory(
        false, this.highestTerm, this.promisedMillis, this.watchOnly, this.asideUntil);
  }

  Memory seen(long term) {
    return new Memory(
        this.running,
        Math.max(this.highestTerm, term),
        this.promisedMillis,
        this.watchOnly,
        this.asideUntil);
  }

  Memory promised(long millis) {
    return new Memory(this.running, this.highestTerm, millis, this.watchOnly, this.asideUntil);
  }

  Memory watchOnly(boolean watch) {
    return new Memory(this.running, this.highestTerm, this.promisedMillis, watch, this.asideUntil);
  }

  Memory asideUntil(@Nullable Long until) {
    return new Memory(this.running, this.highestTerm, this.promisedMillis, this.watchOnly, until);
  }

  boolean isAside(long now) {
    return this.asideUntil != null && now - this.asideUntil < 0;
  }
}
