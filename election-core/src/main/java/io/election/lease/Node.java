package io.election.lease;

import io.election.store.LeaseSettings;

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

  /**
   * Returns a fraction of a duration that differs from node to node. The ids of nodes often differ
   * in their last character alone, and so do their hash codes: hence the bits are mixed, by the last
   * step of MurmurHash3.
   */
  long spread(long nanos) {
    int hash = this.id.hashCode();
    hash = (hash ^ (hash >>> 16)) * 0x85ebca6b;
    hash = (hash ^ (hash >>> 13)) * 0xc2b2ae35;
    hash ^= hash >>> 16;
    return nanos / 1000 * Integer.remainderUnsigned(hash, 1000);
  }
}
