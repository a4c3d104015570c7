/**
 * Election by a lease that the leader renews in a shared store.
 *
 * <p>{@link io.election.lease.Elector} owns the threads: one talks to the {@link
 * io.election.store.LeaseStore}, others watch deadlines and deliver events. The first one runs
 * {@code ElectionLoop}, which asks {@code Agenda} what is due and makes the call through {@code
 * StoreCalls}. {@code Candidacy}, an immutable value without I/O, threads or clocks, decides the
 * next step. {@code Candidate} holds it, one for each election. Users hold a {@link
 * io.election.lease.LeaseElectionService}, whose commands reach the loop through an {@code Inbox}.
 */
@NullMarked
package io.election.lease;

import org.jspecify.annotations.NullMarked;
