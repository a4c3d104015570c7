package io.election;

import java.time.Duration;
import java.util.Optional;
import java.util.OptionalLong;

/**
 * One node's participation in one election, as the work of the leader needs it. Operators decide
 * elections by {@link ElectionOperations}.
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
   *     {@linkplain ElectionOperations#pause paused}
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
}
