package io.election.benchmarks.scale;

/** What is measured of a node. */
enum Call {
  /** A renewal of all that the node leads. */
  RENEW,
  /** A look at all that it follows. */
  READ,
  /** A take-over. */
  TAKE,
  /** The attempt of a take-over that came too late. */
  REFUSED_TAKE,
  /** Creating records, keeping them warm, handing back. */
  OTHER,
  /** A call that failed, or whose answer did not come in time. */
  FAILED,
  /** A renewal among those. */
  FAILED_RENEW,
  /** How long before the answer to a renewal the one before was sent: what must stay below the tenure. */
  RENEWAL_AGE
}
