package io.election.test;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.PastTerm;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import org.junit.jupiter.api.Test;

/**
 * The behaviour of every {@link LeaseStore}. The test of a store extends this class and adds tests
 * of its own. If the store also shows members and history, it extends {@link
 * ElectionDirectoryContract} instead, and if its records can be edited by hand, {@link
 * ManualEditsContract}.
 */
public abstract class LeaseStoreContract extends LeaseStoreFaultContract {

  protected LeaseStoreContract() {}

  @Test
  void itHasANameForLogLines() {
    assertThat(store().name()).isNotBlank();
  }

  @Test
  void anElectionWithoutARecordHasNoReadingAndNoDesignation() throws Exception {
    assertThat(store().read(Set.of(SERVICE))).isEmpty();
    assertThat(store().read(Set.of())).isEmpty();
    assertThat(store().designate(SERVICE, B, null, null)).isFalse();
    assertThat(store().read(Set.of(SERVICE))).isEmpty();
  }

  @Test
  void oneReadShowsTheRecordsOfManyElections() throws Exception {
    Set<String> services = new LinkedHashSet<>();
    for (int i = 0; i < 50; i++) {
      services.add("service-" + i);
      led("service-" + i, i % 2 == 0 ? A : B);
    }
    services.add("without-a-record");

    Map<String, LeaseStore.Reading> readings = store().read(services);

    assertThat(readings).hasSize(50).doesNotContainKey("without-a-record");
    assertThat(reading(readings, "service-7").row().leaderId()).isEqualTo(B);
    assertThat(reading(readings, "service-8").row().leaderId()).isEqualTo(A);
  }

  @Test
  void aRecordThatRestsReadsTheSameEachTime() throws Exception {
    led(SERVICE, A);

    assertThat(row(SERVICE)).isEqualTo(row(SERVICE));
  }

  @Test
  void theAgeOfARecordIsThatOfItsLastWrite() throws Exception {
    led(SERVICE, A);

    assertThat(reading(store().read(Set.of(SERVICE)), SERVICE).age())
        .isBetween(Duration.ofSeconds(-1), Duration.ofMinutes(1));
  }

  @Test
  void electionsWhoseNamesDifferInCaseAreDifferent() throws Exception {
    led("billing", A);

    assertThat(store().read(Set.of("Billing"))).isEmpty();
    led("Billing", B);

    assertThat(row("billing").leaderId()).isEqualTo(A);
    assertThat(row("Billing").leaderId()).isEqualTo(B);
    assertThat(store().read(Set.of("billing", "Billing"))).hasSize(2);
  }

  @Test
  void electionsWhoseNamesDifferInAnAccentAreDifferent() throws Exception {
    led("cafe", A);
    led("café", B);

    assertThat(row("cafe").leaderId()).isEqualTo(A);
    assertThat(row("café").leaderId()).isEqualTo(B);
  }

  @Test
  void namesMayHoldQuotesBackslashesAndAnyScript() throws Exception {
    String service = "a'b\"c\\d`e%f_g\u4e3b\uD83D\uDE00";
    LeaseRow row = led(service, service);

    assertThat(row.leaderId()).isEqualTo(service);
    assertThat(renew(service, Map.of(service, row.term()))).containsExactly(service);
    String other = "'; DROP TABLE leader_election; -- " + service;
    assertThat(store().designate(service, other, null, ALICE)).isTrue();
    assertThat(row(service).leaderId()).isEqualTo(other);
  }

  @Test
  void namesMayHave128Characters() throws Exception {
    String service = "s".repeat(128);
    String node = "n".repeat(128);

    assertThat(led(service, node).leaderId()).isEqualTo(node);
  }

