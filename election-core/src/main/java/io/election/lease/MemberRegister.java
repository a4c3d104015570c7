package io.election.lease;

import io.election.Member;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A register in which nodes announce that they stand for elections, so that operators can find
 * them. A {@link LeaseStore} may implement it. No decision of the protocol reads it, and no failure
 * of it affects an election.
 *
 * <p>Like the methods of the store, these methods are called by one thread at a time, end within
 * the time that the store was configured with, and throw {@link LeaseStoreException} if the outcome
 * is unknown. A permanent failure, such as a missing table, must not cost the connection that
 * renews leases.
 *
 * <p>Two processes with the same node id share an entry, which shows what either of them wrote
 * last.
 */
public interface MemberRegister {

  /**
   * Announces that this node stands for elections, by one small write. The first announcement after
   * the store was created or {@linkplain LeaseStore#close() closed} begins the node's membership.
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
   * @return the members of each of these elections, by node id
   * @throws LeaseStoreException if they could not be read
   */
  Map<String, List<Member>> members(Set<String> serviceIds) throws LeaseStoreException;

  /**
   * Deletes the entry of a node that stops.
   *
   * @param nodeId the id of this node
   * @throws LeaseStoreException if the outcome is unknown
   */
  void withdraw(String nodeId) throws LeaseStoreException;

  /**
   * The announcement of a node.
   *
   * @param nodeId its id
   * @param serviceIds the elections that it stands for
   * @param paused the elections in which it is paused
   * @param eligible whether it may lead at all
   * @param lease its lease
   * @param version the version of this library; empty if unknown
   */
  record Announcement(
      String nodeId,
      Set<String> serviceIds,
      Set<String> paused,
      boolean eligible,
      Duration lease,
      String version) {}
}
