package io.election.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStore.Reading;
import io.election.store.LeaseStoreException;
import io.election.test.ManualEdits.Term;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * The behaviour of a {@link LeaseStore} whose records operators can edit by hand, for example in a
 * database table.
 */
public abstract class ManualEditsContract extends ElectionDirectoryContract {

  protected ManualEditsContract() {}

  /** The manual edits of the records of {@link #store()}, which bypass the store. */
  protected abstract ManualEdits edits();

  @Test
  void aCreatedRecordHasATermAboveAllInTheHistory() throws Exception {
    edits().insertTerm(SERVICE, 7, B, LEASE);
    edits().insertTerm(SERVICE, 100, B, LEASE);
    edits().insertTerm("another", 1000, B, LEASE);

    assertThat(create(SERVICE, A, LEASE, 41).orElseThrow().term()).isGreaterThan(100);
  }

  @Test
  void aCreatedRecordHasALeaseNoShorterThanThoseOfTheLastTermAndItsCreator() throws Exception {
    edits().insertTerm(SERVICE, 6, B, 4 * LEASE);
    edits().insertTerm(SERVICE, 7, B, 3 * LEASE);
    edits().insertTerm("another", 7, B, LEASE / 2);

    assertThat(create(SERVICE, A, LEASE, 0).orElseThrow().leaseMillis()).isEqualTo(3 * LEASE);
    assertThat(create("another", A, LEASE, 0).orElseThrow().leaseMillis()).isEqualTo(LEASE);
  }

  @Test
  void creatingARecordEndsTheOpenTermsOfItsElectionAlone() throws Exception {
    edits().insertTerm(SERVICE, 7, B, LEASE);
    edits().insertTerm("another", 3, B, LEASE);

    assertThat(create(SERVICE, A, LEASE, 0)).isPresent();

    assertThat(edits().history(SERVICE)).extracting(Term::open).containsExactly(false, true);
    assertThat(edits().history("another")).extracting(Term::open).containsExactly(true);
  }

  @Test
  void aRecordThatChangedInAnyComponentIsNotTouched() throws Exception {
    unchangedIfNotAsSeen((service, seen) -> store().touch(service, seen).isPresent());
  }

  @Test
  void leadingSetsTheLeaseInTheHistoryToo() throws Exception {
    edits().insertTerm(SERVICE, 7, B, 3 * LEASE);
    LeaseRow created = create(SERVICE, A, LEASE, 0).orElseThrow();

    assertThat(begin(SERVICE, created, LEASE)).isTrue();

    assertThat(edits().history(SERVICE)).extracting(Term::open).containsExactly(false, true);
    assertThat(edits().history(SERVICE))
        .extracting(Term::leaseMillis)
        .containsExactly(3 * LEASE, LEASE);
  }

  @Test
  void aRecordThatChangedInAnyComponentIsNotLed() throws Exception {
    unchangedIfNotAsSeen((service, seen) -> begin(service, seen, LEASE));
  }

  @Test
  void aLostElectionDoesNotKeepOthersFromBeingRenewed() throws Exception {
    Map<String, Long> terms = leadMany(5);
    edits().setLeader("service-0", B);
    edits().setTerm("service-1", 99);
    edits().setLease("service-2", 0L);
    edits().delete("service-3");

    assertThat(renew(A, terms)).containsExactly("service-4");
  }

  @Test
  void aLeaseIsNotRenewedAfterItsRecordWasDeletedAndAnotherNodeLed() throws Exception {
    LeaseRow row = led(SERVICE, A);
    edits().delete(SERVICE);
    LeaseRow created = Leases.create(another(), SERVICE, B, LEASE, 0).orElseThrow();
    assertThat(Leases.begin(another(), SERVICE, created, LEASE)).isPresent();
    LeaseRow seen = row(SERVICE);

    assertThat(renew(A, Map.of(SERVICE, row.term()))).isEmpty();
    assertThat(row(SERVICE)).isEqualTo(seen);
  }

  @Test
  void aRecordIsOwnThoughTheHistoryWasAheadOfIt() throws Exception {
    LeaseRow row = led(SERVICE, A);
    edits().insertTerm(SERVICE, row.term() + 5, B, LEASE);

    assertThat(expired(store(), SERVICE, row, A).orElseThrow()).isGreaterThan(row.term() + 5);

    assertThat(row(SERVICE).own()).isTrue();
  }

  @Test
  void aRecordIsNotOwnOnceItWasEdited() throws Exception {
    ownNoMore("touched", (row) -> edits().touch("touched"));
    ownNoMore("version", (row) -> edits().setVersion("version", 77));
  }

