package io.election.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.HistoryEntry;
import io.election.Instruction;
import io.election.LeadershipLostEvent;
import io.election.lease.Ending;
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
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What every {@link LeaseStore} does; a store's test extends this and adds what is its own. */
public abstract class LeaseStoreContract {

  /** The election of most tests. */
  protected static final String SERVICE = "billing";

  /** A node. */
  protected static final String A = "a:8080:1";

  /** Another node. */
  protected static final String B = "b:8080:2";

  /** A lease in milliseconds. */
  protected static final long LEASE = 10_000;

  private static final Ending RESIGNED = new Ending(LeadershipLostEvent.Reason.RESIGNED, null);

  private static final Ending DISPLACED = new Ending(LeadershipLostEvent.Reason.DISPLACED, null);

  private static final Instruction ALICE = new Instruction("alice", "a 'new' version; \"2\" — 新版");

  private static final Instruction BOB = new Instruction("bob", "");

  /** For how long a record has to rest until a node of an older tool takes it. */
  protected static final Duration OLDER_TOOLS_INTERVAL = Duration.ofSeconds(5);

  /** Creates the contract. */
  protected LeaseStoreContract() {}

  /**
   * The store under test.
   *
   * @return the same for all of one test method, without records at its start
   */
  protected abstract LeaseStore store();

  /**
   * The store of another process.
   *
   * @return a store on the same records
   */
  protected abstract LeaseStore another();

  /**
   * The records behind the store.
   *
   * @return what changes the records of {@link #store()} behind its back
   */
  protected abstract Hand hand();

  /**
   * What operators and older tools do to records, without regard for versions: no method changes a
   * component that it does not name.
   */
  public interface Hand {

    /**
     * Inserts a record as an older tool does, which knows neither term nor lease.
     *
     * @param serviceId the election
     * @param leaderId the holder
     */
    void insert(String serviceId, String leaderId);

    /**
     * Replaces the record by a statement that names the time of the last write, long ago, and so leaves
     * the same record each time.
     *
     * @param serviceId the election
     * @param leaderId the holder
     * @param leaseMillis the lease; {@code null} if unknown
     */
    void replace(String serviceId, String leaderId, @Nullable Long leaseMillis);

    /**
     * Writes another holder.
     *
     * @param serviceId the election
     * @param leaderId the holder
     */
    void setLeader(String serviceId, String leaderId);

    /**
     * Writes another term.
     *
     * @param serviceId the election
     * @param term the term
     */
    void setTerm(String serviceId, long term);

    /**
     * Writes another version.
     *
     * @param serviceId the election
     * @param version the version
     */
    void setVersion(String serviceId, long version);

    /**
     * Writes another lease.
     *
     * @param serviceId the election
     * @param leaseMillis the lease; {@code null} if unknown
     */
    void setLease(String serviceId, @Nullable Long leaseMillis);

    /**
     * Writes another time of the last write, as the renewal of an older tool does.
     *
     * @param serviceId the election
     */
    void touch(String serviceId);

    /**
     * Does what a node of an older tool does every second: renews its record, takes another's that
     * has rested for {@link LeaseStoreContract#OLDER_TOOLS_INTERVAL}, inserts one that is missing.
     *
     * @param serviceId the election
     * @param nodeId the node of the older tool
     */
    void contend(String serviceId, String nodeId);

    /**
     * Sets the time of the last write back.
     *
     * @param serviceId the election
     * @param by how far; whole seconds
     */
    void setBack(String serviceId, Duration by);

    /**
     * Deletes the record.
     *
     * @param serviceId the election
     */
    void delete(String serviceId);

    /**
     * Adds an open term to the history.
     *
     * @param serviceId the election
     * @param term the term
     * @param leaderId who led
     * @param leaseMillis its lease
     */
    void insertTerm(String serviceId, long term, String leaderId, long leaseMillis);

    /**
     * Ends a term in the past.
     *
     * @param serviceId the election
     * @param term the term
     * @param ago how long ago; whole seconds
     */
    void endTerm(String serviceId, long term, Duration ago);

    /**
     * Reads the history.
     *
     * @param serviceId the election
     * @return the terms, the oldest first
     */
    List<Term> history(String serviceId);
  }

  /**
   * An entry of the history.
   *
   * @param term the term
   * @param leaderId who led
   * @param leaseMillis its lease
   * @param open whether it has not ended
   * @param reason why the election could be taken
   * @param endReason why it ended; {@code null} if nobody has noted it
   * @param endedBy who ended it; {@code null} if nobody has noted it
   * @param note why, in that one's words; {@code null} if nobody has noted it
   */
  public record Term(
      long term,
      String leaderId,
      long leaseMillis,
      boolean open,
      String reason,
      @Nullable String endReason,
      @Nullable String endedBy,
      @Nullable String note) {}

  /**
   * Reads the record of an election that must have one.
   *
   * @param serviceId the election
   * @return the record
   * @throws LeaseStoreException if the store cannot be read
   */
  protected final LeaseRow row(String serviceId) throws LeaseStoreException {
    return reading(store().read(Set.of(serviceId)), serviceId).row();
  }

  /**
   * Lets a node lead an election that has no record.
   *
   * @param serviceId the election
   * @param nodeId the node
   * @return the record
   * @throws LeaseStoreException if the store fails
   */
  protected final LeaseRow led(String serviceId, String nodeId) throws LeaseStoreException {
    LeaseRow created = store().create(serviceId, nodeId, LEASE, 0).orElseThrow();
    assertThat(store().lead(serviceId, created, LEASE)).isTrue();
    return row(serviceId);
  }

  @Test
  void it_has_a_name_for_log_lines() {
    assertThat(store().name()).isNotBlank();
  }

  @Test
  void an_election_without_a_record_has_no_reading() throws Exception {
    assertThat(store().read(Set.of(SERVICE))).isEmpty();
  }

  @Test
  void reading_no_election_gives_no_reading() throws Exception {
    assertThat(store().read(Set.of())).isEmpty();
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
    assertThat(store().renew(service, Map.of(service, row.term()))).containsExactly(service);
  }

