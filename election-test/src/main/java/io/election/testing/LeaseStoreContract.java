package io.election.testing;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.PastTerm;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseStore;
import io.election.lease.LeaseStoreException;
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
public abstract class LeaseStoreContract extends LeaseStoreFixture {

  protected LeaseStoreContract() {}

  @Test
  void it_has_a_name_for_log_lines() {
    assertThat(store().name()).isNotBlank();
  }

  @Test
  void an_election_without_a_record_has_no_reading_and_no_designation() throws Exception {
    assertThat(store().read(Set.of(SERVICE))).isEmpty();
    assertThat(store().read(Set.of())).isEmpty();
    assertThat(store().designate(SERVICE, B, null, null)).isFalse();
    assertThat(store().read(Set.of(SERVICE))).isEmpty();
  }

  @Test
  void one_read_shows_the_records_of_many_elections() throws Exception {
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
  void a_record_that_rests_reads_the_same_each_time() throws Exception {
    led(SERVICE, A);

    assertThat(row(SERVICE)).isEqualTo(row(SERVICE));
  }

  @Test
  void the_age_of_a_record_is_that_of_its_last_write() throws Exception {
    led(SERVICE, A);

    assertThat(reading(store().read(Set.of(SERVICE)), SERVICE).age())
        .isBetween(Duration.ofSeconds(-1), Duration.ofMinutes(1));
  }

  @Test
  void elections_whose_names_differ_in_case_are_different() throws Exception {
    led("billing", A);

    assertThat(store().read(Set.of("Billing"))).isEmpty();
    led("Billing", B);

    assertThat(row("billing").leaderId()).isEqualTo(A);
    assertThat(row("Billing").leaderId()).isEqualTo(B);
    assertThat(store().read(Set.of("billing", "Billing"))).hasSize(2);
  }

  @Test
  void elections_whose_names_differ_in_an_accent_are_different() throws Exception {
    led("cafe", A);
    led("café", B);

    assertThat(row("cafe").leaderId()).isEqualTo(A);
    assertThat(row("café").leaderId()).isEqualTo(B);
  }

  @Test
  void names_may_hold_quotes_backslashes_and_any_script() throws Exception {
    String service = "a'b\"c\\d`e%f_g\u4e3b\uD83D\uDE00";
    LeaseRow row = led(service, service);

    assertThat(row.leaderId()).isEqualTo(service);
    assertThat(renew(service, Map.of(service, row.term()))).containsExactly(service);
    String other = "'; DROP TABLE leader_election; -- " + service;
    assertThat(store().designate(service, other, null, ALICE)).isTrue();
    assertThat(row(service).leaderId()).isEqualTo(other);
  }

  @Test
  void names_may_have_128_characters() throws Exception {
    String service = "s".repeat(128);
    String node = "n".repeat(128);

    assertThat(led(service, node).leaderId()).isEqualTo(node);
  }

  @Test
  void a_created_record_names_its_creator_and_carries_the_lease() throws Exception {
    LeaseRow created = create(SERVICE, A, LEASE, 0).orElseThrow();

    assertThat(created.leaderId()).isEqualTo(A);
    assertThat(created.leaseMillis()).isEqualTo(LEASE);
    assertThat(created.term()).isPositive();
    assertThat(created).isEqualTo(row(SERVICE));
    assertThat(terms(SERVICE)).singleElement().satisfies(term -> {
      assertThat(term.term()).isEqualTo(created.term());
      assertThat(term.leaderId()).isEqualTo(A);
      assertThat(term.until()).isNull();
    });
  }

  @Test
  void a_record_is_not_created_over_another() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(create(SERVICE, B, LEASE, 0)).isEmpty();
    assertThat(row(SERVICE)).isEqualTo(row);
    assertThat(terms(SERVICE)).hasSize(1);
  }

  @Test
  void a_created_record_has_a_term_above_what_its_creator_has_seen() throws Exception {
    assertThat(create(SERVICE, A, LEASE, 41).orElseThrow().term()).isGreaterThan(41);
  }