  /** Of two elections that one node led, another node has taken one over. */
  @Test
  void whatWasCopiedFromAnotherElectionIsNeitherOwnNorRenewedNorReleased() throws Exception {
    long source = led("source", A).term();
    long term = led(SERVICE, A).term();
    assertThat(expired(another(), SERVICE, seenByAnother(SERVICE), B)).isPresent();
    edits().copy("source", SERVICE);
    edits().setTerm(SERVICE, term);
    LeaseRow copy = row(SERVICE);

    assertThat(copy.own()).isFalse();
    assertThat(renew(A, Map.of(SERVICE, term, "source", source))).containsExactly("source");
    assertThat(store().release(SERVICE, A, term, "", RESIGNED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(copy);
    edits().setLeader(SERVICE, B);
    assertThat(cede(SERVICE, A, term, DISPLACED)).isFalse();
  }

  @Test
  void whatAnotherProcessTookIsNotTouchedThoughAnOperatorUndoesThat() throws Exception {
    LeaseRow row = led(SERVICE, A);
    assertThat(expired(another(), SERVICE, seenByAnother(SERVICE), B)).isPresent();
    edits().setTerm(SERVICE, row.term());
    LeaseRow displaced = row(SERVICE);
    assertThat(cede(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(displaced);

    edits().setLeader(SERVICE, A);
    LeaseRow undone = row(SERVICE);
    assertThat(undone.own()).isFalse();
    assertThat(renew(A, Map.of(SERVICE, row.term()))).isEmpty();
    assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(undone);
  }

  @Test
  void whatItsProcessTookAnewIsNotReleasedInTheEarlierTermThoughThatIsWrittenBack()
      throws Exception {
    LeaseRow row = led(SERVICE, A);
    LeaseRow again = retaken(row);
    assertThat(again.term()).isGreaterThan(row.term());
    edits().setTerm(SERVICE, row.term());
    LeaseRow lowered = row(SERVICE);

    assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(lowered);

    edits().setLeader(SERVICE, B);
    LeaseRow displaced = row(SERVICE);
    assertThat(cede(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(displaced);
  }

  @Test
  void takingEndsAllOpenTermsOfTheElectionAndOpensTheNewOne() throws Exception {
    LeaseRow row = led(SERVICE, A);
    edits().insertTerm(SERVICE, row.term() + 5, B, LEASE);
    edits().insertTerm("another", 1, B, LEASE);

    OptionalLong term = Leases.acquire(store(), SERVICE, row, B, 2 * LEASE, 0, "EXPIRED");

    assertThat(term.orElseThrow()).isGreaterThan(row.term() + 5);
    assertThat(row(SERVICE).term()).isEqualTo(term.orElseThrow());
    List<Term> history = edits().history(SERVICE);
    assertThat(history).extracting(Term::open).containsExactly(false, false, true);
    assertThat(history.get(2))
        .isEqualTo(new Term(term.orElseThrow(), B, 2 * LEASE, true, "EXPIRED", null, null, null));
    assertThat(edits().history("another")).extracting(Term::open).containsExactly(true);
  }

  @Test
  void aTakenTermIsAboveTheRecordsAlthoughTheHistoryIsBehind() throws Exception {
    led(SERVICE, A);
    edits().setTerm(SERVICE, 70);

    assertThat(expired(store(), SERVICE, row(SERVICE), B).orElseThrow()).isGreaterThan(70);
  }

  @Test
  void aTakenTermIsAboveTheHistoryAlthoughTheRecordsWasSetBack() throws Exception {
    LeaseRow row = led(SERVICE, A);
    edits().setTerm(SERVICE, -3);

    assertThat(expired(store(), SERVICE, row(SERVICE), B).orElseThrow()).isGreaterThan(row.term());
  }

  @Test
  void termsGoOnAfterTheRecordWasDeleted() throws Exception {
    LeaseRow row = led(SERVICE, A);
    edits().delete(SERVICE);

    assertThat(create(SERVICE, B, LEASE, 0).orElseThrow().term()).isGreaterThan(row.term());
  }

  @Test
  void aRecordThatChangedInAnyComponentIsNotTaken() throws Exception {
    unchangedIfNotAsSeen((service, seen) -> expired(store(), service, seen, B).isPresent());
  }

  @Test
  void aRecordThatWasWrittenWordForWordAgainIsAnotherOnceANodeHasLed() throws Exception {
    Map<String, CompareAndSet> writes = Map.of(
        "taken",
        (service, seen) -> expired(store(), service, seen, B).isPresent(),
        "touched",
        (service, seen) -> store().touch(service, seen).isPresent(),
        "led",
        (service, seen) -> begin(service, seen, LEASE));
    for (Map.Entry<String, CompareAndSet> write : writes.entrySet()) {
      for (Long lease : new Long[] {null, -1L, LEASE}) {
        String service = write.getKey() + " " + lease;
        led(service, A);
        edits().replace(service, B, lease);
        LeaseRow seen = row(service);
        assertThat(expired(another(), service, seen, A)).isPresent();
        edits().replace(service, B, lease);
        LeaseRow again = row(service);
        assertThat(again).as(service).isNotEqualTo(seen);

        assertThat(write.getValue().happens(service, seen)).as(service).isFalse();

        assertThat(row(service)).as(service).isEqualTo(again);
        assertThat(edits().history(service)).hasSize(2);
        assertThat(write.getValue().happens(service, again)).as(service).isTrue();
      }
    }
  }

  @Test
  void aRecordByHandWithoutAHistoryIsAnotherOnceANodeHasLed() throws Exception {
    edits().replace(SERVICE, B, null);
    LeaseRow seen = row(SERVICE);
    assertThat(expired(another(), SERVICE, seen, A)).isPresent();
    edits().delete(SERVICE);
    edits().replace(SERVICE, B, null);

    assertThat(expired(store(), SERVICE, seen, B)).isEmpty();
    assertThat(expired(store(), SERVICE, row(SERVICE), B)).isPresent();
  }

  @Test
  void aTermThatIsTheGreatestPossibleIsToldWithARemedyThatHelps() throws Exception {
    LeaseRow row = led(SERVICE, A);
    edits().setTerm(SERVICE, Long.MAX_VALUE);

    assertThatThrownBy(() ->
            Leases.acquire(store(), SERVICE, row(SERVICE), B, LEASE, Long.MAX_VALUE, "EXPIRED"))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("Set it back in both")
        .hasMessageContaining("then restart all nodes");

    edits().setTerm(SERVICE, row.term());
    // A node that was not restarted continues as before, without harm.
    assertThatThrownBy(() ->
            Leases.acquire(store(), SERVICE, row(SERVICE), B, LEASE, Long.MAX_VALUE, "EXPIRED"))
        .isInstanceOf(LeaseStoreException.class);
    assertThat(expired(store(), SERVICE, row(SERVICE), B).orElseThrow()).isGreaterThan(row.term());
  }

  @Test
  void aRecordThatWasDeletedIsNotTaken() throws Exception {
    LeaseRow row = led(SERVICE, A);
    edits().delete(SERVICE);

    assertThat(expired(store(), SERVICE, row, B)).isEmpty();
    assertThat(begin(SERVICE, row, LEASE)).isFalse();
    assertThat(store().touch(SERVICE, row)).isEmpty();
    assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isFalse();
    assertThat(cede(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(store().read(Set.of(SERVICE))).isEmpty();
    assertThat(edits().history(SERVICE)).hasSize(1);
  }

  @Test
  void theHistoryTellsThatATermWasFoundOpenByWhomTookIt() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(expired(store(), SERVICE, row, B)).isPresent();
    edits().delete(SERVICE);
    assertThat(create(SERVICE, A, LEASE, 0)).isPresent();
    edits().insertTerm(SERVICE, row(SERVICE).term() + 50, B, LEASE);
    edits().setLease(SERVICE, 0L);
    assertThat(Leases.acquire(store(), SERVICE, row(SERVICE), B, LEASE, 0, "RELEASED"))
        .isPresent();

    assertThat(ends(SERVICE))
        .containsExactly(
            "EXPIRED by null: null",
            "DISPLACED by null: null",
            "RELEASED by null: null",
            "RELEASED by null: null",
            "null by null: null");
  }

  @Test
  void aNodeThatWasWrittenBackEndsItsTermByItself() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().designate(SERVICE, B, null, ALICE)).isTrue();
    edits().setLeader(SERVICE, A);
    assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isTrue();

    assertThat(ends(SERVICE)).containsExactly("RESIGNED by null: null");
  }

  @Test
  void anUnknownLeaseCountsAsThatOfTheLastTerm() throws Exception {
    long term = led(SERVICE, A).term();
    edits().insertTerm(SERVICE, term + 50, B, 3 * LEASE);
    assertThat(row(SERVICE).leaseMillis()).isEqualTo(LEASE);

    edits().setLease(SERVICE, null);
    assertThat(row(SERVICE).leaseMillis()).isEqualTo(3 * LEASE);

    edits().setLease(SERVICE, -1L);
    assertThat(row(SERVICE).leaseMillis()).isEqualTo(3 * LEASE);
  }

  @Test
  void aLeaseThatIsUnknownToTheHistoryTooIsNotARelease() throws Exception {
    edits().insertTerm(SERVICE, 50, B, 0);
    edits().replace(SERVICE, B, null);

    assertThat(row(SERVICE).leaseMillis()).isPositive();
  }

  @Test
  void absurdValuesAreReadAsTheyAre() throws Exception {
    led(SERVICE, A);
    edits().setLease(SERVICE, Long.MAX_VALUE);
    edits().setVersion(SERVICE, -5);
    edits().setTerm(SERVICE, Long.MAX_VALUE - 1);

    LeaseRow row = row(SERVICE);
    assertThat(row.leaseMillis()).isEqualTo(Long.MAX_VALUE);
    assertThat(row.term()).isEqualTo(Long.MAX_VALUE - 1);
    assertThat(expired(store(), SERVICE, row, B)).hasValue(Long.MAX_VALUE);
  }

  @Test
  void termsThatEndedLongAgoArePrunedAndNoOthers() throws Exception {
    for (String serviceId : List.of(SERVICE, "another", "untold")) {
      for (int term = 1; term <= 5; term++) {
        edits().insertTerm(serviceId, term, A, LEASE);
      }
      edits().endTerm(serviceId, 1, Duration.ofDays(31));
      edits().endTerm(serviceId, 3, Duration.ofDays(29));
      edits().endTerm(serviceId, 4, Duration.ofDays(31));
      edits().endTerm(serviceId, 5, Duration.ofDays(31));
    }

    directory().prune(Map.of(SERVICE, 5L, "another", 4L), Duration.ofDays(30));
    directory().prune(Map.of(), Duration.ofDays(30));

    assertThat(edits().history(SERVICE)).extracting(Term::term).containsExactly(2L, 3L, 5L);
    assertThat(edits().history("another")).extracting(Term::term).containsExactly(2L, 3L, 4L, 5L);
    assertThat(edits().history("untold")).hasSize(5);
  }

  @Test
  void termsGoOnAfterTheHistoryWasPruned() throws Exception {
    LeaseRow row = led(SERVICE, A);
    long term =
        Leases.acquire(store(), SERVICE, row, B, 3 * LEASE, 6, "EXPIRED").orElseThrow();
    edits().endTerm(SERVICE, row.term(), Duration.ofDays(31));
    directory().prune(Map.of(SERVICE, term), Duration.ofDays(30));
    assertThat(edits().history(SERVICE)).extracting(Term::term).containsExactly(term);

    assertThat(store().release(SERVICE, B, term, "", RESIGNED)).isTrue();
    edits().endTerm(SERVICE, term, Duration.ofDays(31));
    directory().prune(Map.of(SERVICE, term), Duration.ofDays(30));
    edits().delete(SERVICE);

    LeaseRow created = create(SERVICE, A, LEASE, 0).orElseThrow();
    assertThat(created.term()).isGreaterThan(term);
    assertThat(created.leaseMillis()).isEqualTo(3 * LEASE);
  }

  /** What others watch is what a renewal changes and compares, whatever operators have written. */
  @Test
  void fault_57_whoeverIsRenewedAfterAnEditIsSeenToBeRenewed() throws Exception {
    led("source", A);
    for (Map.Entry<String, Consumer<String>> edit : eachEdit().entrySet()) {
      String service = edit.getKey();
      Map<String, Long> terms = Map.of(service, led(service, A).term());
      edit(service, edit.getValue());
      seenWhenRenewed(service, terms);
      notRenewedOnceTaken(service, terms);
    }
  }

  /** Each edit after each other one, with a renewal in between and without one. */
  @Test
  @Tag("long")
  void fault_57_whoeverIsRenewedAfterTwoEditsIsSeenToBeRenewed() throws Exception {
    led("source", A);
    Map<String, Consumer<String>> edits = eachEdit();
    for (Map.Entry<String, Consumer<String>> first : edits.entrySet()) {
      for (Map.Entry<String, Consumer<String>> second : edits.entrySet()) {
        for (boolean between : new boolean[] {false, true}) {
          String service = "%s.%s.%s".formatted(first.getKey(), second.getKey(), between);
          Map<String, Long> terms = Map.of(service, led(service, A).term());
          edit(service, first.getValue());
          if (between) {
            seenWhenRenewed(service, terms);
          }
          edit(service, second.getValue());
          seenWhenRenewed(service, terms);
          notRenewedOnceTaken(service, terms);
        }
      }
    }
  }

  private Map<String, Consumer<String>> eachEdit() {
    AtomicLong laterTerm = new AtomicLong(1L << 60);
    Map<String, Consumer<String>> edits = new LinkedHashMap<>();
    edits.put("its-name-alone", (service) -> edits().replace(service, A, null));
    edits.put("its-name-and-a-lease", (service) -> edits().replace(service, A, LEASE));
    edits.put("another-name", (service) -> edits().setLeader(service, B));
    edits.put("no-lease", (service) -> edits().setLease(service, null));
    edits.put("no-history", (service) -> edits().deleteHistory(service));
    edits.put(
        "a-later-term",
        (service) -> edits().insertTerm(service, laterTerm.getAndIncrement(), B, LEASE));
    edits.put("a-copy", (service) -> edits().copy("source", service));
    edits.put("no-record", (service) -> edits().delete(service));
    edits.put("another-record", this::createByAnotherAfterDeletion);
    return edits;
  }

  private void createByAnotherAfterDeletion(String service) {
    edits().delete(service);
    try {
      Leases.create(another(), service, B, LEASE, 0);
    } catch (LeaseStoreException ex) {
      throw new IllegalStateException(ex);
    }
  }

  private void edit(String service, Consumer<String> edit) throws LeaseStoreException {
    if (store().read(Set.of(service)).containsKey(service)) {
      edit.accept(service);
    }
  }

  private void seenWhenRenewed(String service, Map<String, Long> terms) throws LeaseStoreException {
    Map<String, Reading> before = another().read(Set.of(service));
    if (!renew(A, terms).contains(service)) {
      return;
    }
    LeaseRow watched = reading(before, service).row();
    assertThat(seenByAnother(service)).as(service).isNotEqualTo(watched);
    assertThat(expired(another(), service, watched, B)).as(service).isEmpty();
  }

  private void notRenewedOnceTaken(String service, Map<String, Long> terms)
      throws LeaseStoreException {
    Reading last = another().read(Set.of(service)).get(service);
    if (last != null && expired(another(), service, last.row(), B).isPresent()) {
      assertThat(renew(A, terms)).as(service).isEmpty();
    }
  }

  /** Takes over a record whose lease has expired. */
  private static OptionalLong expired(
      LeaseStore taker, String serviceId, LeaseRow seen, String nodeId) throws LeaseStoreException {
    return Leases.acquire(taker, serviceId, seen, nodeId, LEASE, 0, "EXPIRED");
  }

  /** Tries a compare-and-set after each kind of change; it must not change the record. */
  private void unchangedIfNotAsSeen(CompareAndSet write) throws LeaseStoreException {
    Map<String, Consumer<String>> changes = new HashMap<>();
    changes.put("leader", (service) -> edits().setLeader(service, B));
    changes.put("leader-in-case", (service) -> edits().setLeader(service, "A:8080:1"));
    changes.put("vacant", (service) -> edits().setLeader(service, ""));
    changes.put("term", (service) -> edits().setTerm(service, 77));
    changes.put("version", (service) -> edits().setVersion(service, 77));
    changes.put("lease", (service) -> edits().setLease(service, LEASE + 1));
    changes.put("lease-unknown", (service) -> edits().setLease(service, null));
    changes.put("lease-released", (service) -> edits().setLease(service, 0L));
    changes.put("time", (service) -> edits().touch(service));
    for (Map.Entry<String, Consumer<String>> change : changes.entrySet()) {
      String service = change.getKey();
      LeaseRow seen = led(service, A);
      change.getValue().accept(service);
      LeaseRow changed = row(service);

      assertThat(write.happens(service, seen)).as(service).isFalse();
      assertThat(row(service)).as(service).isEqualTo(changed);
      assertThat(edits().history(service)).as(service).hasSize(1);
    }
    String service = "lease-was-unknown";
    led(service, A);
    edits().setLease(service, null);
    LeaseRow seen = row(service);
    edits().setLease(service, LEASE);
    assertThat(write.happens(service, seen)).as(service).isFalse();
    Optional<LeaseRow> as = Optional.of(row(service));
    assertThat(write.happens(service, as.get())).as("as seen").isTrue();
  }

  /** A compare-and-set. */
  @FunctionalInterface
  private interface CompareAndSet {

    boolean happens(String serviceId, LeaseRow seen) throws LeaseStoreException;
  }
}
