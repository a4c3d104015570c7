/**
 * Leader election for the instances of one service.
 *
 * <p><strong>Guarantee.</strong> At any instant at most one process gets {@code true} from {@link
 * io.election.ElectionService#isLeader()} for an election. No clock needs to be right or
 * synchronised, on any node or on the database; it is enough that monotonic clocks run at the same
 * rate within 1 %, and that the store keeps what it has acknowledged.
 *
 * <p><strong>Not guaranteed.</strong> There may be no leader for a while: after a crash for about
 * one lease, and throughout an outage of the store. A process may be paused between {@code
 * isLeader()} and its next action; pass the {@linkplain io.election.Leadership#term() term} to the
 * systems that the work writes to, so that they can refuse an older one. A store that loses
 * acknowledged writes, two stores that both accept writes, and a virtual machine that is paused
 * together with its clocks are outside the guarantee. {@link
 * io.election.ManualAllocationElectionService Manual allocation} is only as safe as the
 * configuration of the nodes is consistent.
 */
@NullMarked
package io.election;

import org.jspecify.annotations.NullMarked;