  @Test
  void names_may_have_128_characters() throws Exception {
    String service = "s".repeat(128);
    String node = "n".repeat(128);

    assertThat(led(service, node).leaderId()).isEqualTo(node);
  }

  @Test
  void a_created_record_names_its_creator_and_carries_the_lease() throws Exception {
    LeaseRow created = store().create(SERVICE, A, LEASE, 0).orElseThrow();

    assertThat(created.leaderId()).isEqualTo(A);
    assertThat(created.leaseMillis()).isEqualTo(LEASE);
    assertThat(created.term()).isPositive();
    assertThat(created).isEqualTo(row(SERVICE));
    assertThat(hand().history(SERVICE)).singleElement().satisfies(term -> {
      assertThat(term.term()).isEqualTo(created.term());
      assertThat(term.leaderId()).isEqualTo(A);
      assertThat(term.leaseMillis()).isEqualTo(LEASE);
      assertThat(term.open()).isTrue();
    });
  }

  @Test
  void a_record_is_not_created_over_another() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().create(SERVICE, B, LEASE, 0)).isEmpty();
    assertThat(row(SERVICE)).isEqualTo(row);
    assertThat(hand().history(SERVICE)).hasSize(1);
  }

  @Test
  void a_created_record_has_a_term_above_what_its_creator_has_seen() throws Exception {
    assertThat(store().create(SERVICE, A, LEASE, 41).orElseThrow().term()).isEqualTo(42);
  }

  @Test
  void a_created_record_has_a_term_above_all_in_the_history() throws Exception {
    hand().insertTerm(SERVICE, 7, B, LEASE);
    hand().insertTerm(SERVICE, 100, B, LEASE);
    hand().insertTerm("another", 1000, B, LEASE);

    assertThat(store().create(SERVICE, A, LEASE, 41).orElseThrow().term()).isEqualTo(101);
  }

  @Test
  void a_created_record_has_a_lease_no_shorter_than_that_of_the_last_term() throws Exception {
    hand().insertTerm(SERVICE, 6, B, 4 * LEASE);
    hand().insertTerm(SERVICE, 7, B, 3 * LEASE);

    assertThat(store().create(SERVICE, A, LEASE, 0).orElseThrow().leaseMillis())
        .isEqualTo(3 * LEASE);
  }

  @Test
  void a_created_record_has_a_lease_no_shorter_than_its_creators() throws Exception {
    hand().insertTerm(SERVICE, 7, B, LEASE / 2);

    assertThat(store().create(SERVICE, A, LEASE, 0).orElseThrow().leaseMillis()).isEqualTo(LEASE);
  }

  @Test
  void creating_a_record_ends_the_open_terms_of_its_election_alone() throws Exception {
    hand().insertTerm(SERVICE, 7, B, LEASE);
    hand().insertTerm("another", 3, B, LEASE);

    assertThat(store().create(SERVICE, A, LEASE, 0)).isPresent();

    assertThat(hand().history(SERVICE)).extracting(Term::open).containsExactly(false, true);
    assertThat(hand().history("another")).extracting(Term::open).containsExactly(true);
  }

  @Test
  void keeping_warm_changes_nothing_but_version_and_time() throws Exception {
    LeaseRow created = store().create(SERVICE, A, LEASE, 0).orElseThrow();

    LeaseRow warmed = store().keepWarm(SERVICE, created).orElseThrow();

    assertThat(warmed.version()).isGreaterThan(created.version());
    assertThat(warmed.leaderId()).isEqualTo(A);
    assertThat(warmed.term()).isEqualTo(created.term());
    assertThat(warmed.leaseMillis()).isEqualTo(created.leaseMillis());
    assertThat(warmed).isEqualTo(row(SERVICE));
    assertThat(store().keepWarm(SERVICE, warmed)).isPresent();
  }

  @Test
  void keeping_warm_works_on_a_record_without_a_lease() throws Exception {
    hand().insert(SERVICE, A);

    LeaseRow warmed = store().keepWarm(SERVICE, row(SERVICE)).orElseThrow();

    assertThat(warmed.leaseMillis()).isNull();
    assertThat(warmed).isEqualTo(row(SERVICE));
  }

  @Test
  void a_record_that_changed_in_any_component_is_not_kept_warm() throws Exception {
    unchangedIfNotAsSeen((service, seen) -> store().keepWarm(service, seen).isPresent());
  }

  @Test
  void leading_sets_the_lease_and_keeps_the_term() throws Exception {
    hand().insertTerm(SERVICE, 7, B, 3 * LEASE);
    LeaseRow created = store().create(SERVICE, A, LEASE, 0).orElseThrow();

    assertThat(store().lead(SERVICE, created, LEASE)).isTrue();

    LeaseRow row = row(SERVICE);
    assertThat(row.term()).isEqualTo(created.term());
    assertThat(row.leaderId()).isEqualTo(A);
    assertThat(row.leaseMillis()).isEqualTo(LEASE);
    assertThat(row.version()).isGreaterThan(created.version());
    assertThat(hand().history(SERVICE)).extracting(Term::open).containsExactly(false, true);
    assertThat(hand().history(SERVICE))
        .extracting(Term::leaseMillis)
        .containsExactly(3 * LEASE, LEASE);
  }

  @Test
  void a_record_that_changed_in_any_component_is_not_led() throws Exception {
    unchangedIfNotAsSeen((service, seen) -> store().lead(service, seen, LEASE));
  }

  @Test
  void a_leader_renews() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().renew(A, Map.of(SERVICE, row.term()))).containsExactly(SERVICE);

    LeaseRow renewed = row(SERVICE);
    assertThat(renewed.version()).isGreaterThan(row.version());
    assertThat(renewed.term()).isEqualTo(row.term());
    assertThat(renewed.leaseMillis()).isEqualTo(row.leaseMillis());
    assertThat(renewed.leaderId()).isEqualTo(A);
  }

  @Test
  void a_leader_renews_many_times_within_a_second() throws Exception {
    LeaseRow row = led(SERVICE, A);

    for (int i = 0; i < 20; i++) {
      assertThat(store().renew(A, Map.of(SERVICE, row.term()))).containsExactly(SERVICE);
    }
    assertThat(row(SERVICE).version()).isGreaterThanOrEqualTo(row.version() + 20);
  }

  @Test
  void renewing_nothing_renews_nothing() throws Exception {
    assertThat(store().renew(A, Map.of())).isEmpty();
  }

  @Test
  void all_elections_of_a_node_are_renewed_together() throws Exception {
    Map<String, Long> terms = leadMany(50);

    assertThat(store().renew(A, terms)).isEqualTo(terms.keySet());
  }

  @Test
  void a_lost_election_does_not_keep_others_from_being_renewed() throws Exception {
    Map<String, Long> terms = leadMany(5);
    hand().setLeader("service-0", B);
    hand().setTerm("service-1", 99);
    hand().setLease("service-2", 0L);
    hand().delete("service-3");

    assertThat(store().renew(A, terms)).containsExactly("service-4");
  }

  @Test
  void a_released_lease_is_not_renewed() throws Exception {
    LeaseRow row = led(SERVICE, A);
    assertThat(store().release(SERVICE, A, row.term(), A, RESIGNED)).isTrue();

    assertThat(store().renew(A, Map.of(SERVICE, row.term()))).isEmpty();
  }

  @Test
  void a_lease_that_is_unknown_is_not_renewed() throws Exception {
    hand().insert(SERVICE, A);

    assertThat(store().renew(A, Map.of(SERVICE, 0L))).isEmpty();
  }

  @Test
  void another_nodes_lease_is_not_renewed() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().renew(B, Map.of(SERVICE, row.term()))).isEmpty();
    assertThat(store().renew(A.toUpperCase(Locale.ROOT), Map.of(SERVICE, row.term())))
        .isEmpty();
    assertThat(row(SERVICE)).isEqualTo(row);
  }

  @Test
  void a_renewal_in_a_term_that_has_ended_changes_nothing() throws Exception {
    LeaseRow old = led(SERVICE, A);
    OptionalLong term = store().take(SERVICE, old, B, LEASE, 0, "EXPIRED");
    LeaseRow taken = row(SERVICE);
    LeaseRow again = retaken(taken);

    assertThat(store().renew(A, Map.of(SERVICE, old.term()))).isEmpty();
    assertThat(row(SERVICE)).isEqualTo(again);
    assertThat(term).hasValue(old.term() + 1);
  }

  @Test
  void a_record_is_own_to_the_store_that_leads_in_it_and_to_no_other() throws Exception {
    LeaseRow created = store().create(SERVICE, A, LEASE, 0).orElseThrow();
    assertThat(created.own()).isFalse();
    assertThat(row(SERVICE).own()).isFalse();

    assertThat(store().lead(SERVICE, created, LEASE)).isTrue();
    assertThat(row(SERVICE).own()).isTrue();
    assertThat(store().renew(A, Map.of(SERVICE, created.term()))).containsExactly(SERVICE);
    LeaseRow renewed = row(SERVICE);
    assertThat(renewed.own()).isTrue();
    assertThat(seenByAnother().own()).isFalse();

    assertThat(another().take(SERVICE, seenByAnother(), A, LEASE, 0, "EXPIRED")).isPresent();
    assertThat(row(SERVICE).own()).isFalse();
    assertThat(seenByAnother().own()).isTrue();
    assertThat(store().take(SERVICE, row(SERVICE), A, LEASE, 0, "EXPIRED")).isPresent();
    assertThat(row(SERVICE).own()).isTrue();
  }

  @Test
  void a_record_is_not_own_to_the_next_life_of_its_process() throws Exception {
    LeaseRow led = led(SERVICE, A);
    assertThat(led.own()).isTrue();

    store().close();

    assertThat(row(SERVICE).own()).isFalse();
    assertThat(store().renew(A, Map.of(SERVICE, led.term()))).isEmpty();
    assertThat(store().release(SERVICE, A, led.term(), "", RESIGNED)).isFalse();
    assertThat(retaken(row(SERVICE)).own()).isTrue();
  }

  @Test
  void a_record_is_own_though_the_history_was_ahead_of_it() throws Exception {
    LeaseRow row = led(SERVICE, A);
    hand().insertTerm(SERVICE, row.term() + 5, B, LEASE);

    assertThat(store().take(SERVICE, row, A, LEASE, 0, "EXPIRED")).hasValue(row.term() + 6);

    assertThat(row(SERVICE).own()).isTrue();
  }

  @Test
  void records_that_are_renewed_together_stay_own() throws Exception {
    Map<String, Long> terms =
        Map.of("first", led("first", A).term(), "second", led("second", A).term());

    assertThat(store().renew(A, terms)).isEqualTo(terms.keySet());

    assertThat(row("first").own()).isTrue();
    assertThat(row("second").own()).isTrue();
  }

  @Test
  void a_record_is_not_own_once_anybody_else_has_written_to_it() throws Exception {
    ownNoMore((row) -> hand().touch(SERVICE));
    ownNoMore((row) -> hand().setVersion(SERVICE, row.version() + 1));
    ownNoMore((row) -> {
      hand().setBack(SERVICE, OLDER_TOOLS_INTERVAL.multipliedBy(2));
      hand().contend(SERVICE, B);
      hand().setLeader(SERVICE, A);
    });
    ownNoMore((row) -> assertThat(store().keepWarm(SERVICE, row)).isPresent());
    ownNoMore((row) -> assertThat(another().keepWarm(SERVICE, seenByAnother())).isPresent());
    ownNoMore((row) -> assertThat(another().designate(SERVICE, A, null)).isTrue());
  }

  /** Nor does a renewal make it so again. */
  private void ownNoMore(Write write) throws Exception {
    hand().delete(SERVICE);
    LeaseRow row = led(SERVICE, A);
    assertThat(row.own()).isTrue();
    write.on(row);
    assertThat(row(SERVICE).own()).isFalse();
    assertThat(store().renew(A, Map.of(SERVICE, row.term()))).containsExactly(SERVICE);
    assertThat(row(SERVICE).own()).isFalse();
    assertThat(store().take(SERVICE, row(SERVICE), A, LEASE, 0, "EXPIRED")).isPresent();
    assertThat(row(SERVICE).own()).isTrue();
  }

  /** What somebody does to a record. */
  @FunctionalInterface
  private interface Write {
    void on(LeaseRow row) throws Exception;
  }

  @Test
  void what_another_process_took_is_not_touched_though_an_operator_undoes_that() throws Exception {
    LeaseRow row = led(SERVICE, A);
    assertThat(another().take(SERVICE, seenByAnother(), B, LEASE, 0, "EXPIRED")).isPresent();
    hand().setTerm(SERVICE, row.term());
    LeaseRow displaced = row(SERVICE);
    assertThat(store().giveWay(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(displaced);

    hand().setLeader(SERVICE, A);
    LeaseRow undone = row(SERVICE);
    assertThat(undone.own()).isFalse();
    assertThat(store().renew(A, Map.of(SERVICE, row.term()))).isEmpty();
    assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(undone);
  }

  @Test
  void what_its_process_took_anew_is_not_released_in_the_earlier_term_though_that_is_written_back()
      throws Exception {
    LeaseRow row = led(SERVICE, A);
    LeaseRow again = retaken(row);
    assertThat(again.term()).isGreaterThan(row.term());
    hand().setTerm(SERVICE, row.term());
    LeaseRow lowered = row(SERVICE);

    assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(lowered);

    hand().setLeader(SERVICE, B);
    LeaseRow displaced = row(SERVICE);
    assertThat(store().giveWay(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(displaced);
  }

  private LeaseRow seenByAnother() throws LeaseStoreException {
    return reading(another().read(Set.of(SERVICE)), SERVICE).row();
  }

  @Test
  void taking_gives_the_next_term() throws Exception {
    LeaseRow row = led(SERVICE, A);

    OptionalLong term = store().take(SERVICE, row, B, 2 * LEASE, 0, "EXPIRED");

    assertThat(term).hasValue(row.term() + 1);
    LeaseRow taken = row(SERVICE);
    assertThat(taken.leaderId()).isEqualTo(B);
    assertThat(taken.term()).isEqualTo(row.term() + 1);
    assertThat(taken.leaseMillis()).isEqualTo(2 * LEASE);
    assertThat(taken.version()).isGreaterThan(row.version());
  }

  @Test
  void taking_ends_all_open_terms_of_the_election_and_opens_the_new_one() throws Exception {
    LeaseRow row = led(SERVICE, A);
    hand().insertTerm(SERVICE, row.term() + 5, B, LEASE);
    hand().insertTerm("another", 1, B, LEASE);

    OptionalLong term = store().take(SERVICE, row, B, 2 * LEASE, 0, "EXPIRED");

    assertThat(term).hasValue(row.term() + 6);
    assertThat(row(SERVICE).term()).isEqualTo(row.term() + 6);
    List<Term> history = hand().history(SERVICE);
    assertThat(history).extracting(Term::open).containsExactly(false, false, true);
    assertThat(history.get(2))
        .isEqualTo(new Term(row.term() + 6, B, 2 * LEASE, true, "EXPIRED", null, null, null));
    assertThat(hand().history("another")).extracting(Term::open).containsExactly(true);
  }

  @Test
  void a_taken_term_is_above_what_the_node_has_seen() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().take(SERVICE, row, B, LEASE, 500, "EXPIRED")).hasValue(501);
    assertThat(row(SERVICE).term()).isEqualTo(501);
  }

  @Test
  void a_taken_term_is_above_the_records_although_the_history_is_behind() throws Exception {
    led(SERVICE, A);
    hand().setTerm(SERVICE, 70);

    assertThat(store().take(SERVICE, row(SERVICE), B, LEASE, 0, "EXPIRED")).hasValue(71);
  }

  @Test
  void a_taken_term_is_above_the_history_although_the_records_was_set_back() throws Exception {
    LeaseRow row = led(SERVICE, A);
    hand().setTerm(SERVICE, -3);

    assertThat(store().take(SERVICE, row(SERVICE), B, LEASE, 0, "EXPIRED"))
        .hasValue(row.term() + 1);
  }

  @Test
  void terms_go_on_after_the_record_was_deleted() throws Exception {
    LeaseRow row = led(SERVICE, A);
    hand().delete(SERVICE);

    assertThat(store().create(SERVICE, B, LEASE, 0).orElseThrow().term()).isGreaterThan(row.term());
  }

  @Test
  void a_record_of_an_older_tool_can_be_taken() throws Exception {
    hand().insert(SERVICE, A);
    LeaseRow row = row(SERVICE);
    assertThat(row.leaseMillis()).isNull();

    assertThat(store().take(SERVICE, row, B, LEASE, 0, "EXPIRED")).hasValue(1);
    assertThat(row(SERVICE).leaseMillis()).isEqualTo(LEASE);
  }

  @Test
  void a_record_that_changed_in_any_component_is_not_taken() throws Exception {
    unchangedIfNotAsSeen(
        (service, seen) -> store().take(service, seen, B, LEASE, 0, "EXPIRED").isPresent());
  }

  @Test
  void a_record_that_was_written_word_for_word_again_is_another_once_somebody_has_led()
      throws Exception {
    Map<String, CompareAndSet> writes = Map.of(
        "taken",
        (service, seen) -> store().take(service, seen, B, LEASE, 0, "EXPIRED").isPresent(),
        "kept-warm",
        (service, seen) -> store().keepWarm(service, seen).isPresent(),
        "led",
        (service, seen) -> store().lead(service, seen, LEASE));
    for (Map.Entry<String, CompareAndSet> write : writes.entrySet()) {
      for (Long lease : new Long[] {null, -1L, LEASE}) {
        String service = write.getKey() + " " + lease;
        led(service, A);
        hand().replace(service, B, lease);
        LeaseRow seen = row(service);
        assertThat(another().take(service, seen, A, LEASE, 0, "EXPIRED")).isPresent();
        hand().replace(service, B, lease);
        LeaseRow again = row(service);
        assertThat(again).as(service).isNotEqualTo(seen);
        assertThat(again.version()).isEqualTo(seen.version());
        assertThat(again.lastActiveTime()).isEqualTo(seen.lastActiveTime());

        assertThat(write.getValue().happens(service, seen)).as(service).isFalse();

        assertThat(row(service)).as(service).isEqualTo(again);
        assertThat(hand().history(service)).hasSize(2);
        assertThat(write.getValue().happens(service, again)).as(service).isTrue();
      }
    }
  }

  @Test
  void a_record_by_hand_without_a_history_is_another_once_somebody_has_led() throws Exception {
    hand().replace(SERVICE, B, null);
    LeaseRow seen = row(SERVICE);
    assertThat(seen.lastTerm()).isNull();
    assertThat(another().take(SERVICE, seen, A, LEASE, 0, "EXPIRED")).isPresent();
    hand().delete(SERVICE);
    hand().replace(SERVICE, B, null);

    assertThat(store().take(SERVICE, seen, B, LEASE, 0, "EXPIRED")).isEmpty();
    assertThat(store().take(SERVICE, row(SERVICE), B, LEASE, 0, "EXPIRED")).isPresent();
  }

  @Test
  void a_term_that_is_the_greatest_possible_is_told_with_a_remedy_that_helps() throws Exception {
    LeaseRow row = led(SERVICE, A);
    hand().setTerm(SERVICE, Long.MAX_VALUE);

    assertThatThrownBy(
            () -> store().take(SERVICE, row(SERVICE), B, LEASE, Long.MAX_VALUE, "EXPIRED"))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("Set it back in both tables, then restart all nodes");

    hand().setTerm(SERVICE, row.term());
    // A node that was not restarted goes on as before, and harms nobody.
    assertThatThrownBy(
            () -> store().take(SERVICE, row(SERVICE), B, LEASE, Long.MAX_VALUE, "EXPIRED"))
        .isInstanceOf(LeaseStoreException.class);
    assertThat(store().take(SERVICE, row(SERVICE), B, LEASE, 0, "EXPIRED"))
        .hasValue(row.term() + 1);
  }

  @Test
  void a_record_that_was_deleted_is_not_taken() throws Exception {
    LeaseRow row = led(SERVICE, A);
    hand().delete(SERVICE);

    assertThat(store().take(SERVICE, row, B, LEASE, 0, "EXPIRED")).isEmpty();
    assertThat(store().lead(SERVICE, row, LEASE)).isFalse();
    assertThat(store().keepWarm(SERVICE, row)).isEmpty();
    assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isFalse();
    assertThat(store().giveWay(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(store().read(Set.of(SERVICE))).isEmpty();
    assertThat(hand().history(SERVICE)).hasSize(1);
  }

  @Test
  void a_released_record_is_vacant_and_keeps_its_term() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isTrue();

    LeaseRow released = row(SERVICE);
    assertThat(released.leaderId()).isEmpty();
    assertThat(released.leaseMillis()).isZero();
    assertThat(released.term()).isEqualTo(row.term());
    assertThat(released.version()).isGreaterThan(row.version());
    assertThat(hand().history(SERVICE)).extracting(Term::open).containsExactly(false);
  }

  @Test
  void a_lease_can_be_released_in_favour_of_a_successor() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().release(SERVICE, A, row.term(), B, RESIGNED)).isTrue();

    assertThat(row(SERVICE).leaderId()).isEqualTo(B);
    assertThat(row(SERVICE).leaseMillis()).isZero();
    assertThat(store().take(SERVICE, row(SERVICE), B, LEASE, 0, "DESIGNATED"))
        .hasValue(row.term() + 1);
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
    hand().setLeader(SERVICE, B);

    assertThat(store().giveWay(SERVICE, A, row.term(), DISPLACED)).isTrue();

    LeaseRow released = row(SERVICE);
    assertThat(released.leaderId()).isEqualTo(B);
    assertThat(released.leaseMillis()).isZero();
    assertThat(released.term()).isEqualTo(row.term());
    assertThat(released.version()).isGreaterThan(row.version());
    assertThat(hand().history(SERVICE)).extracting(Term::open).containsExactly(false);
  }

  @Test
  void nobody_gives_way_in_a_record_that_still_names_him() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().giveWay(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(row);
  }

  @Test
  void nobody_gives_way_in_a_term_that_another_node_opened() throws Exception {
    LeaseRow row = led(SERVICE, B);

    assertThat(store().giveWay(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(row);
  }

  @Test
  void nobody_gives_way_in_another_term() throws Exception {
    LeaseRow row = led(SERVICE, A);
    store().take(SERVICE, row, B, LEASE, 0, "EXPIRED");
    LeaseRow taken = row(SERVICE);

    assertThat(store().giveWay(SERVICE, A, row.term(), DISPLACED)).isFalse();
    assertThat(row(SERVICE)).isEqualTo(taken);
    assertThat(hand().history(SERVICE)).extracting(Term::open).containsExactly(false, true);
  }

  @Test
  void the_history_tells_why_a_term_was_released_and_who_wanted_it() throws Exception {
    LeaseRow row = led(SERVICE, A);
    Ending asked = new Ending(LeadershipLostEvent.Reason.HANDED_OVER, ALICE);

    assertThat(store().release(SERVICE, A, row.term(), B, asked)).isTrue();

    assertThat(ends(SERVICE)).containsExactly("HANDED_OVER by alice: " + ALICE.note());
    assertThat(store().take(SERVICE, row(SERVICE), B, LEASE, 0, "DESIGNATED")).isPresent();
    long second = row.term() + 1;
    assertThat(store().release(SERVICE, B, second, "", RESIGNED)).isTrue();
    assertThat(ends(SERVICE))
        .containsExactly("HANDED_OVER by alice: " + ALICE.note(), "RESIGNED by null: null");
  }

  @Test
  void the_history_tells_that_a_term_was_found_open_by_whom_took_it() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().take(SERVICE, row, B, LEASE, 0, "EXPIRED")).isPresent();
    hand().delete(SERVICE);
    assertThat(store().create(SERVICE, A, LEASE, 0)).isPresent();
    hand().insertTerm(SERVICE, 99, B, LEASE);
    hand().setLease(SERVICE, 0L);
    assertThat(store().take(SERVICE, row(SERVICE), B, LEASE, 0, "RELEASED")).isPresent();

    assertThat(ends(SERVICE))
        .containsExactly(
            "EXPIRED by null: null",
            "DISPLACED by null: null",
            "RELEASED by null: null",
            "RELEASED by null: null",
            "null by null: null");
  }

  @Test
  void the_history_tells_who_displaced_a_leader() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().designate(SERVICE, B, ALICE)).isTrue();
    assertThat(ends(SERVICE)).containsExactly("null by alice: " + ALICE.note());
    assertThat(store().designate(SERVICE, "c", BOB)).isTrue();
    assertThat(store().giveWay(SERVICE, A, row.term(), DISPLACED)).isTrue();

    assertThat(ends(SERVICE)).containsExactly("DISPLACED by alice: " + ALICE.note());
  }

  @Test
  void the_history_tells_who_displaced_a_leader_that_did_not_answer() throws Exception {
    led(SERVICE, A);

    assertThat(store().designate(SERVICE, B, BOB)).isTrue();
    assertThat(store().take(SERVICE, row(SERVICE), B, LEASE, 0, "DESIGNATED")).isPresent();

    assertThat(ends(SERVICE)).containsExactly("EXPIRED by bob: ", "null by null: null");
  }

  @Test
  void what_a_displaced_leader_was_told_before_counts_more() throws Exception {
    LeaseRow row = led(SERVICE, A);
    Ending told = new Ending(LeadershipLostEvent.Reason.RESIGNED, BOB);

    assertThat(store().designate(SERVICE, B, ALICE)).isTrue();
    assertThat(store().giveWay(SERVICE, A, row.term(), told)).isTrue();

    assertThat(ends(SERVICE)).containsExactly("RESIGNED by bob: ");
  }

  @Test
  void who_was_written_back_ends_its_term_by_itself() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().designate(SERVICE, B, ALICE)).isTrue();
    hand().setLeader(SERVICE, A);
    assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isTrue();

    assertThat(ends(SERVICE)).containsExactly("RESIGNED by null: null");
  }

  @Test
  void who_is_designated_after_a_release_has_not_ended_the_term() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isTrue();
    assertThat(store().designate(SERVICE, B, ALICE)).isTrue();

    assertThat(row(SERVICE).leaderId()).isEqualTo(B);
    assertThat(ends(SERVICE)).containsExactly("RESIGNED by null: null");
  }

  @Test
  void the_history_holds_the_longest_names_and_notes() throws Exception {
    LeaseRow row = led(SERVICE, A);
    Instruction longest = new Instruction("國".repeat(128), "語".repeat(Instruction.MAX_NOTE));

    Ending asked = new Ending(LeadershipLostEvent.Reason.HANDED_OVER, longest);
    assertThat(store().release(SERVICE, A, row.term(), "", asked)).isTrue();

    assertThat(hand().history(SERVICE)).singleElement().satisfies((term) -> {
      assertThat(term.endedBy()).isEqualTo(longest.by());
      assertThat(term.note()).isEqualTo(longest.note());
    });
  }

  private List<String> ends(String serviceId) {
    return hand().history(serviceId).stream()
        .map((term) -> "%s by %s: %s".formatted(term.endReason(), term.endedBy(), term.note()))
        .toList();
  }

  @Test
  void designating_writes_the_holder_and_keeps_lease_and_term() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().designate(SERVICE, B, null)).isTrue();

    LeaseRow designated = row(SERVICE);
    assertThat(designated.leaderId()).isEqualTo(B);
    assertThat(designated.leaseMillis()).isEqualTo(row.leaseMillis());
    assertThat(designated.term()).isEqualTo(row.term());
    assertThat(designated.version()).isGreaterThan(row.version());
    assertThat(store().designate(SERVICE, B, null)).isTrue();
    assertThat(store().designate(SERVICE, "", null)).isTrue();
    assertThat(row(SERVICE).leaderId()).isEmpty();
  }

  @Test
  void nobody_can_be_designated_without_a_record() throws Exception {
    assertThat(store().designate(SERVICE, B, null)).isFalse();
    assertThat(store().read(Set.of(SERVICE))).isEmpty();
  }

  @Test
  void an_unknown_lease_comes_with_that_of_the_last_term() throws Exception {
    led(SERVICE, A);
    hand().insertTerm(SERVICE, 50, B, 3 * LEASE);
    assertThat(row(SERVICE).lastTermLeaseMillis()).as("not needed").isNull();
    hand().setLease(SERVICE, null);

    assertThat(row(SERVICE).leaseMillis()).isNull();
    assertThat(row(SERVICE).lastTermLeaseMillis()).isEqualTo(3 * LEASE);
  }

  @Test
  void a_negative_lease_comes_with_that_of_the_last_term() throws Exception {
    led(SERVICE, A);
    hand().setLease(SERVICE, -1L);

    assertThat(row(SERVICE).leaseMillis()).isEqualTo(-1);
    assertThat(row(SERVICE).lastTermLeaseMillis()).isEqualTo(LEASE);
  }

  @Test
  void an_unknown_lease_without_a_history_comes_with_nothing() throws Exception {
    hand().insert(SERVICE, A);

    assertThat(row(SERVICE).leaseMillis()).isNull();
    assertThat(row(SERVICE).lastTermLeaseMillis()).isNull();
  }

  @Test
  void absurd_values_are_read_as_they_are() throws Exception {
    led(SERVICE, A);
    hand().setLease(SERVICE, Long.MAX_VALUE);
    hand().setVersion(SERVICE, -5);
    hand().setTerm(SERVICE, Long.MAX_VALUE - 1);

    LeaseRow row = row(SERVICE);
    assertThat(row.leaseMillis()).isEqualTo(Long.MAX_VALUE);
    assertThat(row.version()).isEqualTo(-5);
    assertThat(row.term()).isEqualTo(Long.MAX_VALUE - 1);
    assertThat(store().take(SERVICE, row, B, LEASE, 0, "EXPIRED")).hasValue(Long.MAX_VALUE);
  }

  @Test
  void the_version_grows_with_every_write() throws Exception {
    List<Long> versions = new ArrayList<>();
    LeaseRow created = store().create(SERVICE, A, LEASE, 0).orElseThrow();
    versions.add(created.version());
    LeaseRow warmed = store().keepWarm(SERVICE, created).orElseThrow();
    versions.add(warmed.version());
    store().lead(SERVICE, warmed, LEASE);
    versions.add(row(SERVICE).version());
    store().renew(A, Map.of(SERVICE, created.term()));
    versions.add(row(SERVICE).version());
    store().designate(SERVICE, B, null);
    versions.add(row(SERVICE).version());
    store().giveWay(SERVICE, A, created.term(), DISPLACED);
    versions.add(row(SERVICE).version());
    long term = store().take(SERVICE, row(SERVICE), B, LEASE, 0, "DESIGNATED").orElseThrow();
    versions.add(row(SERVICE).version());
    store().release(SERVICE, B, term, "", RESIGNED);
    versions.add(row(SERVICE).version());

    assertThat(versions).doesNotHaveDuplicates().isSorted();
  }

  @Test
  void the_renewal_of_an_older_tool_counts_as_a_change() throws Exception {
    LeaseRow row = led(SERVICE, A);
    hand().touch(SERVICE);

    assertThat(row(SERVICE)).isNotEqualTo(row);
    assertThat(row(SERVICE).version()).isEqualTo(row.version());
  }

  @Test
  void an_older_tool_inserts_a_record_without_term_and_lease() throws Exception {
    hand().contend(SERVICE, A);

    LeaseRow row = row(SERVICE);
    assertThat(row.leaderId()).isEqualTo(A);
    assertThat(row.term()).isZero();
    assertThat(row.version()).isZero();
    assertThat(row.leaseMillis()).isNull();
  }

  @Test
  void an_older_tool_leaves_a_record_alone_that_has_just_been_renewed() throws Exception {
    LeaseRow led = led(SERVICE, A);
    hand().setBack(SERVICE, OLDER_TOOLS_INTERVAL.plusSeconds(2));
    assertThat(store().renew(A, Map.of(SERVICE, led.term()))).containsExactly(SERVICE);
    LeaseRow renewed = row(SERVICE);

    hand().contend(SERVICE, B);

    assertThat(row(SERVICE)).isEqualTo(renewed);
  }

  @Test
  void an_older_tool_takes_a_record_that_has_rested_and_keeps_its_term() throws Exception {
    LeaseRow led = led(SERVICE, A);
    hand().setBack(SERVICE, OLDER_TOOLS_INTERVAL.plusSeconds(2));

    hand().contend(SERVICE, B);

    LeaseRow taken = row(SERVICE);
    assertThat(taken.leaderId()).isEqualTo(B);
    assertThat(taken.term()).isEqualTo(led.term());
    assertThat(taken.version()).isEqualTo(led.version());
    assertThat(taken.leaseMillis()).isEqualTo(led.leaseMillis());
    assertThat(store().renew(A, Map.of(SERVICE, led.term()))).isEmpty();
  }

  @Test
  void an_older_tool_renews_by_a_change_of_the_time_alone() throws Exception {
    hand().contend(SERVICE, A);
    hand().setBack(SERVICE, Duration.ofSeconds(2));
    LeaseRow before = row(SERVICE);

    hand().contend(SERVICE, A);

    LeaseRow renewed = row(SERVICE);
    assertThat(renewed.lastActiveTime()).isNotEqualTo(before.lastActiveTime());
    assertThat(renewed)
        .usingRecursiveComparison()
        .ignoringFields("lastActiveTime")
        .isEqualTo(before);
    assertThat(store().take(SERVICE, before, B, LEASE, 0, "EXPIRED")).isEmpty();
  }

  @Test
  void an_older_tool_does_not_take_a_record_that_has_just_been_released() throws Exception {
    LeaseRow led = led(SERVICE, A);
    hand().setBack(SERVICE, OLDER_TOOLS_INTERVAL.plusSeconds(2));
    assertThat(store().release(SERVICE, A, led.term(), "", RESIGNED)).isTrue();
    LeaseRow released = row(SERVICE);

    hand().contend(SERVICE, B);

    assertThat(row(SERVICE)).isEqualTo(released);
  }

  @Test
  void the_history_shows_the_last_terms_of_many_elections_the_newest_first() throws Exception {
    LeaseRow row = led(SERVICE, A);
    Ending asked = new Ending(LeadershipLostEvent.Reason.HANDED_OVER, ALICE);
    assertThat(store().release(SERVICE, A, row.term(), B, asked)).isTrue();
    assertThat(store().take(SERVICE, row(SERVICE), B, LEASE, 0, "DESIGNATED")).isPresent();
    led("another", A);

    Map<String, List<HistoryEntry>> histories =
        store().history(Set.of(SERVICE, "another", "unknown"));

    assertThat(histories).containsOnlyKeys(SERVICE, "another");
    assertThat(histories.get("another")).extracting(HistoryEntry::leaderId).containsExactly(A);
    List<HistoryEntry> terms = histories.getOrDefault(SERVICE, List.of());
    assertThat(terms).hasSize(2);
    HistoryEntry second = terms.get(0);
    HistoryEntry first = terms.get(1);
    assertThat(second)
        .isEqualTo(new HistoryEntry(
            row.term() + 1, B, second.from(), null, "DESIGNATED", null, null, null));
    assertThat(first)
        .isEqualTo(new HistoryEntry(
            row.term(),
            A,
            first.from(),
            first.until(),
            "CREATED",
            "HANDED_OVER",
            "alice",
            ALICE.note()));
    assertThat(first.until()).isBetween(first.from(), second.from());
    assertThat(Duration.between(first.from(), second.from()))
        .isBetween(Duration.ZERO, Duration.ofMinutes(1));
  }

  @Test
  void the_history_shows_no_more_than_ten_terms() throws Exception {
    for (int term = 1; term <= 15; term++) {
      hand().insertTerm(SERVICE, term, A, LEASE);
      hand().insertTerm("another", term, B, LEASE);
    }

    Map<String, List<HistoryEntry>> histories = store().history(Set.of(SERVICE, "another"));

    assertThat(histories.get(SERVICE))
        .extracting(HistoryEntry::term)
        .containsExactly(15L, 14L, 13L, 12L, 11L, 10L, 9L, 8L, 7L, 6L);
    assertThat(histories.get("another")).hasSize(10);
  }

  @Test
  void terms_that_ended_long_ago_are_pruned_and_no_others() throws Exception {
    for (String serviceId : List.of(SERVICE, "another", "untold")) {
      for (int term = 1; term <= 5; term++) {
        hand().insertTerm(serviceId, term, A, LEASE);
      }
      hand().endTerm(serviceId, 1, Duration.ofDays(31));
      hand().endTerm(serviceId, 3, Duration.ofDays(29));
      hand().endTerm(serviceId, 4, Duration.ofDays(31));
      hand().endTerm(serviceId, 5, Duration.ofDays(31));
    }

    store().prune(Map.of(SERVICE, 5L, "another", 4L), Duration.ofDays(30));
    store().prune(Map.of(), Duration.ofDays(30));

    assertThat(hand().history(SERVICE)).extracting(Term::term).containsExactly(2L, 3L, 5L);
    assertThat(hand().history("another")).extracting(Term::term).containsExactly(2L, 3L, 4L, 5L);
    assertThat(hand().history("untold")).hasSize(5);
  }

  @Test
  void terms_go_on_after_the_history_was_pruned() throws Exception {
    LeaseRow row = led(SERVICE, A);
    long term = store().take(SERVICE, row, B, 3 * LEASE, 6, "EXPIRED").orElseThrow();
    hand().endTerm(SERVICE, row.term(), Duration.ofDays(31));
    store().prune(Map.of(SERVICE, term), Duration.ofDays(30));
    assertThat(hand().history(SERVICE)).extracting(Term::term).containsExactly(term);

    assertThat(store().release(SERVICE, B, term, "", RESIGNED)).isTrue();
    hand().endTerm(SERVICE, term, Duration.ofDays(31));
    store().prune(Map.of(SERVICE, term), Duration.ofDays(30));
    hand().delete(SERVICE);

    LeaseRow created = store().create(SERVICE, A, LEASE, 0).orElseThrow();
    assertThat(created.term()).isEqualTo(term + 1);
    assertThat(created.leaseMillis()).isEqualTo(3 * LEASE);
  }

  @Test
  void the_history_of_nothing_is_empty() throws Exception {
    assertThat(store().history(Set.of())).isEmpty();
    assertThat(store().history(Set.of(SERVICE))).isEmpty();
  }

  @Test
  void closing_twice_is_harmless() {
    store().close();
    store().close();
  }

  private static LeaseStore.Reading reading(
      Map<String, LeaseStore.Reading> readings, String serviceId) {
    return Optional.ofNullable(readings.get(serviceId))
        .orElseThrow(() -> new AssertionError("no record of " + serviceId));
  }

  private Map<String, Long> leadMany(int count) throws LeaseStoreException {
    Map<String, Long> terms = new HashMap<>();
    for (int i = 0; i < count; i++) {
      String service = "service-" + i;
      terms.put(service, led(service, A).term());
    }
    return terms;
  }

  private LeaseRow retaken(LeaseRow row) throws LeaseStoreException {
    assertThat(store().take(SERVICE, row, A, LEASE, 0, "EXPIRED")).isPresent();
    return row(SERVICE);
  }

  /** Tries a compare and set after each kind of change, which must leave the record alone. */
  private void unchangedIfNotAsSeen(CompareAndSet write) throws LeaseStoreException {
    Map<String, Consumer<String>> changes = new HashMap<>();
    changes.put("leader", service -> hand().setLeader(service, B));
    changes.put("leader-in-case", service -> hand().setLeader(service, "A:8080:1"));
    changes.put("vacant", service -> hand().setLeader(service, ""));
    changes.put("term", service -> hand().setTerm(service, 77));
    changes.put("version", service -> hand().setVersion(service, 77));
    changes.put("lease", service -> hand().setLease(service, LEASE + 1));
    changes.put("lease-unknown", service -> hand().setLease(service, null));
    changes.put("lease-released", service -> hand().setLease(service, 0L));
    changes.put("time", service -> hand().touch(service));
    for (Map.Entry<String, Consumer<String>> change : changes.entrySet()) {
      String service = change.getKey();
      LeaseRow seen = led(service, A);
      change.getValue().accept(service);
      LeaseRow changed = row(service);

      assertThat(write.happens(service, seen)).as(service).isFalse();
      assertThat(row(service)).as(service).isEqualTo(changed);
      assertThat(hand().history(service)).as(service).hasSize(1);
    }
    String service = "lease-was-unknown";
    led(service, A);
    hand().setLease(service, null);
    LeaseRow seen = row(service);
    hand().setLease(service, LEASE);
    assertThat(write.happens(service, seen)).as(service).isFalse();
    Optional<LeaseRow> as = Optional.of(row(service));
    assertThat(write.happens(service, as.get())).as("as seen").isTrue();
  }

  /** A compare and set. */
  @FunctionalInterface
  private interface CompareAndSet {

    boolean happens(String serviceId, LeaseRow seen) throws LeaseStoreException;
  }
}
