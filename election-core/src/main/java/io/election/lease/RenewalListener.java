package io.election.lease;

import java.time.Duration;

/** Hears of each renewal that an elector has tried, for measurements. */
@FunctionalInterface
public interface RenewalListener {

  /**
   * A renewal is over. Called by the elector's thread, which it must not hold up; what it throws is
   * logged.
   *
   * @param serviceId the election
   * @param outcome what came of it
   * @param duration from before the request was sent until its outcome was known; renewals of several
   *     elections that went as one request have the same
   */
  void onRenewal(String serviceId, Outcome outcome, Duration duration);

  /** What comes of a renewal. */
  enum Outcome {
    /** The lease was renewed. */
    CONFIRMED,
    /** The record no longer names this node in this term. */
    REFUSED,
    /** There was no answer, or the record was locked: the lease counts as not renewed. */
    UNKNOWN
  }
}
