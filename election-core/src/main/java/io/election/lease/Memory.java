package io.election.lease;

import org.jspecify.annotations.Nullable;

/**
 * What a process remembers of an election from one standing to the next.
 *
 * @param running whether the node takes part, rather than being stopped
 * @param highestTerm the highest term seen; a new one is above it
 * @param expiredTerm the last term that this process held and let expire, in which nobody else can
 *     have led; {@link Long#MIN_VALUE} if none
 * @param watchOnly whether somebody else writes under this node's name: two that keep the record warm
 *     against each other would wait for ever
 * @param asideUntil until when the node stands aside, by the {@link Ticker}; {@code null} if it does
 *     not
 */
record Memory(
    boolean running,
    long highestTerm,
    long expiredTerm,
    boolean watchOnly,
    @Nullable Long asideUntil) {

  static final Memory NONE = new Memory(true, 0, Long.MIN_VALUE, false, null);

  Memory stopped() {
    return new Memory(false, this.highestTerm, this.expiredTerm, this.watchOnly, this.asideUntil);
  }

  Memory seen(long term) {
    return new Memory(
        this.running,
        Math.max(this.highestTerm, term),
        this.expiredTerm,
        this.watchOnly,
        this.asideUntil);
  }

  Memory expired(long term) {
    return new Memory(this.running, this.highestTerm, term, this.watchOnly, this.asideUntil);
  }

  Memory watchOnly(boolean watch) {
    return new Memory(this.running, this.highestTerm, this.expiredTerm, watch, this.asideUntil);
  }

  Memory asideUntil(@Nullable Long until) {
    return new Memory(this.running, this.highestTerm, this.expiredTerm, this.watchOnly, until);
  }

  boolean isAside(long now) {
    return this.asideUntil != null && now - this.asideUntil < 0;
  }
}
