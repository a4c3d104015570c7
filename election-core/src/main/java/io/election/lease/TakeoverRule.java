package io.election.lease;

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import io.election.LeadershipAcquiredEvent;
import io.election.lease.Participation.Aside;
import io.election.lease.State.Claimant;
import io.election.lease.State.Follower;
import io.election.lease.Step.Acquire;
import io.election.lease.Step.Create;
import io.election.lease.Step.Touch;
import io.election.store.LeaseRow;
import io.election.store.Ticker;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Decides what a node that does not lead may do with the record, and from when on: only when no
 * node can be leading any more.
 *
 * @param node the node
 * @param participation whether it takes part in the election
 * @param remembered what it remembers about the election
 */
record TakeoverRule(Node node, Participation participation, Remembered remembered) {

  /** A step that may be taken from an instant on. */
  record Option(long from, Step step) {

    boolean isOpen(long now) {
      return now - this.from >= 0;
    }
  }

  /** Returns whether the node may lead at all. */
  boolean isCandidate() {
    return this.participation.isCandidate() && this.node.settings().eligible();
  }

  /**
   * Returns what a follower may do with the record as it last read it.
   *
   * @return {@code null} if it must read the record again first, or if the election has moved
   */
  @Nullable
  Option opening(Follower follower) {
    Observation seen = follower.seen();
    if (seen == null || seen.stale() || !isCandidate()) {
      return null;
    }
    Option opening = opening(seen.row(), seen.since(), follower.shared());
    return opening != null
            && this.participation instanceof Aside aside
            && opening.from() - aside.until() < 0
        ? new Option(aside.until(), opening.step())
        : opening;
  }

  /**
   * Returns from when on a node may try for the lease.
   *
   * @return an instant of the {@link Ticker}; empty if it must read the record first, may not stand,
   *     or holds the lease
   */
  OptionalLong opensAt(State state) {
    Option opening = null;
    if (state instanceof Follower follower) {
      opening = opening(follower);
    } else if (state instanceof Claimant claimant) {
      opening = opening(claimant);
    }
    return opening != null ? OptionalLong.of(opening.from()) : OptionalLong.empty();
  }

  private @Nullable Option opening(@Nullable LeaseRow row, long since, boolean shared) {
    if (row == null) {
      return new Option(
          since, new Create(Math.max(leaseMillis(), this.remembered.promisedMillis())));
    }
    if (row.isMoved()) {
      return null;
    }
    boolean mine = row.leaderId().equals(this.node.id());
    if (row.isReleased()) {
      if (mine) {
        return acquire(since, row, LeadershipAcquiredEvent.Reason.DESIGNATED);
      }
      if (row.leaderId().isEmpty()) {
        return acquire(since, row, LeadershipAcquiredEvent.Reason.RELEASED);
      }
      return acquire(
          since + MILLISECONDS.toNanos(leaseMillis()), row, LeadershipAcquiredEvent.Reason.EXPIRED);
    }
    if (!mine) {
      return acquire(since + promisedNanos(row), row, LeadershipAcquiredEvent.Reason.EXPIRED);
    }
    if (shared) {
      return acquire(since + promisedNanos(row), row, LeadershipAcquiredEvent.Reason.DESIGNATED);
    }
    if (row.own() && row.term() == this.remembered.ledTerm() && this.remembered.ledHighest()) {
      return acquire(since, row, LeadershipAcquiredEvent.Reason.EXPIRED);
    }
    return new Option(since, new Touch(row, since));
  }

  /**
   * Returns the step of a node that has touched the record for as long as its holder was
   * promised.
   */
  Option opening(Claimant claimant) {
    long opensAt = claimant.since() + promisedNanos(claimant.row());
    return acquire(opensAt, claimant.row(), reason(claimant));
  }

  private LeadershipAcquiredEvent.Reason reason(Claimant claimant) {
    if (claimant.created()) {
      return LeadershipAcquiredEvent.Reason.CREATED;
    }
    return claimant.row().term() == this.remembered.ledTerm()
        ? LeadershipAcquiredEvent.Reason.EXPIRED // of its own term, for instance in a failover
        : LeadershipAcquiredEvent.Reason.DESIGNATED;
  }

  /**
   * Returns the lease that the holder may rely on, in milliseconds. If the record does not state
   * one, the lease of the last record applies too.
   */
  long promisedMillis(LeaseRow row) {
    long millis = row.promisedMillis(leaseMillis());
    return row.leaseMillis() != null ? millis : Math.max(millis, this.remembered.promisedMillis());
  }

  private long promisedNanos(LeaseRow row) {
    return MILLISECONDS.toNanos(promisedMillis(row));
  }

  private long leaseMillis() {
    return this.node.settings().leaseDuration().toMillis();
  }

  private static Option acquire(long from, LeaseRow row, LeadershipAcquiredEvent.Reason reason) {
    return new Option(from, new Acquire(row, reason));
  }
}
