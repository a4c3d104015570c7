package io.election;

import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One node's part in one election.
 *
 * <p>Safe for use by any thread. The three methods without a body are all that an implementation of
 * one's own needs; a bean of this type replaces the auto-configured one.
 */
public interface ElectionService {

  /**
   * Tells whether this process is the leader at this instant.
   *
   * <p>Local and cheap: no I/O, no lock, never blocks. It is {@code false} from the lease's deadline
   * on, whatever any thread of this process has noticed by then. The answer is about the instant of
   * the call; ask again before each step of long work.
   *
   * @return whether this process leads
   */
  boolean isLeader();

  /**
   * Stands for election: makes one attempt now, and ends a standing aside that {@link #lostLeader()}
   * began. Whether it won or not, the node goes on trying by itself.
   *
   * <p>Waits for the outcome of the attempt, at most one operation time-out.
   *
   * @throws IllegalStateException if this node cannot stand: it is not running, not eligible, or
   *     {@linkplain #pause paused}
   * @throws java.util.concurrent.TimeoutException if the outcome did not come in time
   * @throws InterruptedException if the calling thread was interrupted while it waited
   * @throws Exception if the attempt could not be made, for instance because the store is out of
   *     reach
   */
  void becomeLeader() throws Exception;

  /**
   * Steps down now, hands the lease back and stands aside for one lease, so that another node can
   * take over.
   *
   * <p>When this returns, {@link #isLeader()} is {@code false}. The lease is handed back in the
   * background once running leader work has ended, within the drain time-out. On a node that does
   * not lead it only begins the standing aside. Never throws.
   */
  void lostLeader();

  /**
   * The name of the election, for instance the name of the service.
   *
   * @return the name; {@code "default"} unless the implementation says otherwise
   */
  default String serviceId() {
    return "default";
  }

  /**
   * The name of this node among the candidates, unique to the process.
   *
   * <p>Where the name holds the port of a web server, it is without the port until the server has
   * started.
   *
   * @return the name; the id of this process unless the implementation says otherwise
   */
  default String nodeId() {
    return Long.toString(ProcessHandle.current().pid());
  }

  /**
   * This node's leadership, if it leads at this instant. Local, like {@link #isLeader()}.
   *
   * @return the leadership; empty on a follower, and from an implementation that does not tell
   */
  default Optional<Leadership> leadership() {
    return Optional.empty();
  }

  /**
   * The leader as this node saw it last. Local, and as old as the last look at the store: for people
   * and messages, never for decisions.
   *
   * @return the node id of the leader; empty if there is none or none has been seen
   */
  default Optional<String> leaderId() {
    return isLeader() ? Optional.of(nodeId()) : Optional.empty();
  }

  /**
   * The term of {@link #leaderId()} as this node saw it last. Local, and as old as the last look at
   * the store. Only the leader's own {@link Leadership#term()} is a fencing token.
   *
   * @return the term; empty if no leader is known, 0 where the election has no terms
   */
  default OptionalLong term() {
    return leadership()
        .map((leadership) -> OptionalLong.of(leadership.term()))
        .orElseGet(OptionalLong::empty);
  }

  /**
   * Designates the node that shall lead.
   *
   * <p>On the leader this is a graceful hand-over: it steps down, lets running leader work end,
   * renewing all the while, and releases the lease to that node. On another node it edits the record
   * in the store as an operator would. The designated node leads at once if the old leader answers,
   * and one lease later if it does not; if the designated node itself does not answer, anyone may
   * lead after one lease.
   *
   * @param leaderId the node id of the node that shall lead; 1 to 128 characters
   * @throws IllegalStateException if there is no election to decide yet
   * @throws UnsupportedOperationException if this kind of election cannot be decided at run time
   * @throws Exception if the store could not be told
   */
  default void designate(String leaderId) throws Exception {
    throw new UnsupportedOperationException(
        getClass().getSimpleName() + " cannot designate a leader at run time");
  }

  /**
   * The same, and notes in the log and the history who wanted it, and why.
   *
   * @param leaderId the node id of the node that shall lead; 1 to 128 characters
   * @param instruction who asks, and why. An implementation that keeps no such notes ignores it
   * @throws IllegalStateException if there is no election to decide yet
   * @throws UnsupportedOperationException if this kind of election cannot be decided at run time
   * @throws Exception if the store could not be told
   */
  default void designate(String leaderId, Instruction instruction) throws Exception {
    designate(leaderId);
  }

  /**
   * Forces a new election: the leader, wherever it is, lets running leader work end, releases the
   * lease and stands aside for one lease.
   *
   * @throws IllegalStateException if there is no election to decide yet
   * @throws UnsupportedOperationException if this kind of election cannot be decided at run time
   * @throws Exception if the store could not be told
   */
  default void forceElection() throws Exception {
    throw new UnsupportedOperationException(
        getClass().getSimpleName() + " cannot force an election at run time");
  }

  /**
   * The same, and notes in the log and the history who wanted it, and why.
   *
   * @param instruction who asks, and why. An implementation that keeps no such notes ignores it
   * @throws IllegalStateException if there is no election to decide yet
   * @throws UnsupportedOperationException if this kind of election cannot be decided at run time
   * @throws Exception if the store could not be told
   */
  default void forceElection(Instruction instruction) throws Exception {
    forceElection();
  }

  /**
   * Makes this node stand aside until it is {@linkplain #resume resumed}, or started anew: a leader lets
   * running leader work end, releases the lease to anyone, and is no candidate meanwhile. It follows as
   * before. A designation of this node falls back to an election after one lease.
   *
   * <p>When this returns, {@link #isLeader()} is {@code false}. On a node that is paused already it only
   * changes who has paused it, and why.
   *
   * @param instruction who asks, and why
   * @throws IllegalStateException if this node does not take part in the election
   * @throws UnsupportedOperationException if this kind of election knows no pause
   */
  default void pause(Instruction instruction) {
    throw new UnsupportedOperationException(getClass().getSimpleName() + " cannot be paused");
  }

  /**
   * Ends a {@linkplain #pause pause}, and a standing aside: from now on this node is a candidate. Does
   * nothing on a node that is not paused.
   *
   * @param instruction who asks, and why
   * @throws UnsupportedOperationException if this kind of election knows no pause
   */
  default void resume(Instruction instruction) {
    throw new UnsupportedOperationException(getClass().getSimpleName() + " cannot be paused");
  }

  /**
   * Tells whether this node is {@linkplain #pause paused}. Local.
   *
   * @return who paused it, and why; empty if it is not paused
   */
  default Optional<Instruction> paused() {
    return Optional.empty();
  }

  /**
   * The last terms of the election, as this node read them after the last change of leader that it saw.
   * Local, and for people, never for decisions.
   *
   * @return the terms, the newest first, at most ten; empty where the election has no history, or none
   *     has been read yet
   */
  default List<HistoryEntry> history() {
    return List.of();
  }

  /**
   * The nodes that stand for this election, as this node read them last: once a lease, or less often if
   * they are hundreds. Local, and for people, never for decisions.
   *
   * @return the members by node id; empty where that is not known. Nodes of versions that do not
   *     announce themselves are missing
   */
  default Optional<List<Member>> members() {
    return Optional.empty();
  }

  /**
   * The same, read anew: waits for the store, at most one operation time-out. If it does not answer
   * this is what was read last.
   *
   * @return the members by node id; empty where that is not known
   * @throws InterruptedException if the calling thread was interrupted while it waited
   */
  default Optional<List<Member>> currentMembers() throws InterruptedException {
    return members();
  }
}
