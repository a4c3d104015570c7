package io.election.joint;

import java.time.Duration;
import org.jspecify.annotations.Nullable;

/**
 * What a node knows about one part of its list at one instant.
 *
 * @param leads whether the part confirms this node as its leader
 * @param holds whether the part keeps other nodes out for this node: it leads, or drains
 * @param term the term in which it leads; 0 if the part has no terms or the node does not lead
 * @param hasTerms whether the part has terms
 * @param highestTerm the highest term that this node has seen there; 0 if none
 * @param untilOpen how long this node must wait until it may try for the part; {@code null} if that
 *     is unknown
 * @param silence how long the part has not answered
 * @param holder whether another node holds the part, and what it waits for
 */
record PartView(
    boolean leads,
    boolean holds,
    long term,
    boolean hasTerms,
    long highestTerm,
    @Nullable Duration untilOpen,
    Duration silence,
    Holder holder) {

  /** Which other node holds a part. */
  enum Holder {
    /** No other node, or one that is not known to wait for us. */
    OTHER,
    /** A node whose list has the parts in another order, and which lets us go first. */
    YIELDS,
    /** A node whose list has the parts in another order, and which we must let go first. */
    PRECEDES
  }
}
