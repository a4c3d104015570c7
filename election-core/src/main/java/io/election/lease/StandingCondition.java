package io.election.lease;

/**
 * Decides when a node may stand for an election, beyond what the record and its operators say. It
 * can only lengthen a wait: a node never leads before {@link Candidacy} allows it. A node that may
 * not stand follows, and keeps a lease that it already holds.
 *
 * <p>Called by the elector's thread before each attempt, so it must not block. An exception counts
 * as "no". {@link Elector#wakeUp()} makes the elector ask again at once.
 */
@FunctionalInterface
public interface StandingCondition {

  /**
   * Returns whether the node may stand now.
   *
   * @param serviceId the name of the election
   */
  boolean mayStand(String serviceId);

  /**
   * Returns a term that the next term of this node must exceed, because it was seen elsewhere.
   *
   * @param serviceId the name of the election
   * @return the term; 0 if there is none
   */
  default long aboveTerm(String serviceId) {
    return 0;
  }

  /**
   * Returns who goes first among the nodes that may stand.
   *
   * @return the precedence of this node; always the same
   */
  default Precedence precedence() {
    return Precedence.NONE;
  }

  /**
   * Returns a condition that is always met.
   *
   * @param precedence who goes first
   * @return the condition
   */
  static StandingCondition of(Precedence precedence) {
    return new StandingCondition() {
      @Override
      public boolean mayStand(String serviceId) {
        return true;
      }

      @Override
      public Precedence precedence() {
        return precedence;
      }
    };
  }

  /**
   * Returns the algorithm of this node as its members see it, for instance {@code zookeeper, mysql}
   * if it must hold the leases of both.
   *
   * @return the algorithm; empty if the store is all of it
   */
  default String algorithm() {
    return "";
  }
}
