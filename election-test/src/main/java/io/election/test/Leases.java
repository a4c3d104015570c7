package io.election.test;

import io.election.LeadershipAcquiredEvent.Reason;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStore.Claim;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/**
 * Short forms of the calls to a {@link LeaseStore}, for tests of stores. Leases are in
 * milliseconds. All methods throw {@link LeaseStoreException} if the outcome is unknown.
 */
public final class Leases {

  private Leases() {}

  /** Creates a record. */
  public static Optional<LeaseRow> create(
      LeaseStore store, String serviceId, String nodeId, long leaseMillis, long aboveTerm)
      throws LeaseStoreException {
    return store.create(serviceId, new Claim(nodeId, leaseMillis, aboveTerm, Reason.CREATED));
  }

  /** Begins the term that was opened with a record. */
  public static OptionalLong begin(
      LeaseStore store, String serviceId, LeaseRow created, long leaseMillis)
      throws LeaseStoreException {
    return acquire(
        store, serviceId, created, created.leaderId(), leaseMillis, created.term(), "CREATED");
  }

  /** Acquires a lease; {@code reason} is the name of a {@link Reason}. */
  public static OptionalLong acquire(
      LeaseStore store,
      String serviceId,
      LeaseRow seen,
      String nodeId,
      long leaseMillis,
      long aboveTerm,
      String reason)
      throws LeaseStoreException {
    return store.acquire(
        serviceId, seen, new Claim(nodeId, leaseMillis, aboveTerm, Reason.valueOf(reason)));
  }

  /** Renews leases; returns those that are known to be renewed. */
  public static Set<String> renew(LeaseStore store, String nodeId, Map<String, Long> terms)
      throws LeaseStoreException {
    return store.renew(nodeId, terms).renewed();
  }

  /** Releases a lease in favour of the node that the record names. */
  public static boolean cede(
      LeaseStore store, String serviceId, String nodeId, long term, TermEnd ending)
      throws LeaseStoreException {
    return store.release(serviceId, nodeId, term, null, ending);
  }
}