  @Test
  void aCreatedRecordNamesItsCreatorAndCarriesTheLease() throws Exception {
    LeaseRow created = create(SERVICE, A, LEASE, 0).orElseThrow();

    assertThat(created.leaderId()).isEqualTo(A);
    assertThat(created.leaseMillis()).isEqualTo(LEASE);
    assertThat(created.term()).isPositive();
    assertThat(created).isEqualTo(row(SERVICE));
    assertThat(terms(SERVICE)).singleElement().satisfies((term) -> {
      assertThat(term.term()).isEqualTo(created.term());
      assertThat(term.leaderId()).isEqualTo(A);
      assertThat(term.until()).isNull();
    });
  }

  @Test
  void aRecordIsNotCreatedOverAnother() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(create(SERVICE, B, LEASE, 0)).isEmpty();
    assertThat(row(SERVICE)).isEqualTo(row);
    assertThat(terms(SERVICE)).hasSize(1);
  }

  @Test
  void aCreatedRecordHasATermAboveWhatItsCreatorHasSeen() throws Exception {
    assertThat(create(SERVICE, A, LEASE, 41).orElseThrow().term()).isGreaterThan(41);
  }

  @Test
  void aTouchChangesNothingButVersionAndTime() throws Exception {
    LeaseRow created = create(SERVICE, A, LEASE, 0).orElseThrow();

    LeaseRow touched = store().touch(SERVICE, created).orElseThrow();

    assertThat(touched.version()).isNotEqualTo(created.version());
    assertThat(touched.leaderId()).isEqualTo(A);
    assertThat(touched.term()).isEqualTo(created.term());
    assertThat(touched.leaseMillis()).isEqualTo(created.leaseMillis());
    assertThat(touched).isEqualTo(row(SERVICE));
    assertThat(store().touch(SERVICE, touched)).isPresent();
  }

  @Test
  void aLeaderRenews() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(renew(A, Map.of(SERVICE, row.term()))).containsExactly(SERVICE);

    LeaseRow renewed = row(SERVICE);
    assertThat(renewed.version()).isNotEqualTo(row.version());
    assertThat(renewed.term()).isEqualTo(row.term());
    assertThat(renewed.leaseMillis()).isEqualTo(row.leaseMillis());
    assertThat(renewed.leaderId()).isEqualTo(A);
  }

  @Test
  void aLeaderRenewsManyTimesWithinASecond() throws Exception {
    LeaseRow row = led(SERVICE, A);

    for (int i = 0; i < 20; i++) {
      assertThat(renew(A, Map.of(SERVICE, row.term()))).containsExactly(SERVICE);
    }
    assertThat(row(SERVICE).version()).isNotEqualTo(row.version());
  }

  @Test
  void renewingNothingRenewsNothing() throws Exception {
    assertThat(renew(A, Map.of())).isEmpty();
  }

  @Test
  void allElectionsOfANodeAreRenewedTogether() throws Exception {
    Map<String, Long> terms = leadMany(50);

    assertThat(renew(A, terms)).isEqualTo(terms.keySet());
  }

  @Test
  void leadingSetsTheLease() throws Exception {
    LeaseRow created = create(SERVICE, A, 3 * LEASE, 0).orElseThrow();

    assertThat(begin(SERVICE, created, LEASE)).isTrue();

    LeaseRow row = row(SERVICE);
    assertThat(row.leaderId()).isEqualTo(A);
    assertThat(row.leaseMillis()).isEqualTo(LEASE);
    assertThat(row.term()).isEqualTo(created.term());
    assertThat(row.version()).isNotEqualTo(created.version());
  }

  @Test
  void aLeaseThatWasLostDoesNotKeepOthersFromBeingRenewed() throws Exception {
    Map<String, Long> terms = leadMany(4);
    assertThat(store().designate("service-0", B, null, null)).isTrue();
    assertThat(Leases.acquire(store(), "service-1", row("service-1"), A, LEASE, 0, "EXPIRED"))
        .isPresent();
    long released = terms.getOrDefault("service-2", 0L);
    assertThat(store().release("service-2", A, released, A, RESIGNED)).isTrue();

    assertThat(renew(A, terms)).containsExactly("service-3");
  }

  @Test
  void aRecordThatAnotherProcessHasWrittenToIsNotWhatWasSeen() throws Exception {
    Map<String, Write> writes = new HashMap<>();
    writes.put("renewed", (row) -> renew(A, Map.of("renewed", row.term())));
    writes.put("touched", (row) -> store().touch("touched", row));
    writes.put("designated", (row) -> another().designate("designated", A, null, null));
    writes.put("released", (row) -> store().release("released", A, row.term(), A, RESIGNED));
    writes.put("taken", (row) -> Leases.acquire(store(), "taken", row, A, LEASE, 0, "EXPIRED"));
    for (Map.Entry<String, Write> write : writes.entrySet()) {
      String service = write.getKey();
      LeaseRow seen = led(service, A);
      write.getValue().on(seen);
      LeaseRow written = row(service);

      assertThat(Leases.acquire(store(), service, seen, B, LEASE, 0, "EXPIRED"))
          .as(service)
          .isEmpty();
      assertThat(store().touch(service, seen)).as(service).isEmpty();
      assertThat(begin(service, seen, LEASE)).as(service).isFalse();
      assertThat(row(service)).as(service).isEqualTo(written);
    }
  }

  @Test
  void aReleasedLeaseIsNotRenewed() throws Exception {
    LeaseRow row = led(SERVICE, A);
    assertThat(store().release(SERVICE, A, row.term(), A, RESIGNED)).isTrue();

    assertThat(renew(A, Map.of(SERVICE, row.term()))).isEmpty();
  }

  @Test
  void anotherNodesLeaseIsNotRenewed() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(renew(B, Map.of(SERVICE, row.term()))).isEmpty();
    assertThat(renew(A.toUpperCase(Locale.ROOT), Map.of(SERVICE, row.term()))).isEmpty();
    assertThat(row(SERVICE)).isEqualTo(row);
  }

  @Test
  void aRenewalInATermThatHasEndedChangesNothing() throws Exception {
    LeaseRow old = led(SERVICE, A);
    OptionalLong term = Leases.acquire(store(), SERVICE, old, B, LEASE, 0, "EXPIRED");
    LeaseRow taken = row(SERVICE);
    LeaseRow again = retaken(taken);

    assertThat(renew(A, Map.of(SERVICE, old.term()))).isEmpty();
    assertThat(row(SERVICE)).isEqualTo(again);
    assertThat(term).hasValue(taken.term());
  }

  @Test
  void aRecordIsOwnToTheStoreThatLeadsInItAndToNoOther() throws Exception {
    LeaseRow created = create(SERVICE, A, LEASE, 0).orElseThrow();
    assertThat(created.own()).isFalse();
    assertThat(row(SERVICE).own()).isFalse();

    assertThat(begin(SERVICE, created, LEASE)).isTrue();
    assertThat(row(SERVICE).own()).isTrue();
    assertThat(renew(A, Map.of(SERVICE, created.term()))).containsExactly(SERVICE);
    LeaseRow renewed = row(SERVICE);
    assertThat(renewed.own()).isTrue();
    assertThat(seenByAnother(SERVICE).own()).isFalse();

    assertThat(Leases.acquire(another(), SERVICE, seenByAnother(SERVICE), A, LEASE, 0, "EXPIRED"))
        .isPresent();
    assertThat(row(SERVICE).own()).isFalse();
    assertThat(seenByAnother(SERVICE).own()).isTrue();
    assertThat(Leases.acquire(store(), SERVICE, row(SERVICE), A, LEASE, 0, "EXPIRED"))
        .isPresent();
    assertThat(row(SERVICE).own()).isTrue();
  }

  @Test
  void aRecordIsNotOwnToTheNextLifeOfItsProcess() throws Exception {
    LeaseRow led = led(SERVICE, A);
    assertThat(led.own()).isTrue();

    store().close();

    assertThat(row(SERVICE).own()).isFalse();
    assertThat(renew(A, Map.of(SERVICE, led.term()))).isEmpty();
    assertThat(store().release(SERVICE, A, led.term(), "", RESIGNED)).isFalse();
    assertThat(retaken(row(SERVICE)).own()).isTrue();
  }

  @Test
  void recordsThatAreRenewedTogetherStayOwn() throws Exception {
    Map<String, Long> terms =
        Map.of("first", led("first", A).term(), "second", led("second", A).term());

    assertThat(renew(A, terms)).isEqualTo(terms.keySet());

    assertThat(row("first").own()).isTrue();
    assertThat(row("second").own()).isTrue();
  }

  @Test
  void aRecordIsNotOwnOnceAStoreHasWrittenToItThatDoesNotLead() throws Exception {
    ownNoMore("touched", (row) -> store().touch("touched", row));
    ownNoMore(
        "touched-by-another",
        (row) -> another().touch("touched-by-another", seenByAnother("touched-by-another")));
    ownNoMore("designated", (row) -> another().designate("designated", A, null, null));
  }

  @Test
  void takingGivesAGreaterTerm() throws Exception {
    LeaseRow row = led(SERVICE, A);

    OptionalLong term = Leases.acquire(store(), SERVICE, row, B, 2 * LEASE, 0, "EXPIRED");

    LeaseRow taken = row(SERVICE);
    assertThat(taken.leaderId()).isEqualTo(B);
    assertThat(taken.term()).isGreaterThan(row.term());
    assertThat(term).hasValue(taken.term());
    assertThat(taken.leaseMillis()).isEqualTo(2 * LEASE);
    assertThat(taken.version()).isNotEqualTo(row.version());
  }

  @Test
  void aTakenTermIsAboveWhatTheNodeHasSeen() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(Leases.acquire(store(), SERVICE, row, B, LEASE, 500, "EXPIRED")).isPresent();
    assertThat(row(SERVICE).term()).isGreaterThan(500);
  }

  @Test
  void aReleasedRecordIsVacantAndKeepsItsTerm() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isTrue();

    LeaseRow released = row(SERVICE);
    assertThat(released.leaderId()).isEmpty();
    assertThat(released.leaseMillis()).isZero();
    assertThat(released.term()).isEqualTo(row.term());
    assertThat(released.version()).isNotEqualTo(row.version());
    assertThat(terms(SERVICE)).extracting(PastTerm::until).doesNotContainNull();
  }

  @Test
  void aLeaseCanBeReleasedInFavourOfASuccessor() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().release(SERVICE, A, row.term(), B, RESIGNED)).isTrue();

    assertThat(row(SERVICE).leaderId()).isEqualTo(B);
    assertThat(row(SERVICE).leaseMillis()).isZero();
    assertThat(Leases.acquire(store(), SERVICE, row(SERVICE), B, LEASE, 0, "DESIGNATED"))
        .isPresent();
  }

  @Test
  void onlyTheHolderOfTheTermReleases() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().release(SERVICE, B, row.term(), "", RESIGNED)).isFalse();
    assertThat(store().release(SERVICE, A, row.term() - 1, "", RESIGNED)).isFalse();
    assertThat(store().release(SERVICE, A, row.term() + 1, "", RESIGNED)).isFalse();
    assertThat(store().release("another", A, row.term(), "", RESIGNED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(row);
  }

  @Test
  void aDisplacedLeaderGivesWayToTheNodeWrittenIntoTheRecord() throws Exception {
    LeaseRow row = led(SERVICE, A);
    assertThat(store().designate(SERVICE, B, null, null)).isTrue();

    assertThat(cede(SERVICE, A, row.term(), DISPLACED)).isTrue();

    LeaseRow released = row(SERVICE);
    assertThat(released.leaderId()).isEqualTo(B);
    assertThat(released.leaseMillis()).isZero();
    assertThat(released.term()).isEqualTo(row.term());
    assertThat(released.version()).isNotEqualTo(row.version());
    assertThat(terms(SERVICE)).extracting(PastTerm::until).doesNotContainNull();
  }

  @Test
  void aNodeDoesNotCedeARecordThatStillNamesIt() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(cede(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(row);
  }

  @Test
  void aNodeDoesNotCedeInATermThatAnotherNodeOpened() throws Exception {
    LeaseRow row = led(SERVICE, B);

    assertThat(cede(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(row);
  }

  @Test
  void aNodeDoesNotCedeInAnotherTerm() throws Exception {
    LeaseRow row = led(SERVICE, A);
    Leases.acquire(store(), SERVICE, row, B, LEASE, 0, "EXPIRED");
    LeaseRow taken = row(SERVICE);

    assertThat(cede(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(taken);
    assertThat(terms(SERVICE).get(0).until()).isNotNull();
    assertThat(terms(SERVICE).get(1).until()).isNull();
  }

  @Test
  void designatingWritesTheHolderAndKeepsLeaseAndTerm() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().designate(SERVICE, B, null, null)).isTrue();

    LeaseRow designated = row(SERVICE);
    assertThat(designated.leaderId()).isEqualTo(B);
    assertThat(designated.leaseMillis()).isEqualTo(row.leaseMillis());
    assertThat(designated.term()).isEqualTo(row.term());
    assertThat(designated.version()).isNotEqualTo(row.version());
    assertThat(store().designate(SERVICE, B, null, null)).isTrue();
    assertThat(store().designate(SERVICE, "", null, null)).isTrue();
    assertThat(row(SERVICE).leaderId()).isEmpty();
  }

  @Test
  void aRecordThatIsNotAsItWasSeenIsNotEdited() throws Exception {
    LeaseRow seen = led(SERVICE, A);
    assertThat(renew(A, Map.of(SERVICE, seen.term()))).containsExactly(SERVICE);
    unchangedByEditOf(seen);
    assertThat(Leases.acquire(another(), SERVICE, seenByAnother(SERVICE), B, LEASE, 0, "EXPIRED"))
        .isPresent();
    unchangedByEditOf(seen);

    assertThat(store().designate(SERVICE, "", row(SERVICE), null)).isTrue();
    assertThat(row(SERVICE).leaderId()).isEmpty();
    LeaseRow vacant = row(SERVICE);
    assertThat(store().designate(SERVICE, A, vacant, ALICE)).isTrue();
    assertThat(store().designate(SERVICE, B, vacant, ALICE)).isFalse();
    assertThat(row(SERVICE).leaderId()).isEqualTo(A);
    assertThat(ends(SERVICE)).last().isEqualTo("null by alice: " + ALICE.reason());
    assertThat(store().designate("another", A, vacant, null)).isFalse();
  }

  private void unchangedByEditOf(LeaseRow seen) throws LeaseStoreException {
    LeaseRow row = row(SERVICE);
    assertThat(store().designate(SERVICE, "", seen, null)).isFalse();
    assertThat(store().designate(SERVICE, "", seen, BOB)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(row);
    assertThat(ends(SERVICE)).last().isEqualTo("null by null: null");
  }

  @Test
  void theVersionDiffersAfterEveryWrite() throws Exception {
    List<Object> versions = new ArrayList<>();
    LeaseRow created = create(SERVICE, A, LEASE, 0).orElseThrow();
    versions.add(created.version());
    LeaseRow touched = store().touch(SERVICE, created).orElseThrow();
    versions.add(touched.version());
    begin(SERVICE, touched, LEASE);
    versions.add(row(SERVICE).version());
    renew(A, Map.of(SERVICE, created.term()));
    versions.add(row(SERVICE).version());
    store().designate(SERVICE, B, null, null);
    versions.add(row(SERVICE).version());
    cede(SERVICE, A, created.term(), DISPLACED);
    versions.add(row(SERVICE).version());
    long term = Leases.acquire(store(), SERVICE, row(SERVICE), B, LEASE, 0, "DESIGNATED")
        .orElseThrow();
    versions.add(row(SERVICE).version());
    store().release(SERVICE, B, term, "", RESIGNED);
    versions.add(row(SERVICE).version());

    assertThat(versions).doesNotHaveDuplicates();
  }

  @Test
  void closingTwiceIsHarmless() {
    store().close();
    store().close();
  }
}