  @Test
  void keeping_warm_changes_nothing_but_version_and_time() throws Exception {
    LeaseRow created = create(SERVICE, A, LEASE, 0).orElseThrow();

    LeaseRow warmed = store().touch(SERVICE, created).orElseThrow();

    assertThat(warmed.version()).isNotEqualTo(created.version());
    assertThat(warmed.leaderId()).isEqualTo(A);
    assertThat(warmed.term()).isEqualTo(created.term());
    assertThat(warmed.leaseMillis()).isEqualTo(created.leaseMillis());
    assertThat(warmed).isEqualTo(row(SERVICE));
    assertThat(store().touch(SERVICE, warmed)).isPresent();
  }

  @Test
  void a_leader_renews() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(renew(A, Map.of(SERVICE, row.term()))).containsExactly(SERVICE);

    LeaseRow renewed = row(SERVICE);
    assertThat(renewed.version()).isNotEqualTo(row.version());
    assertThat(renewed.term()).isEqualTo(row.term());
    assertThat(renewed.leaseMillis()).isEqualTo(row.leaseMillis());
    assertThat(renewed.leaderId()).isEqualTo(A);
  }

  @Test
  void a_leader_renews_many_times_within_a_second() throws Exception {
    LeaseRow row = led(SERVICE, A);

    for (int i = 0; i < 20; i++) {
      assertThat(renew(A, Map.of(SERVICE, row.term()))).containsExactly(SERVICE);
    }
    assertThat(row(SERVICE).version()).isNotEqualTo(row.version());
  }

  @Test
  void renewing_nothing_renews_nothing() throws Exception {
    assertThat(renew(A, Map.of())).isEmpty();
  }

  @Test
  void all_elections_of_a_node_are_renewed_together() throws Exception {
    Map<String, Long> terms = leadMany(50);

    assertThat(renew(A, terms)).isEqualTo(terms.keySet());
  }

  @Test
  void leading_sets_the_lease() throws Exception {
    LeaseRow created = create(SERVICE, A, 3 * LEASE, 0).orElseThrow();

    assertThat(begin(SERVICE, created, LEASE)).isTrue();

    LeaseRow row = row(SERVICE);
    assertThat(row.leaderId()).isEqualTo(A);
    assertThat(row.leaseMillis()).isEqualTo(LEASE);
    assertThat(row.term()).isEqualTo(created.term());
    assertThat(row.version()).isNotEqualTo(created.version());
  }

  @Test
  void a_lease_that_was_lost_does_not_keep_others_from_being_renewed() throws Exception {
    Map<String, Long> terms = leadMany(4);
    assertThat(store().designate("service-0", B, null, null)).isTrue();
    assertThat(Leases.acquire(store(), "service-1", row("service-1"), A, LEASE, 0, "EXPIRED"))
        .isPresent();
    long released = terms.getOrDefault("service-2", 0L);
    assertThat(store().release("service-2", A, released, A, RESIGNED)).isTrue();

    assertThat(renew(A, terms)).containsExactly("service-3");
  }

  @Test
  void a_record_that_another_process_has_written_to_is_not_what_was_seen() throws Exception {
    Map<String, Write> writes = new HashMap<>();
    writes.put("renewed", row -> renew(A, Map.of("renewed", row.term())));
    writes.put("warmed", row -> store().touch("warmed", row));
    writes.put("designated", row -> another().designate("designated", A, null, null));
    writes.put("released", row -> store().release("released", A, row.term(), A, RESIGNED));
    writes.put("taken", row -> Leases.acquire(store(), "taken", row, A, LEASE, 0, "EXPIRED"));
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
  void a_released_lease_is_not_renewed() throws Exception {
    LeaseRow row = led(SERVICE, A);
    assertThat(store().release(SERVICE, A, row.term(), A, RESIGNED)).isTrue();

    assertThat(renew(A, Map.of(SERVICE, row.term()))).isEmpty();
  }

  @Test
  void another_nodes_lease_is_not_renewed() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(renew(B, Map.of(SERVICE, row.term()))).isEmpty();
    assertThat(renew(A.toUpperCase(Locale.ROOT), Map.of(SERVICE, row.term()))).isEmpty();
    assertThat(row(SERVICE)).isEqualTo(row);
  }

  @Test
  void a_renewal_in_a_term_that_has_ended_changes_nothing() throws Exception {
    LeaseRow old = led(SERVICE, A);
    OptionalLong term = Leases.acquire(store(), SERVICE, old, B, LEASE, 0, "EXPIRED");
    LeaseRow taken = row(SERVICE);
    LeaseRow again = retaken(taken);

    assertThat(renew(A, Map.of(SERVICE, old.term()))).isEmpty();
    assertThat(row(SERVICE)).isEqualTo(again);
    assertThat(term).hasValue(taken.term());
  }

  @Test
  void a_record_is_own_to_the_store_that_leads_in_it_and_to_no_other() throws Exception {
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
  void a_record_is_not_own_to_the_next_life_of_its_process() throws Exception {
    LeaseRow led = led(SERVICE, A);
    assertThat(led.own()).isTrue();

    store().close();

    assertThat(row(SERVICE).own()).isFalse();
    assertThat(renew(A, Map.of(SERVICE, led.term()))).isEmpty();
    assertThat(store().release(SERVICE, A, led.term(), "", RESIGNED)).isFalse();
    assertThat(retaken(row(SERVICE)).own()).isTrue();
  }

  @Test
  void records_that_are_renewed_together_stay_own() throws Exception {
    Map<String, Long> terms =
        Map.of("first", led("first", A).term(), "second", led("second", A).term());

    assertThat(renew(A, terms)).isEqualTo(terms.keySet());

    assertThat(row("first").own()).isTrue();
    assertThat(row("second").own()).isTrue();
  }

  @Test
  void a_record_is_not_own_once_a_store_has_written_to_it_that_does_not_lead() throws Exception {
    ownNoMore("warmed", row -> store().touch("warmed", row));
    ownNoMore(
        "warmed-by-another",
        row -> another().touch("warmed-by-another", seenByAnother("warmed-by-another")));
    ownNoMore("designated", row -> another().designate("designated", A, null, null));
  }

  @Test
  void taking_gives_a_greater_term() throws Exception {
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
  void a_taken_term_is_above_what_the_node_has_seen() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(Leases.acquire(store(), SERVICE, row, B, LEASE, 500, "EXPIRED")).isPresent();
    assertThat(row(SERVICE).term()).isGreaterThan(500);
  }

  @Test
  void a_released_record_is_vacant_and_keeps_its_term() throws Exception {
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
  void a_lease_can_be_released_in_favour_of_a_successor() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().release(SERVICE, A, row.term(), B, RESIGNED)).isTrue();

    assertThat(row(SERVICE).leaderId()).isEqualTo(B);
    assertThat(row(SERVICE).leaseMillis()).isZero();
    assertThat(Leases.acquire(store(), SERVICE, row(SERVICE), B, LEASE, 0, "DESIGNATED"))
        .isPresent();
  }

  @Test
  void only_the_holder_of_the_term_releases() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().release(SERVICE, B, row.term(), "", RESIGNED)).isFalse();
    assertThat(store().release(SERVICE, A, row.term() - 1, "", RESIGNED)).isFalse();
    assertThat(store().release(SERVICE, A, row.term() + 1, "", RESIGNED)).isFalse();
    assertThat(store().release("another", A, row.term(), "", RESIGNED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(row);
  }

  @Test
  void a_displaced_leader_gives_way_to_the_node_written_into_the_record() throws Exception {
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
  void a_node_does_not_cede_a_record_that_still_names_it() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(cede(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(row);
  }

  @Test
  void a_node_does_not_cede_in_a_term_that_another_node_opened() throws Exception {
    LeaseRow row = led(SERVICE, B);

    assertThat(cede(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(row);
  }

  @Test
  void a_node_does_not_cede_in_another_term() throws Exception {
    LeaseRow row = led(SERVICE, A);
    Leases.acquire(store(), SERVICE, row, B, LEASE, 0, "EXPIRED");
    LeaseRow taken = row(SERVICE);

    assertThat(cede(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(taken);
    assertThat(terms(SERVICE).get(0).until()).isNotNull();
    assertThat(terms(SERVICE).get(1).until()).isNull();
  }

  @Test
  void designating_writes_the_holder_and_keeps_lease_and_term() throws Exception {
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
  void a_record_that_is_not_as_it_was_seen_is_not_edited() throws Exception {
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
  void the_version_differs_after_every_write() throws Exception {
    List<Object> versions = new ArrayList<>();
    LeaseRow created = create(SERVICE, A, LEASE, 0).orElseThrow();
    versions.add(created.version());
    LeaseRow warmed = store().touch(SERVICE, created).orElseThrow();
    versions.add(warmed.version());
    begin(SERVICE, warmed, LEASE);
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
  void closing_twice_is_harmless() {
    store().close();
    store().close();
  }
}
