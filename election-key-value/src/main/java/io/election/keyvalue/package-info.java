/**
 * Leases over versioned keys: what the stores for etcd and ZooKeeper share.
 *
 * <p>An election has a <em>record</em>, which names its holder, and one key for each <em>term</em>.
 * A process has one <em>heartbeat</em>, whose name is a token that no other process and no other
 * life of it has. A record names the heartbeat of the process that took it. So one small write
 * renews any number of leases: it checks that no held record has changed, and writes the heartbeat.
 * A reader of a record sees the heartbeat beside it, and watches both for a whole lease. If a
 * record names a heartbeat that does not renew it (its process has lost it, or does not know that
 * it has it), the heartbeat says so, and does not count.
 *
 * <p>What followers watch is what a renewal compares, for each state of a record:
 *
 * <ul>
 *   <li>It names a heartbeat: the record, and that heartbeat.
 *   <li>It was written by hand, without a heartbeat, or was handed back: the record alone. It is
 *       not renewed. A leader whose name an operator wrote over its own record first writes the
 *       record anew, if the history shows that it led last.
 * </ul>
 *
 * <p>Why one process leads at a time:
 *
 * <ol>
 *   <li>A take-over happens only if the record, the heartbeat that it names and the newest term are
 *       as a quorum has shown them in the same operation, and that is what was watched. (If the watch
 *       has shown that a record was handed back, the read that shows it as free begins that
 *       operation, and the take-over goes on with it.) It changes the record, ends the term, and
 *       creates the key of its own term. So of a renewal and a take-over that were sent at the same
 *       time, the second one changes nothing.
 *   <li>Followers compare the revision at which a record was written, which never occurs twice. But
 *       ZooKeeper compares a number within a transaction that starts again when a node is deleted
 *       and created. There a renewal counts only if a reading that follows it shows the same
 *       revision of each record. Whoever creates or takes a record changes the newest term, so that
 *       a late take-over, creation or release finds its term ended or gone. The key of a term is
 *       never created again: its number is above the history, and, if there is no history, above
 *       the revision of the whole cluster. If no term exists, a mark is created first, so that
 *       there is a key to change.
 *   <li>A renewal that was sent before another one of the same process, and arrives after it, finds
 *       another version of the heartbeat. A renewal of a former life of the process writes another
 *       heartbeat, which no record of this life names.
 *   <li>One process writes a heartbeat, and what it shows never becomes what it showed before. A
 *       process that finds its heartbeat deleted, or in a version that none of its own requests can
 *       have written, holds nothing any more and draws another token: another process may be a copy
 *       of it.
 *   <li>A server may go back to an earlier state, in which a record that a node has taken since is
 *       free. So the records belong to an <em>identity</em>, a key that each take-over compares, and
 *       that is watched with them. A fresh reading that does not prove that the history goes on
 *       replaces it, and new terms are above all that were lost: at least the time, which decides
 *       nothing else. A record counts as handed back only in the history in which the lease was
 *       taken: that node has watched it for a lease.
 *   <li>A release happens only if the record and the term are as they were read in the same call; or
 *       as this process has written them, with the heartbeat of its last renewal, if it has seen no
 *       later revision: a server that was set back shows an earlier heartbeat. It grants nothing:
 *       whoever takes the record reads, and finds out which history this is.
 *   <li>An outcome that is unknown extends nothing, and grants nothing.
 * </ol>
 */
@NullMarked
package io.election.keyvalue;

import org.jspecify.annotations.NullMarked;
