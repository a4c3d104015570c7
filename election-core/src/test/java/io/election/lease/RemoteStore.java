package io.election.lease;

import io.election.AuditNote;
import io.election.Member;
import io.election.PastTerm;
import io.election.lease.Step.Renew;
import io.election.store.ElectionDirectory;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStore.Reading;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A node's connection to the server, on which time passes. */
record RemoteStore(Simulation simulation, SimulatedProcess process)
    implements LeaseStore, ElectionDirectory {

  @Override
  public String name() {
    return "simulation";
  }

  @Override
  public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
    Optional<Reading> found =
        this.process.await(() -> this.simulation.server.inspect(this.process), new Step.Read());
    return found.isPresent() ? Map.of(Sent.SERVICE, found.get()) : Map.of();
  }

  @Override
  public Renewals renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
    return this.process.await(
        () -> {
          if (this.simulation.now < this.simulation.rowFreeAt) {
            return new Renewals(Set.of(), terms.keySet(), "the row is locked");
          }
          Renewals outcome = this.process.server.renew(nodeId, terms);
          outcome
              .renewed()
              .forEach(
                  (serviceId) -> this.simulation.judge.judgeRenewal(nodeId, terms.get(serviceId)));
          return outcome;
        },
        new Renew(terms.get(Sent.SERVICE)));
  }

  @Override
  public Optional<LeaseRow> create(String serviceId, Claim claim) throws LeaseStoreException {
    return this.process.await(
        () -> {
          Optional<LeaseRow> created = this.process.server.create(serviceId, claim);
          this.simulation.raceLost |= created.isEmpty();
          return created;
        },
        new Step.Create(claim.leaseMillis()));
  }

  @Override
  public Optional<LeaseRow> touch(String serviceId, LeaseRow seen) throws LeaseStoreException {
    return this.process.await(
        () -> this.process.server.touch(serviceId, seen), new Step.Touch(seen, 0));
  }

  @Override
  public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim)
      throws LeaseStoreException {
    return this.process.await(
        () -> {
          OptionalLong term = this.process.server.acquire(serviceId, seen, claim);
          term.ifPresent((won) -> this.process.grant(won));
          return term;
        },
        new Step.Acquire(seen, claim.reason()));
  }

  @Override
  public boolean release(
      String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending)
      throws LeaseStoreException {
    return this.process.await(
        () -> this.process.server.release(serviceId, nodeId, term, successor, ending),
        successor != null
            ? new Step.Release(term, successor, ending)
            : new Step.Cede(term, ending));
  }

  @Override
  public void announce(Announcement self) {}

  @Override
  public Map<String, List<Member>> members(Set<String> serviceIds) {
    return Map.of();
  }

  @Override
  public boolean designate(
      String serviceId, String leaderId, @Nullable LeaseRow seen, @Nullable AuditNote auditNote)
      throws LeaseStoreException {
    return this.process.await(
        () -> this.process.server.designate(serviceId, leaderId, seen, auditNote),
        () -> "to designate " + leaderId,
        false);
  }

  @Override
  public Map<String, List<PastTerm>> history(Set<String> serviceIds) throws LeaseStoreException {
    return this.process.await(() -> directory().history(serviceIds), () -> "for the history", true);
  }

  @Override
  public void prune(Map<String, Long> belowTerms, Duration retention) throws LeaseStoreException {
    this.process.await(
        () -> {
          // Deletes the terms at once, so that decisions without the old terms are checked.
          directory().prune(belowTerms, Duration.ZERO);
          return true;
        },
        () -> "to prune the history",
        false);
  }

  @Override
  public void close() {}

  private ElectionDirectory directory() {
    return (ElectionDirectory) this.process.server;
  }
}
