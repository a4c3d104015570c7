package io.election.lease;

import io.election.Member;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * Where nodes say that they stand for elections, so that an operator finds them. A {@link LeaseStore}
 * may implement it. No decision of the protocol reads it, and no failure of it harms an election.
 *
 * <p>Like the store's own methods these are called by one thread at a time, end within the time that the
 * store was configured with, and throw {@link LeaseStoreException} if the outcome is unknown. A refusal
 * that lasts, such as a missing table, must not cost the connection on which leases are renewed.
 *
 * <p>Two processes with one node id share an entry, which shows what either of them wrote last.
 */
public interface MemberRegister {

  /**
   * Notes that this node stands, by one small write. The first announcement after the store was created
   * or {@linkplain LeaseStore#close() closed} begins the node's stay.
   *
   * @param self this node
   * @throws LeaseStoreException if the outcome is unknown
   */
  void announce(Announcement self) throws LeaseStoreException;

  /**
   * Reads who stands: all nodes that were announced within three of their own leases, by the store's
   * clock.
   *
   * @param serviceIds the elections
   * @return the members of each of these elections, by node id
   * @throws LeaseStoreException if they could not be read
   */
  Map<String, List<Member>> members(Set<String> serviceIds) throws LeaseStoreException;

  /**
   * Deletes the entry of a node that stops.
   *
   * @param nodeId this node
   * @throws LeaseStoreException if the outcome is unknown
   */
  void withdraw(String nodeId) throws LeaseStoreException;

  /**
   * What a node says of itself.
   *
   * @param nodeId its id
   * @param serviceIds the elections that it stands for
   * @param paused those in which it is paused
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
