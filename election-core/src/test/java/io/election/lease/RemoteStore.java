package io.election.lease;

import io.election.HistoryEntry;
import io.election.Instruction;
import io.election.LeadershipAcquiredEvent;
import io.election.lease.LeaseStore.Reading;
import io.election.lease.Step.Lead;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Take;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A node's connection to the server, on which time passes. */
final class RemoteStore implements LeaseStore {

  private static final Object LOCKED = "the row is locked";

  private final Simulation simulation;

  private final SimulatedProcess process;

  RemoteStore(Simulation simulation, SimulatedProcess process) {
    this.simulation = simulation;
    this.process = process;
  }

  @Override
  public String name() {
    return "simulation";
  }

  @Override
  public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
    Optional<?> found = (Optional<?>)
        this.process.await(() -> this.simulation.server.look(this.process), new Step.Read());
    return found.isPresent() ? Map.of(Sent.SERVICE, (Reading) found.get()) : Map.of();
  }

  @Override
  @SuppressWarnings("unchecked")
  public Set<String> renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
    Object outcome = this.process.await(
        () -> {
          if (this.simulation.now < this.simulation.rowFreeAt) {
            return LOCKED;
          }
          Set<String> renewed = this.process.server.renew(nodeId, terms);
          renewed.forEach(
              (serviceId) -> this.simulation.judge.judgeRenewal(nodeId, terms.get(serviceId)));
          return renewed;
        },
        new Renew(terms.get(Sent.SERVICE)));
    if (outcome == LOCKED) {
      throw new PartialRenewalException("locked", Set.of(), terms.keySet());
    }
    return (Set<String>) outcome;
  }

  @Override
  @SuppressWarnings("unchecked")
  public Optional<LeaseRow> create(
      String serviceId, String nodeId, long leaseMillis, long aboveTerm)
      throws LeaseStoreException {
    return (Optional<LeaseRow>) this.process.await(
        () -> {
          Optional<LeaseRow> created =
              this.process.server.create(serviceId, nodeId, leaseMillis, aboveTerm);
          this.simulation.raceLost |= created.isEmpty();
          return created;
        },
        new Step.Create(leaseMillis));
  }

  @Override
  @SuppressWarnings("unchecked")
  public Optional<LeaseRow> keepWarm(String serviceId, LeaseRow seen) throws LeaseStoreException {
    return (Optional<LeaseRow>) this.process.await(
        () -> this.process.server.keepWarm(serviceId, seen), new Step.KeepWarm(seen, 0));
  }

  @Override
  public boolean lead(String serviceId, LeaseRow seen, long leaseMillis)
      throws LeaseStoreException {
    return (boolean) this.process.await(
        () -> {
          boolean led = this.process.server.lead(serviceId, seen, leaseMillis);
          if (led) {
            this.process.grant(seen.term());
          }
          return led;
        },
        new Lead(seen));
  }

  @Override
  public OptionalLong take(
      String serviceId,
      LeaseRow seen,
      String nodeId,
      long leaseMillis,
      long aboveTerm,
      String reason)
      throws LeaseStoreException {
    return (OptionalLong) this.process.await(
        () -> {
          OptionalLong term =
              this.process.server.take(serviceId, seen, nodeId, leaseMillis, aboveTerm, reason);
          term.ifPresent((won) -> this.process.grant(won));
          return term;
        },
        new Take(seen, LeadershipAcquiredEvent.Reason.valueOf(reason)));
  }

  @Override
  public boolean release(
      String serviceId, String nodeId, long term, String successor, Ending ending)
      throws LeaseStoreException {
    return (boolean) this.process.await(
        () -> this.process.server.release(serviceId, nodeId, term, successor, ending),
        new Step.Release(term, successor, ending));
  }

  @Override
  public boolean giveWay(String serviceId, String nodeId, long term, Ending ending)
      throws LeaseStoreException {
    return (boolean) this.process.await(
        () -> this.process.server.giveWay(serviceId, nodeId, term, ending),
        new Step.GiveWay(term, ending));
  }

  @Override
  public boolean designate(String serviceId, String leaderId, @Nullable Instruction instruction)
      throws LeaseStoreException {
    return (boolean) this.process.await(
        () -> this.process.server.designate(serviceId, leaderId, instruction),
        () -> "to designate " + leaderId,
        false);
  }

  @Override
  @SuppressWarnings("unchecked")
  public Map<String, List<HistoryEntry>> history(Set<String> serviceIds)
      throws LeaseStoreException {
    return (Map<String, List<HistoryEntry>>) this.process.await(
        () -> this.process.server.history(serviceIds), () -> "for the history", true);
  }

  @Override
  public void prune(Map<String, Long> belowTerms, Duration retention) throws LeaseStoreException {
    this.process.await(
        () -> {
          // Deletes the terms at once, so that decisions without the old terms are checked.
          this.process.server.prune(belowTerms, Duration.ZERO);
          return true;
        },
        () -> "to prune the history",
        false);
  }

  @Override
  public void close() {}
}
