/**
 * Election by a lease that the leader renews in a shared store.
 *
 * <p>{@link io.election.lease.Elector} drives it: one thread talks to the {@link
 * io.election.lease.LeaseStore}, another watches deadlines and delivers events. What to do next is
 * decided by {@code Candidacy}, an immutable value without I/O, threads or clocks.
 */
@NullMarked
package io.election.lease;

import org.jspecify.annotations.NullMarked;
