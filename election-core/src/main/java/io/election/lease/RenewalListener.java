package io.election.lease;

import io.election.store.LeaseStore;
import java.time.Duration;

/** A listener that is notified of each attempted renewal of an elector, for metrics. */
@FunctionalInterface
public interface RenewalListener {

  /**
   * Called after each renewal, on the elector's thread. Must not block. What it throws is
   * logged.
   *
   * @param serviceId the election
   * @param outcome the outcome of the renewal
   * @param duration the time from before the request was sent until its outcome was known; the same
   *     for all elections that were renewed by one request
   */
  void onRenewal(String serviceId, Outcome outcome, Duration duration);

  /** The outcome of a renewal. */
  enum Outcome {
    /** The lease was renewed. */
    CONFIRMED,
    /** The record no longer names this node in this term. */
    REFUSED,
    /** There was no answer, or the record was locked: the lease counts as not renewed. */
    UNKNOWN;

    /** Returns the outcome for one of the elections of a renewal. */
    static Outcome of(String serviceId, LeaseStore.Renewals renewals) {
      if (renewals.unknown().contains(serviceId)) {
        return UNKNOWN;
      }
      return renewals.renewed().contains(serviceId) ? CONFIRMED : REFUSED;
    }
  }
}
