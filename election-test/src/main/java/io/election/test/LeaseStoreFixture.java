package io.election.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.election.AuditNote;
import io.election.LeadershipLostEvent;
import io.election.PastTerm;
import io.election.store.ElectionDirectory;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStore.Renewals;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;

/** Opens stores, and writes and reads records, for the contracts of a {@link LeaseStore}. */
abstract class LeaseStoreFixture {

  /** The election of most tests. */
  protected static final String SERVICE = "billing";

  protected static final String A = "a:8080:1";

  protected static final String B = "b:8080:2";

  /** The lease in milliseconds. */
  protected static final long LEASE = 10_000;

  /** An end that the leader requested. */
  protected static final TermEnd RESIGNED = new TermEnd(LeadershipLostEvent.Reason.RESIGNED, null);

  /** An end by an edit of the record. */
  protected static final TermEnd DISPLACED =
      new TermEnd(LeadershipLostEvent.Reason.DISPLACED, null);

  /** A person, with special characters in the texts. */
  protected static final AuditNote ALICE = new AuditNote("alice", "a 'new' version; \"2\" — 新版");

  static final AuditNote BOB = new AuditNote("bob", "");

  private final List<LeaseStore> others = new ArrayList<>();

  private @Nullable LeaseStore store;
  private @Nullable LeaseStore another;

  LeaseStoreFixture() {}

  /**
   * Opens a store, as each process does that takes part. All stores of one test method have the same
   * records, of which there are none at its start. The contract closes them.
   */
  protected abstract LeaseStore open() throws Exception;

  /**
   * Returns how often each race between nodes is run. In ten rounds a store that takes no lock has
   * more than one winner with near certainty.
   */
  protected int rounds() {
    return 10;
  }

  /** The store under test: the same instance during one test method. */
  protected final LeaseStore store() {
    this.store = this.store != null ? this.store : opened();
    return this.store;
  }

  /** The store of another process, on the same records. */
  protected final LeaseStore another() {
    this.another = this.another != null ? this.another : opened();
    return this.another;
  }

  /** Opens the stores of that many more processes, on the same records. */
  final List<LeaseStore> openMore(int count) {
    List<LeaseStore> more = Stream.generate(this::opened).limit(count).toList();
    this.others.addAll(more);
    return more;
  }

  private LeaseStore opened() {
    try {
      return open();
    } catch (Exception ex) {
      throw new IllegalStateException("The store was not opened", ex);
    }
  }

  @AfterEach
  final void closeStores() {
    Stream.of(this.store, this.another).filter(Objects::nonNull).forEach(LeaseStore::close);
    this.others.forEach(LeaseStore::close);
    this.others.clear();
    this.store = null;
    this.another = null;
  }

  /** Reads the record of an election; it must exist. */
  protected final LeaseRow row(String serviceId) throws LeaseStoreException {
    return row(store(), serviceId);
  }

  /** The store as a directory; a test that needs one is skipped if the store is none. */
  protected final ElectionDirectory directory() {
    assumeTrue(store() instanceof ElectionDirectory, "the store is no ElectionDirectory");
    return (ElectionDirectory) store();
  }

  /** Creates a record. */
  protected final Optional<LeaseRow> create(
      String serviceId, String nodeId, long leaseMillis, long aboveTerm)
      throws LeaseStoreException {
    return Leases.create(store(), serviceId, nodeId, leaseMillis, aboveTerm);
  }

  /** Begins the term that was opened with a record. */
  protected final boolean begin(String serviceId, LeaseRow created, long leaseMillis)
      throws LeaseStoreException {
    OptionalLong term = Leases.begin(store(), serviceId, created, leaseMillis);
    term.ifPresent((begun) -> assertThat(begun).isEqualTo(created.term()));
    return term.isPresent();
  }

  /** Renews leases; the outcome must be known. */
  protected final Set<String> renew(String nodeId, Map<String, Long> terms)
      throws LeaseStoreException {
    Renewals outcome = store().renew(nodeId, terms);
    assertThat(outcome.unknown()).isEmpty();
    return outcome.renewed();
  }

  /** Releases a lease in favour of the node that the record names. */
  protected final boolean cede(String serviceId, String nodeId, long term, TermEnd ending)
      throws LeaseStoreException {
    return Leases.cede(store(), serviceId, nodeId, term, ending);
  }

  /** Makes a node the leader of an election without a record, and reads the record. */
  protected final LeaseRow led(String serviceId, String nodeId) throws LeaseStoreException {
    LeaseRow created = create(serviceId, nodeId, LEASE, 0).orElseThrow();
    assertThat(begin(serviceId, created, LEASE)).isTrue();
    return row(serviceId);
  }

  /** Reads a record as another process does. */
  protected final LeaseRow seenByAnother(String serviceId) throws LeaseStoreException {
    return row(another(), serviceId);
  }

  static LeaseRow row(LeaseStore reader, String serviceId) throws LeaseStoreException {
    return reading(reader.read(Set.of(serviceId)), serviceId).row();
  }

  /**
   * Returns why the terms of an election ended, who requested it and the note; the oldest first.
   */
  protected final List<String> ends(String serviceId) throws LeaseStoreException {
    return terms(serviceId).stream()
        .map((term) -> "%s by %s: %s".formatted(term.endReason(), term.endedBy(), term.note()))
        .toList();
  }

  /** The terms of an election, the oldest first. */
  List<PastTerm> terms(String serviceId) throws LeaseStoreException {
    List<PastTerm> terms =
        new ArrayList<>(directory().history(Set.of(serviceId)).getOrDefault(serviceId, List.of()));
    Collections.reverse(terms);
    return terms;
  }

  static LeaseStore.Reading reading(Map<String, LeaseStore.Reading> readings, String serviceId) {
    return Optional.ofNullable(readings.get(serviceId))
        .orElseThrow(() -> new AssertionError("no record of " + serviceId));
  }

  /** Makes a node the leader of {@code service-0} and so on; returns their terms. */
  protected final Map<String, Long> leadMany(int count) throws LeaseStoreException {
    Map<String, Long> terms = new HashMap<>();
    for (int i = 0; i < count; i++) {
      String service = "service-" + i;
      terms.put(service, led(service, A).term());
    }
    return terms;
  }

  /** Takes {@link #SERVICE} again for {@link #A}, and reads the record. */
  protected final LeaseRow retaken(LeaseRow row) throws LeaseStoreException {
    assertThat(Leases.acquire(store(), SERVICE, row, A, LEASE, 0, "EXPIRED")).isPresent();
    return row(SERVICE);
  }

  /**
   * Asserts that a write ends the ownership of a record, and that a renewal does not restore it.
   */
  protected final void ownNoMore(String serviceId, Write write) throws Exception {
    LeaseRow row = led(serviceId, A);
    assertThat(row.own()).isTrue();
    write.on(row);
    assertThat(row(serviceId)).as(serviceId).isNotEqualTo(row);
    assertThat(row(serviceId).own()).as(serviceId).isFalse();
    assertThat(renew(A, Map.of(serviceId, row.term()))).containsExactly(serviceId);
    assertThat(row(serviceId).own()).as(serviceId).isFalse();
    assertThat(Leases.acquire(store(), serviceId, row(serviceId), A, LEASE, 0, "EXPIRED"))
        .isPresent();
    assertThat(row(serviceId).own()).as(serviceId).isTrue();
  }

  /** A write to a record. */
  @FunctionalInterface
  protected interface Write {

    /** Writes to the record. */
    void on(LeaseRow row) throws Exception;
  }
}
