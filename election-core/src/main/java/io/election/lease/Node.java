package io.election.lease;

/**
 * A node that stands in elections.
 *
 * @param id its node id
 * @param settings its settings
 */
record Node(String id, LeaseSettings settings) {

  /** Returns a node whose id is known only at its first start. */
  static Node unnamed(LeaseSettings settings) {
    return new Node("", settings);
  }

  boolean isNamed() {
    return !this.id.isEmpty();
  }

  /** Returns a fraction of a duration that differs from node to node. */
  long spread(long nanos) {
    return nanos / 100 * Math.floorMod(this.id.hashCode(), 100);
  }
}
