package io.election.lease;

/** Who may believe to lead. */
interface Claimant {
  boolean leads();

  String claim();
}
