package io.election.joint;

import io.election.joint.JointState.Climbing;
import io.election.joint.JointState.Descending;
import io.election.joint.JointState.Leading;
import io.election.joint.JointState.Why;
import io.election.joint.PartView.Holder;
import io.election.lease.LeaseSettings;
import java.time.Duration;
import java.util.List;

/**
 * The rules by which a node leads an election by a list of parts. Pure functions of the node's state
 * and of its views of the parts: no I/O, no threads, no clocks.
 *
 * <p>A node takes the parts in the order of the list, and stands for a part only while it holds all
 * before it. It leads while it leads in every part, in one term. It hands the parts back from the
 * last to the first. Two nodes whose lists share a part therefore never lead at the same time. The
 * idea is that of joint consensus in Raft (Ongaro and Ousterhout, 2014, section 6): while a system
 * changes from an old group to a new one, a decision needs both.
 */
class JointRules {

  private final LeaseSettings settings;

  JointRules(LeaseSettings settings) {
    this.settings = settings;
  }

  /** Returns the state after this one, if it changes now. */
  JointState next(JointState state, List<PartView> parts, long now) {
    if (state instanceof Leading leading) {
      return leads(leading, parts) ? leading : new Descending(false, Why.LOST);
    }
    if (state instanceof Descending descending) {
      return parts.stream().noneMatch(PartView::holds) ? Climbing.from(now) : descending;
    }
    return next((Climbing) state, parts, now);
  }

  private JointState next(Climbing climbing, List<PartView> parts, long now) {
    int held = held(parts);
    if (parts.stream().skip(held).anyMatch(PartView::leads)) {
      return new Descending(false, Why.LOST);
    }
    if (held == parts.size()) {
      return haveOneTerm(parts) ? new Leading(term(parts)) : new Descending(false, Why.TERMS);
    }
    if (held == 0) {
      return climbing.held() == 0 ? climbing : Climbing.from(now);
    }
    Climbing current = climbing.held() == held
        ? climbing
        : new Climbing(held, now + leaseNanos() + slackNanos(), now);
    return wait(current, parts.get(held), now);
  }

  /** Decides whether a node that holds some parts waits for the next one. */
  private JointState wait(Climbing climbing, PartView next, long now) {
    if (isOutOfReach(climbing, next, now)) {
      return new Descending(true, Why.OUT_OF_REACH);
    }
    long patience = patience(next.holder());
    if (now - climbing.since() > patience) {
      return new Descending(true, Why.ORDER);
    }
    Duration untilOpen = next.untilOpen();
    return untilOpen != null
        ? new Climbing(
            climbing.held(), giveUpAt(climbing, now + untilOpen.toNanos()), climbing.since())
        : climbing;
  }

  /**
   * Returns when a node gives up to wait for a part.
   *
   * @param opensAt from when on it may try for the part, by the part's own rules
   */
  long giveUpAt(Climbing climbing, long opensAt) {
    return climbing.since() + Math.max(opensAt - climbing.since(), 0) + slackNanos();
  }

  /**
   * Returns how long a node waits for a part whose holder waits for what this node holds: the two
   * must not give up at the same time.
   */
  long patience(Holder holder) {
    return switch (holder) {
      case OTHER -> Long.MAX_VALUE;
      case PRECEDES -> leaseNanos();
      case YIELDS -> 3 * leaseNanos();
    };
  }

  /** Returns whether to give up to wait for the next part. */
  boolean isOutOfReach(Climbing climbing, PartView next, long now) {
    return next.silence().toNanos() > leaseNanos() || now - climbing.giveUpAt() > 0;
  }

  /** Returns whether a node stands for a part. */
  boolean mayStand(JointState state, int part, List<PartView> parts) {
    return state instanceof Climbing && held(parts.subList(0, part)) == part;
  }

  /** Returns whether a node leads at this instant. */
  boolean leads(JointState state, List<PartView> parts) {
    return state instanceof Leading leading
        && held(parts) == parts.size()
        && haveOneTerm(parts)
        && term(parts) == leading.term();
  }

  /**
   * Returns whether a part must not be handed back yet: leader work runs, or a later part is still
   * held.
   */
  boolean keeps(int part, List<PartView> parts, boolean working) {
    return working || parts.subList(part + 1, parts.size()).stream().anyMatch(PartView::holds);
  }

  /** Returns whether all parts that have terms show the same one. */
  boolean haveOneTerm(List<PartView> parts) {
    return parts.stream()
            .filter(PartView::hasTerms)
            .map(PartView::term)
            .distinct()
            .count()
        <= 1;
  }

  /**
   * Returns the term that the next term in a part must exceed, so that all parts end up with the
   * same term, above all terms that any of them has seen.
   */
  long aboveTerm(int part, List<PartView> parts) {
    return parts.subList(0, part).stream()
        .filter(PartView::hasTerms)
        .mapToLong((earlier) -> earlier.term() - 1)
        .findFirst()
        .orElseGet(() -> parts.stream().mapToLong(PartView::highestTerm).max().orElse(0));
  }

  /** Returns how many parts this node holds in a row, from the first. */
  static int held(List<PartView> parts) {
    int held = 0;
    while (held < parts.size() && parts.get(held).leads()) {
      held++;
    }
    return held;
  }

  static long term(List<PartView> parts) {
    return parts.stream()
        .filter(PartView::hasTerms)
        .mapToLong(PartView::term)
        .findFirst()
        .orElse(0);
  }

  private long leaseNanos() {
    return this.settings.leaseDuration().toNanos();
  }

  /** How much longer than its own rules ask for a node waits for a part. */
  private long slackNanos() {
    return this.settings
        .renewInterval()
        .plus(this.settings.operationTimeout())
        .multipliedBy(2)
        .toNanos();
  }
}
