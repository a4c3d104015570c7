package io.election.joint;

/** The standing of a node in an election by a list. Instants are readings of the ticker. */
sealed interface JointState {

  /**
   * Takes one part after the other.
   *
   * @param held how many parts it held at the last check
   * @param giveUpAt when it gives up to wait for the next part; meaningless while it holds none
   * @param since since when it has held that many parts
   */
  record Climbing(int held, long giveUpAt, long since) implements JointState {

    static Climbing from(long now) {
      return new Climbing(0, now, now);
    }
  }

  /**
   * Leads in all parts.
   *
   * @param term the term of all parts that have one; 0 if none has
   */
  record Leading(long term) implements JointState {}

  /**
   * Leads no longer, and hands the parts back, from the last to the first.
   *
   * @param aside whether it then stands aside for a lease, so that a node that reaches all parts can
   *     lead
   * @param why the reason, for the log
   */
  record Descending(boolean aside, Why why) implements JointState {}

  /** Why a node hands all parts back. */
  enum Why {
    /** One of the parts was lost, or was handed back by a command. */
    LOST,
    /** The parts show different terms. */
    TERMS,
    /** The next part cannot be reached, or is not granted in time. */
    OUT_OF_REACH,
    /** The next part is held by a node whose list has the parts in another order. */
    ORDER
  }
}
