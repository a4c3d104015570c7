package io.election.store;

import io.election.Member;
import io.election.PastTerm;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * What a store can show about elections apart from the leases: the nodes that stand for them, and
 * their past terms. A {@link LeaseStore} may implement it. No decision of the protocol reads it, and
 * no failure of it affects an election. Without it, elections work, but the endpoint shows neither
 * members nor a history.
 *
 * <p>Like the methods of the store, these methods are called by one thread at a time, end within
 * the time that the store was configured with, and throw {@link LeaseStoreException} if the outcome
 * is unknown. A permanent failure, such as a missing table, must not cost the connection that
 * renews leases.
 *
 * <p>Two processes with the same node id share an entry, which shows what either of them wrote
 * last.
 */
public interface ElectionDirectory {

  /** The maximum number of terms of an election that {@link #history} returns. */
  int HISTORY_LENGTH = 10;

  /**
   * Announces that this node stands for elections, by one small write. The first announcement after
   * the store was created or {@linkplain LeaseStore#close() closed} begins the node's membership;
   * an announcement without elections ends it and deletes the entry.
   *
   * @param self this node
   * @throws LeaseStoreException if the outcome is unknown
   */
  void announce(Announcement self) throws LeaseStoreException;

  /**
   * Reads the members: all nodes that were announced within three of their own leases, by the clock
   * of the store.
   *
   * @param serviceIds the elections
   * @return the members of each of these elections, in the order in which they came
   * @throws LeaseStoreException if they could not be read
   */
  Map<String, List<Member>> members(Set<String> serviceIds) throws LeaseStoreException;

  /**
   * Reads the histories of elections, with one request for any number of elections.
   *
   * @param serviceIds the elections
   * @return the last {@link #HISTORY_LENGTH} terms of each election that has a history, the newest
   *     first
   * @throws LeaseStoreException if they could not be read
   */
  Map<String, List<PastTerm>> history(Set<String> serviceIds) throws LeaseStoreException;

  /**
   * Deletes old entries of the history, a bounded number per call. Does nothing if the store lacks
   * the permission to delete.
   *
   * @param belowTerms the elections, each with the term in which this node leads; this term and all
   *     above it are kept
   * @param retention how long ago, by the clock of the store, a term must have ended to be deleted
   * @throws LeaseStoreException if the outcome is unknown
   */
  void prune(Map<String, Long> belowTerms, Duration retention) throws LeaseStoreException;

  /**
   * The announcement of a node.
   *
   * @param nodeId its id
   * @param serviceIds the elections that it stands for; none if it stops
   * @param paused the elections in which it is paused
   * @param eligible whether it may lead at all
   * @param lease its lease
   * @param version the version of this library; empty if unknown
   * @param algorithm the stores whose leases a leader must hold, for instance {@code zookeeper,
   *     mysql}
   * @param positions the {@linkplain Member#position() positions} of the node, by election; none
   *     where it has none
   * @param label its {@linkplain LeaseSettings#label label}; empty if it has none
   */
  record Announcement(
      String nodeId,
      Set<String> serviceIds,
      Set<String> paused,
      boolean eligible,
      Duration lease,
      String version,
      String algorithm,
      Map<String, String> positions,
      String label) {}
}
