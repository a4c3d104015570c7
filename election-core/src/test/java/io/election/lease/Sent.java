package io.election.lease;

import io.election.lease.Clocks.Reading;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;

/**
 * A call on its way to the store, separate from its execution there.
 *
 * @param step the call
 * @param caller the candidate that sends it
 * @param at the caller's monotonic clock before sending
 * @param wallAt the caller's wall clock before sending
 */
record Sent(Step.Call<?> step, Step.Caller caller, long at, long wallAt) {

  static final String SERVICE = "jobs";

  static Sent by(Candidacy candidacy, Step step, long at, long wallAt) {
    return new Sent((Step.Call<?>) step, Step.Caller.of(SERVICE, candidacy), at, wallAt);
  }

  /** To read the row, from whatever process. */
  static final Sent READ = new Sent(new Step.Read(), new Step.Caller(SERVICE, "", 0, 0), 0, 0);

  Sent with(Step.Call<?> step) {
    return new Sent(step, this.caller, this.at, this.wallAt);
  }

  Object execute(LeaseStore store) throws LeaseStoreException {
    return this.step.execute(store, this.caller);
  }

  Timing answered(long now, long wall) {
    return new Timing(new Reading(this.at, this.wallAt, 0), new Reading(now, wall, 0));
  }
}
