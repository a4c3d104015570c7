package io.election;

import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One node's participation in one election.
 *
 * <p>Implementations are thread-safe. A custom implementation only needs the three methods without
 * a body; a bean of this type replaces the auto-configured one.
 */
public interface ElectionService {

  /**
   * Returns whether this process is the leader at this instant.
   *
   * <p>Local and cheap: no I/O, no lock, never blocks. Returns {@code false} from the deadline of
   * the lease on, even if no thread of this process has noticed the deadline yet. The result is
   * valid only at the instant of the call: call this method again before each step of long work.
   *
   * @return whether this process is the leader
   */
  boolean isLeader();

  /**
   * Stands for election: makes one attempt to become the leader now, and ends a standing aside that
   * {@link #lostLeader()} began. The node remains a candidate whether or not the attempt succeeds.
   *
   * <p>Waits for the outcome of the attempt for at most one operation timeout. Returns normally if
   * another node leads.
   *
   * @throws IllegalStateException if this node cannot stand: it is not running, not eligible, or
   *     {@linkplain #pause paused}
   * @throws java.util.concurrent.TimeoutException if the outcome was not known in time
   * @throws InterruptedException if the calling thread was interrupted while it waited
   * @throws Exception if the attempt could not be made, for instance because the store is
   *     unreachable
   */
  void becomeLeader() throws Exception;

  /**
   * Steps down now, hands the lease back and stands aside for one lease, so that another node can
   * take over.
   *
   * <p>When this method returns, {@link #isLeader()} is {@code false}. The lease is handed back in
   * the background once running leader work has ended, or when the drain timeout is over. On a node
   * that does not lead, this method only begins the standing aside. Never throws.
   */
  void lostLeader();

  /**
   * Returns the name of the election, for instance the name of the service.
   *
   * @return the name; {@code "default"} unless overridden
   */
  default String serviceId() {
    return "default";
  }

  /**
   * Returns the id of this node, which is unique among the candidates.
   *
   * <p>If the id contains the port of a web server, the port is missing until the server has
   * started.
   *
   * @return the node id; the process id unless overridden
   */
  default String nodeId() {
    return Long.toString(ProcessHandle.current().pid());
  }

  /**
   * Returns the leadership of this node if it leads at this instant. Local, like
   * {@link #isLeader()}.
   *
   * @return the leadership; empty on a follower, and if the implementation does not provide it
   */
  default Optional<Leadership> leadership() {
    return Optional.empty();
  }

  /**
   * Returns the leader that this node saw last. Local, and as old as the last read of the store:
   * use it for display and messages, never for decisions.
   *
   * @return the node id of the leader; empty if there is no leader or none has been seen
   */
  default Optional<String> leaderId() {
    return isLeader() ? Optional.of(nodeId()) : Optional.empty();
  }

  /**
   * Returns the term of {@link #leaderId()} that this node saw last. Local, and as old as the last
   * read of the store. Only the leader's own {@link Leadership#term()} is a fencing token.
   *
   * @return the term; empty if no leader is known, 0 if the election has no terms
   */
  default OptionalLong term() {
    return leadership()
        .map((leadership) -> OptionalLong.of(leadership.term()))
        .orElseGet(OptionalLong::empty);
  }

  /**
   * Returns the lease of {@link #leaderId()} that this node saw last: for how long no other node
   * leads if it dies. Local, and as old as the last read of the store.
   *
   * @return the lease; empty if no leader is known, or its lease is not
   */
  default Optional<Duration> leaderLease() {
    return Optional.empty();
  }

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
   * @throws UnsupportedOperationException if this type of election does not support designation at
   *     run time
   * @throws Exception if the store could not be updated
   */
  default void designate(String leaderId) throws Exception {
    throw new UnsupportedOperationException(
        getClass().getSimpleName() + " cannot designate a leader at run time");
  }

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
   * @throws UnsupportedOperationException if this type of election does not support designation at
   *     run time
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
   * @throws UnsupportedOperationException if this type of election does not support a forced
   *     election at run time
   * @throws Exception if the store could not be updated
   */
  default void forceElection() throws Exception {
    throw new UnsupportedOperationException(
        getClass().getSimpleName() + " cannot force an election at run time");
  }

  /**
   * Forces a new election, like {@link #forceElection()}, and records the actor and the reason in
   * the log and the history.
   *
   * @param auditNote the actor and the reason; ignored by an implementation that does not record
   *     them
   * @throws IllegalStateException if this node does not take part in the election, or the election
   *     has no record yet
   * @throws UnsupportedOperationException if this type of election does not support a forced
   *     election at run time
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
   * @throws UnsupportedOperationException if this type of election does not support that
   * @throws Exception if the store could not be updated
   */
  default void forceElection(AuditNote auditNote, ExpectedLeader expected) throws Exception {
    throw new UnsupportedOperationException(
        getClass().getSimpleName() + " cannot compare the leader when it forces an election");
  }

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
   * @throws UnsupportedOperationException if this type of election does not support a pause
   */
  default void pause(AuditNote auditNote) {
    throw new UnsupportedOperationException(getClass().getSimpleName() + " cannot be paused");
  }

  /**
   * Ends a {@linkplain #pause pause}, and a standing aside: this node is a candidate from now on.
   * Does nothing on a node that is not paused.
   *
   * @param auditNote the actor and the reason
   * @throws UnsupportedOperationException if this type of election does not support a pause
   */
  default void resume(AuditNote auditNote) {
    throw new UnsupportedOperationException(getClass().getSimpleName() + " cannot be paused");
  }

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
