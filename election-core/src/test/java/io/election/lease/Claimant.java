package io.election.lease;

/** A node that may believe that it leads. */
interface Claimant {
  boolean leads();

  String claim();
}
