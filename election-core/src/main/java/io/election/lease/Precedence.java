package io.election.lease;

import io.election.Member;
import io.election.store.ElectionDirectory;
import java.time.Duration;
import java.util.List;
import java.util.Objects;
import java.util.Optional;

/**
 * Decides which node goes first in an election that is open: a node stands at once, holds back for
 * a time, or stands aside. Nodes can publish a short text, their <em>position</em>, which the
 * others read.
 *
 * <p>An answer can only lengthen a wait. It is asked for when the rules of the lease let the node
 * try for the record, and again before each later attempt; a node that leads is not asked. If all
 * answers are wrong, no node leads, or a node leads that should have let another one go first, but
 * there are never two leaders.
 *
 * <p>Called by threads of its own, several at a time for different elections. Until it has answered,
 * and if it throws or answers {@code null}, the node stands aside in that election alone.
 * {@link Elector#wakeUp()} makes the elector ask again at once. The idea is that of the
 * {@code priority} of a member in a MongoDB replica set: a member of lower priority calls an
 * election later.
 */
@FunctionalInterface
public interface Precedence {

  /** Every node stands at once. */
  Precedence NONE = (opening) -> Turn.atOnce();

  /**
   * Decides what this node does about an election that is open to it.
   *
   * @param opening the election
   * @return what to do
   */
  Turn turn(OpenElection opening);

  /**
   * Returns the position of this node, which other nodes read as {@link Member#position()}. It is
   * written at once when an election opens, and at most once per lease while a leader lives, unless
   * {@link Elector#announcePosition()} is called.
   *
   * @param serviceId the name of the election
   * @return the position, of at most 16,000 characters; empty if there is none
   */
  default String position(String serviceId) {
    return "";
  }

  /**
   * Returns a precedence by which a node holds back each time, for instance because it runs in a
   * second data centre. A node that an operator designates does not hold back.
   *
   * @param time for how long, from when the election opens to this node; not negative
   * @return the precedence
   */
  static Precedence holdBack(Duration time) {
    return (opening) -> opening.designated() ? Turn.atOnce() : Turn.holdBack(time);
  }

  /**
   * An election that is open to this node.
   *
   * @param serviceId the name of the election
   * @param openFor how long it has been open to this node
   * @param designated whether an operator or the last leader has named this node as the next one
   * @param members the nodes that stand for the election with their positions, this one included, as
   *     read since the election opened and this node published its position; empty until then, and
   *     if the store has no {@link ElectionDirectory}
   */
  record OpenElection(
      String serviceId, Duration openFor, boolean designated, Optional<List<Member>> members) {}

  /**
   * The decision of a node.
   *
   * @param kind whether it stands
   * @param time how long it holds back, counted from when the election opened to it; otherwise zero.
   *     Not negative; more than 100 years count as 100 years
   * @param reason the reason that the log gives if it does not stand at once; may be empty
   */
  record Turn(Kind kind, Duration time, String reason) {

    /** For ever, but still a number of nanoseconds. */
    private static final Duration LONGEST = Duration.ofDays(36_525);

    private static final Turn AT_ONCE = new Turn(Kind.AT_ONCE, Duration.ZERO, "");

    /**
     * Creates a turn.
     *
     * @throws IllegalArgumentException if the time is negative
     */
    public Turn {
      Objects.requireNonNull(kind, "kind");
      Objects.requireNonNull(reason, "reason");
      if (time.isNegative()) {
        throw new IllegalArgumentException(
            "A node cannot hold back for " + time + ": the time must not be negative");
      }
      time = time.compareTo(LONGEST) > 0 ? LONGEST : time;
    }

    /** Returns that the node stands at once. */
    public static Turn atOnce() {
      return AT_ONCE;
    }

    /**
     * Returns that the node holds back, so that others can lead.
     *
     * @param time for how long, from when the election opened to this node
     */
    public static Turn holdBack(Duration time) {
      return holdBack(time, "");
    }

    /**
     * Returns that the node holds back, so that others can lead.
     *
     * @param time for how long, from when the election opened to this node
     * @param reason the reason that the log gives
     */
    public static Turn holdBack(Duration time, String reason) {
      return new Turn(Kind.HOLD_BACK, time, reason);
    }

    /**
     * Returns that the node does not stand until it is asked again.
     *
     * @param reason the reason that the log gives
     */
    public static Turn standAside(String reason) {
      return new Turn(Kind.ASIDE, Duration.ZERO, reason);
    }
  }

  /** The kinds of turns. */
  enum Kind {
    /** The node stands. */
    AT_ONCE,
    /** The node stands once a time has passed. */
    HOLD_BACK,
    /** The node does not stand. */
    ASIDE
  }
}
