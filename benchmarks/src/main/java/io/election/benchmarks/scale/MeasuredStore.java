package io.election.benchmarks.scale;

import io.election.HistoryEntry;
import io.election.Instruction;
import io.election.lease.Ending;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseStore;
import io.election.lease.LeaseStoreException;
import io.election.lease.PartialRenewalException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** A node's store, whose calls are timed. */
final class MeasuredStore implements LeaseStore {

  private final LeaseStore store;

  private final NodeFile file;

  /** When the last renewal of each lease was sent that was confirmed, or it was taken. */
  private final Map<String, Long> sentAt = new HashMap<>();

  MeasuredStore(LeaseStore store, NodeFile file) {
    this.store = store;
    this.file = file;
  }

  @Override
  public String name() {
    return this.store.name();
  }

  @Override
  public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
    return timed(Call.READ, () -> this.store.read(serviceIds));
  }

  @Override
  public Set<String> renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException {
    long sent = System.nanoTime();
    try {
      Set<String> renewed = this.store.renew(nodeId, terms);
      long answered = System.nanoTime();
      this.file.record(Call.RENEW, answered - sent);
      this.file.add(NodeFile.Counter.REFUSED_RENEWALS, terms.size() - renewed.size());
      terms
          .keySet()
          .forEach((id) -> this.sentAt.computeIfPresent(id, (key, last) -> {
            this.file.record(Call.RENEWAL_AGE, answered - last);
            return renewed.contains(id) ? sent : null;
          }));
      return renewed;
    } catch (PartialRenewalException | RuntimeException ex) {
      failed(sent);
      throw ex;
    } catch (LeaseStoreException ex) {
      failed(sent);
      throw ex;
    }
  }

  private void failed(long sent) {
    this.file.record(Call.FAILED, System.nanoTime() - sent);
    this.file.record(Call.FAILED_RENEW, System.nanoTime() - sent);
  }

  @Override
  public Optional<LeaseRow> create(
      String serviceId, String nodeId, long leaseMillis, long aboveTerm)
      throws LeaseStoreException {
    return timed(Call.OTHER, () -> this.store.create(serviceId, nodeId, leaseMillis, aboveTerm));
  }

  @Override
  public Optional<LeaseRow> keepWarm(String serviceId, LeaseRow seen) throws LeaseStoreException {
    return timed(Call.OTHER, () -> this.store.keepWarm(serviceId, seen));
  }

  @Override
  public boolean lead(String serviceId, LeaseRow seen, long leaseMillis)
      throws LeaseStoreException {
    this.sentAt.put(serviceId, System.nanoTime());
    return timed(Call.OTHER, () -> this.store.lead(serviceId, seen, leaseMillis));
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
    long sent = System.nanoTime();
    try {
      OptionalLong term = this.store.take(serviceId, seen, nodeId, leaseMillis, aboveTerm, reason);
      this.file.record(term.isPresent() ? Call.TAKE : Call.REFUSED_TAKE, System.nanoTime() - sent);
      if (term.isPresent()) {
        this.sentAt.put(serviceId, sent);
      }
      return term;
    } catch (LeaseStoreException | RuntimeException ex) {
      this.file.record(Call.FAILED, System.nanoTime() - sent);
      throw ex;
    }
  }

  @Override
  public boolean release(
      String serviceId, String nodeId, long term, String successor, Ending ending)
      throws LeaseStoreException {
    return timed(Call.OTHER, () -> this.store.release(serviceId, nodeId, term, successor, ending));
  }

  @Override
  public boolean giveWay(String serviceId, String nodeId, long term, Ending ending)
      throws LeaseStoreException {
    this.sentAt.remove(serviceId);
    return timed(Call.OTHER, () -> this.store.giveWay(serviceId, nodeId, term, ending));
  }

  @Override
  public boolean designate(String serviceId, String leaderId, @Nullable Instruction instruction)
      throws LeaseStoreException {
    return timed(Call.OTHER, () -> this.store.designate(serviceId, leaderId, instruction));
  }

  @Override
  public Map<String, List<HistoryEntry>> history(Set<String> serviceIds)
      throws LeaseStoreException {
    return timed(Call.OTHER, () -> this.store.history(serviceIds));
  }

  @Override
  public void prune(Map<String, Long> belowTerms, Duration retention) throws LeaseStoreException {
    timed(Call.OTHER, () -> {
      this.store.prune(belowTerms, retention);
      return true;
    });
  }

  @Override
  public void close() {
    this.store.close();
  }

  private <T> T timed(Call call, Question<T> question) throws LeaseStoreException {
    long sent = System.nanoTime();
    try {
      T answer = question.ask();
      this.file.record(call, System.nanoTime() - sent);
      return answer;
    } catch (LeaseStoreException | RuntimeException ex) {
      this.file.record(Call.FAILED, System.nanoTime() - sent);
      throw ex;
    }
  }

  /**
   * A call to the store.
   *
   * @param <T> what it gives
   */
  @FunctionalInterface
  private interface Question<T> {

    T ask() throws LeaseStoreException;
  }
}
