package io.election.ownstore;

import io.election.AuditNote;
import io.election.LeadershipAcquiredEvent.Reason;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.TermEnd;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Queue;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * A store as a user would write one: it implements {@link LeaseStore} and nothing else. Its nodes
 * share a notebook, which has a page for each election. No page is ever torn out, so that it needs
 * no history.
 */
final class NotebookLeaseStore implements LeaseStore {

  /**
   * A page.
   *
   * @param line the number of the last entry, which is the version
   * @param opener the node that opened the term
   * @param owner the store that acquired the lease, in its present use; {@code null} if none has
   * @param stamped whether that store made the last entry, or renewed a lease that was stamped
   */
  record Page(
      String leaderId,
      long term,
      long leaseMillis,
      long line,
      String opener,
      @Nullable Object owner,
      boolean stamped) {

    Page edited(String leaderId, long leaseMillis) {
      return new Page(
          leaderId, this.term, leaseMillis, this.line + 1, this.opener, this.owner, false);
    }

    Page renewed() {
      return new Page(
          this.leaderId,
          this.term,
          this.leaseMillis,
          this.line + 1,
          this.opener,
          this.owner,
          this.stamped);
    }
  }

  /** The threads that have closed the store. */
  final Queue<String> closers = new ConcurrentLinkedQueue<>();

  private final Map<String, Page> notebook;

  /** Stands for this store, from one close to the next. */
  private Object self = new Object();

  NotebookLeaseStore() {
    this(new HashMap<>());
  }

  NotebookLeaseStore(Map<String, Page> notebook) {
    this.notebook = notebook;
  }

  @Override
  public String name() {
    return "notebook";
  }

  @Override
  public Map<String, Reading> read(Set<String> serviceIds) {
    Map<String, Reading> readings = new LinkedHashMap<>();
    synchronized (this.notebook) {
      for (String serviceId : serviceIds) {
        Page page = this.notebook.get(serviceId);
        if (page != null) {
          readings.put(serviceId, new Reading(row(page), Duration.ZERO));
        }
      }
    }
    return readings;
  }

  @Override
  public Renewals renew(String nodeId, Map<String, Long> terms) {
    Set<String> renewed = new LinkedHashSet<>();
    terms.forEach((serviceId, term) -> write(
            serviceId,
            (page) -> page.leaderId().equals(nodeId)
                && page.term() == term
                && page.leaseMillis() > 0
                && page.owner() == this.self,
            Page::renewed)
        .ifPresent((page) -> renewed.add(serviceId)));
    return new Renewals(renewed);
  }

  @Override
  public Optional<LeaseRow> create(String serviceId, Claim claim) {
    long term = claim.aboveTerm() + 1;
    Page page = new Page(claim.nodeId(), term, claim.leaseMillis(), 1, claim.nodeId(), null, false);
    synchronized (this.notebook) {
      return this.notebook.putIfAbsent(serviceId, page) == null
          ? Optional.of(row(page))
          : Optional.empty();
    }
  }

  @Override
  public Optional<LeaseRow> touch(String serviceId, LeaseRow seen) {
    return write(serviceId, isAs(seen), (page) -> page.edited(page.leaderId(), page.leaseMillis()))
        .map(this::row);
  }

  @Override
  public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim) {
    long term = claim.reason() == Reason.CREATED
        ? seen.term()
        : Math.max(seen.term(), claim.aboveTerm()) + 1;
    return write(
            serviceId,
            isAs(seen),
            (page) -> new Page(
                claim.nodeId(),
                term,
                claim.leaseMillis(),
                page.line() + 1,
                claim.nodeId(),
                this.self,
                true))
        .map((page) -> OptionalLong.of(term))
        .orElse(OptionalLong.empty());
  }

  @Override
  public boolean release(
      String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending) {
    return write(
            serviceId,
            (page) -> page.leaderId().equals(nodeId) == (successor != null)
                && page.opener().equals(nodeId)
                && page.term() == term
                && page.owner() == this.self,
            (page) -> page.edited(successor != null ? successor : page.leaderId(), 0))
        .isPresent();
  }

  @Override
  public boolean designate(
      String serviceId, String leaderId, @Nullable LeaseRow seen, @Nullable AuditNote auditNote) {
    return write(
            serviceId,
            seen != null ? isAs(seen) : (page) -> true,
            (page) -> page.edited(leaderId, page.leaseMillis()))
        .isPresent();
  }

  @Override
  public void close() {
    this.closers.add(Thread.currentThread().getName());
    this.self = new Object();
  }

  private LeaseRow row(Page page) {
    return new LeaseRow(
        page.leaderId(),
        page.term(),
        page.leaseMillis(),
        page.line(),
        page.stamped() && page.owner() == this.self);
  }

  private Predicate<Page> isAs(LeaseRow seen) {
    return (page) -> row(page).isSameRecord(seen);
  }

  /** Writes on a page; returns it as written, empty if it is not as expected. */
  private Optional<Page> write(
      String serviceId, Predicate<Page> expected, UnaryOperator<Page> change) {
    synchronized (this.notebook) {
      return Optional.ofNullable(this.notebook.get(serviceId))
          .filter(expected)
          .map(change)
          .map((page) -> {
            this.notebook.put(serviceId, page);
            return page;
          });
    }
  }
}
