package io.election;

import java.util.List;
import java.util.Optional;

/**
 * One node's participation in one election, as operators need it: they decide who leads, and see who
 * stands and who led.
 *
 * <p>The auto-configured services are of this type; an application's own {@link ElectionService} need
 * not be. Each method throws {@link UnsupportedOperationException} if this type of election does not
 * support it at run time; what it does not know is empty.
 */
public interface ElectionOperations extends ElectionService {

  /**
   * Designates the next leader.
   *
   * <p>On the leader this is a graceful hand-over: it steps down, continues to renew until running
   * leader work has ended or the drain timeout is over, and releases the lease to the designated
   * node. On another node it edits the record in the store as an operator would. The designated
   * node leads at once if the old leader responds, and one lease later if it does not. If the
   * designated node itself does not respond, any node may lead after one lease.
   *
   * @param leaderId the node id of the next leader; 1 to 128 characters
   * @throws IllegalArgumentException if the node id cannot be used
   * @throws IllegalStateException if this node does not take part in the election, or the election
   *     has no record yet
   * @throws Exception if the store could not be updated
   */
  void designate(String leaderId) throws Exception;

  /**
   * Designates the next leader, like {@link #designate(String)}, and records the actor and the
   * reason in the log and the history.
   *
   * @param leaderId the node id of the next leader; 1 to 128 characters
   * @param auditNote the actor and the reason; ignored by an implementation that does not record
   *     them
   * @throws IllegalArgumentException if the node id cannot be used
   * @throws IllegalStateException if this node does not take part in the election, or the election
   *     has no record yet
   * @throws Exception if the store could not be updated
   */
  default void designate(String leaderId, AuditNote auditNote) throws Exception {
    designate(leaderId);
  }

  /**
   * Forces a new election. The leader, on whichever node, waits for running leader work to end, at
   * most for the drain timeout, releases the lease and stands aside for one lease.
   *
   * @throws IllegalStateException if this node does not take part in the election, or the election
   *     has no record yet
   * @throws Exception if the store could not be updated
   */
  void forceElection() throws Exception;

  /**
   * Forces a new election, like {@link #forceElection()}, and records the actor and the reason in
   * the log and the history.
   *
   * @param auditNote the actor and the reason; ignored by an implementation that does not record
   *     them
   * @throws IllegalStateException if this node does not take part in the election, or the election
   *     has no record yet
   * @throws Exception if the store could not be updated
   */
  default void forceElection(AuditNote auditNote) throws Exception {
    forceElection();
  }

  /**
   * Forces a new election, like {@link #forceElection(AuditNote)}, only if the expected node leads
   * in the expected term. Otherwise nothing is changed. The comparison and the change are one step,
   * so that a leader that has just been elected is not deposed by a command that was meant for the
   * one before it.
   *
   * @param auditNote the actor and the reason
   * @param expected the leader to depose
   * @throws OtherLeaderException if another node leads, or in another term, or if no node leads
   * @throws IllegalStateException if this node does not take part in the election, or the election
   *     has no record yet
   * @throws Exception if the store could not be updated
   */
  void forceElection(AuditNote auditNote, ExpectedLeader expected) throws Exception;

  /**
   * Makes this node stand aside until it is {@linkplain #resume resumed} or restarted. A leader
   * waits for running leader work to end, at most for the drain timeout, and releases the lease to
   * any node. A paused node is not a candidate, but follows as before. If a paused node is
   * designated, other nodes may lead after one lease.
   *
   * <p>When this method returns, {@link #isLeader()} is {@code false}. On a node that is already
   * paused, only the actor and the reason of the pause change.
   *
   * @param auditNote the actor and the reason
   * @throws IllegalStateException if this node does not take part in the election
   */
  void pause(AuditNote auditNote);

  /**
   * Ends a {@linkplain #pause pause}, and a standing aside: this node is a candidate from now on.
   * Does nothing on a node that is not paused.
   *
   * @param auditNote the actor and the reason
   */
  void resume(AuditNote auditNote);

  /**
   * Returns who {@linkplain #pause paused} this node, and why. Local.
   *
   * @return the actor and the reason; empty if this node is not paused
   */
  default Optional<AuditNote> paused() {
    return Optional.empty();
  }

  /**
   * Returns whether an operator has marked this election as moved to another store, so that this
   * node does not lead. Local, and as old as the last read of the store.
   *
   * @return the mark, for instance {@code moved to Mysql}; empty if there is none
   */
  default Optional<String> moved() {
    return Optional.empty();
  }

  /**
   * Returns the last terms of the election, as this node read them after the last change of leader
   * that it saw. Local. Use them for display, never for decisions.
   *
   * @return the terms, the newest first, at most ten; empty if the election has no history, or none
   *     has been read yet
   */
  default List<PastTerm> history() {
    return List.of();
  }

  /**
   * Returns the nodes that stand for this election, as this node last read them. It reads them once
   * per lease while this method is called, otherwise less often. Local. Use them for display, never
   * for decisions.
   *
   * @return the members in the order in which they came; empty if they are not known. Nodes that run
   *     a version without member announcements are missing
   */
  default Optional<List<Member>> members() {
    return Optional.empty();
  }

  /**
   * Reads the members from the store and returns them. Waits for at most one operation timeout. If
   * the store does not answer, returns the members that were read last.
   *
   * @return the members in the order in which they came; empty if they are not known
   * @throws InterruptedException if the calling thread was interrupted while it waited
   */
  default Optional<List<Member>> currentMembers() throws InterruptedException {
    return members();
  }
}
