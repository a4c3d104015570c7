/**
 * Election by a lease that the leader renews in a shared store.
 *
 * <p>{@link io.election.lease.Elector} owns the threads: one talks to the {@link
 * io.election.lease.LeaseStore}, others watch deadlines and deliver events. {@code ElectionLoop} is what
 * the first one does: it asks {@code Agenda} what is due, and {@code StoreCalls} makes the call. What to
 * do next is decided by {@code Candidacy}, an immutable value without I/O, threads or clocks, which
 * {@code Candidate} holds, one for each election. Users hold a {@link
 * io.election.lease.LeaseElectionService}, whose commands reach the loop by an {@code Inbox}.
 */
@NullMarked
package io.election.lease;

import org.jspecify.annotations.NullMarked;
