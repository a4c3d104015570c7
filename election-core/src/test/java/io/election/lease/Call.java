package io.election.lease;

import io.election.lease.Step.Create;
import io.election.lease.Step.GiveWay;
import io.election.lease.Step.KeepWarm;
import io.election.lease.Step.Lead;
import io.election.lease.Step.Read;
import io.election.lease.Step.Release;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Take;
import java.util.Map;
import java.util.Optional;
import java.util.Set;

/**
 * A request on its way: what {@link Elector} hands to the store, apart from when the store does it.
 *
 * @param step what is asked for
 * @param nodeId who asks
 * @param leaseMillis the lease of who asks
 * @param aboveTerm the highest term that who asks had seen
 * @param sent its monotonic clock before sending
 * @param wallSent its wall clock before sending
 */
record Call(Step step, String nodeId, long leaseMillis, long aboveTerm, long sent, long wallSent) {

  static final String SERVICE = "jobs";

  static Call of(Candidacy candidacy, Step step, long sent, long wallSent) {
    return new Call(
        step,
        candidacy.node().id(),
        candidacy.node().settings().leaseDuration().toMillis(),
        candidacy.memory().highestTerm(),
        sent,
        wallSent);
  }

  /** Does on the server what was asked for. */
  Object execute(LeaseStore store) throws LeaseStoreException {
    if (this.step instanceof Read) {
      return Optional.ofNullable(store.read(Set.of(SERVICE)).get(SERVICE));
    }
    if (this.step instanceof Renew renew) {
      return store.renew(this.nodeId, Map.of(SERVICE, renew.term())).contains(SERVICE);
    }
    if (this.step instanceof Create create) {
      return store.create(SERVICE, this.nodeId, create.leaseMillis(), this.aboveTerm);
    }
    if (this.step instanceof KeepWarm keepWarm) {
      return store.keepWarm(SERVICE, keepWarm.row());
    }
    if (this.step instanceof Lead lead) {
      return store.lead(SERVICE, lead.row(), this.leaseMillis);
    }
    if (this.step instanceof Take take) {
      return store.take(
          SERVICE,
          take.row(),
          this.nodeId,
          this.leaseMillis,
          this.aboveTerm,
          take.reason().name());
    }
    if (this.step instanceof Release release) {
      return store.release(
          SERVICE, this.nodeId, release.term(), release.successor(), release.ending());
    }
    if (this.step instanceof GiveWay giveWay) {
      return store.giveWay(SERVICE, this.nodeId, giveWay.term(), giveWay.ending());
    }
    throw new IllegalArgumentException("No call to the store: " + this.step);
  }
}
