package io.election.lease;

/**
 * A call on its way to the store, apart from when the store does what it asks for.
 *
 * @param step what is asked for
 * @param caller who asks
 * @param at its monotonic clock before sending
 * @param wallAt its wall clock before sending
 */
record Sent(Step.Call<?> step, Step.Caller caller, long at, long wallAt) {

  static final String SERVICE = "jobs";

  static Sent by(Candidacy candidacy, Step step, long at, long wallAt) {
    return new Sent((Step.Call<?>) step, Step.Caller.of(SERVICE, candidacy), at, wallAt);
  }

  Object execute(LeaseStore store) throws LeaseStoreException {
    return this.step.execute(store, this.caller);
  }

  Timing answered(long now, long wall) {
    return new Timing(this.at, this.wallAt, now, wall);
  }
}
