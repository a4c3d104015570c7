package io.election.lease;

import io.election.lease.Precedence.Opening;
import io.election.lease.Precedence.Turn;
import io.election.lease.State.Follower;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.OptionalLong;

/**
 * Tracks the elections that are open to a node, and asks its {@link Precedence} whether to stand. Used
 * by the elector's thread.
 */
final class Openings {

  private final Precedence precedence;

  private final Members members;

  private final ElectionLog log;

  /** Since when elections have been open, by the ticker. */
  private final Map<String, Long> since = new HashMap<>();

  /** The last answers about these elections. */
  private final Map<String, Turn> turns = new HashMap<>();

  Openings(Precedence precedence, Members members, ElectionLog log) {
    this.precedence = precedence;
    this.members = members;
    this.log = log;
  }

  /**
   * Returns for how long a node must not take the step of its candidacy. A follower that may try
   * for the record asks its precedence; a node that has begun to claim the record continues.
   *
   * @return a time in nanoseconds; 0 if it may take the step, {@link Long#MAX_VALUE} if it stands
   *     aside
   */
  long holdBack(Candidacy candidacy, String serviceId, long now) {
    if (this.precedence == Precedence.NONE || !(candidacy.state() instanceof Follower)) {
      return 0;
    }
    long opensAt = candidacy.opensAt().orElse(now);
    this.since.put(serviceId, opensAt);
    Turn turn = turn(candidacy, serviceId, opensAt, now);
    if (!turn.equals(this.turns.put(serviceId, turn)) && turn.kind() != Precedence.Kind.AT_ONCE) {
      this.log.standsLater(serviceId, candidacy.node().id(), turn);
    }
    return switch (turn.kind()) {
      case AT_ONCE -> 0;
      case HOLD_BACK -> Math.max(turn.time().minusNanos(now - opensAt).toNanos(), 0);
      case ASIDE -> Long.MAX_VALUE;
    };
  }

  private Turn turn(Candidacy candidacy, String serviceId, long opensAt, long now) {
    Observation seen = candidacy.seen();
    LeaseRow row = seen != null ? seen.row() : null;
    try {
      return this.precedence.turn(new Opening(
          serviceId,
          Duration.ofNanos(now - opensAt),
          row != null
              && row.isReleased()
              && row.leaderId().equals(candidacy.node().id()),
          this.members.readSince(serviceId, opensAt)));
    } catch (RuntimeException ex) {
      return Turn.standAside("its precedence has failed: " + ex);
    }
  }

  /** Forgets an election that is not open to this node. One that must be read again may be. */
  void closeUnlessOpen(Candidacy candidacy, String serviceId, long now) {
    OptionalLong opensAt = candidacy.opensAt();
    boolean unread = candidacy.state() instanceof Follower && opensAt.isEmpty();
    if (!unread && !candidacy.isOpen(now)) {
      this.since.remove(serviceId);
      this.turns.remove(serviceId);
    }
  }

  /** Returns since when the election has been open that opened last; empty if none is open. */
  OptionalLong openSince() {
    return this.since.values().stream()
        .mapToLong(Long::longValue)
        .reduce((first, second) -> first - second > 0 ? first : second);
  }
}
