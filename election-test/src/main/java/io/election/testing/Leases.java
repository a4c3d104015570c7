package io.election.test;

import io.election.LeadershipAcquiredEvent.Reason;
import io.election.lease.Ending;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseStore;
import io.election.lease.LeaseStore.Claim;
import io.election.lease.LeaseStoreException;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/** Short forms of the calls to a {@link LeaseStore}. */
public final class Leases {

  private Leases() {}

  public static Optional<LeaseRow> create(
      LeaseStore store, String serviceId, String nodeId, long leaseMillis, long aboveTerm)
      throws LeaseStoreException {
    return store.create(serviceId, new Claim(nodeId, leaseMillis, aboveTerm, Reason.CREATED));
  }

  /** Begins the term that was opened with a record. */
  public static boolean lead(LeaseStore store, String serviceId, LeaseRow created, long leaseMillis)
      throws LeaseStoreException {
    Claim claim = new Claim(created.leaderId(), leaseMillis, created.term(), Reason.CREATED);
    return store.acquire(serviceId, created, claim).isPresent();
  }

  public static OptionalLong take(
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

  /** Renews leases; returns those that were renewed for certain. */
  public static Set<String> renew(LeaseStore store, String nodeId, Map<String, Long> terms)
      throws LeaseStoreException {
    return store.renew(nodeId, terms).renewed();
  }

  public static boolean giveWay(
      LeaseStore store, String serviceId, String nodeId, long term, Ending ending)
      throws LeaseStoreException {
    return store.release(serviceId, nodeId, term, null, ending);
  }
}
