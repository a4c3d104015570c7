package io.election.lease;

/**
 * The instants around a call to the store.
 *
 * @param sent taken before the request
 * @param wallSent the wall clock before the request, in milliseconds since the epoch
 * @param now taken after the answer
 * @param wall the wall clock after the answer, in milliseconds since the epoch
 */
record Timing(long sent, long wallSent, long now, long wall) {}
