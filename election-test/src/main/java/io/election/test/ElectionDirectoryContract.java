package io.election.test;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.tuple;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.election.AuditNote;
import io.election.LeadershipLostEvent;
import io.election.Member;
import io.election.PastTerm;
import io.election.store.ElectionDirectory;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** The behaviour of a {@link LeaseStore} that is also an {@link ElectionDirectory}. */
public abstract class ElectionDirectoryContract extends LeaseStoreContract {

  protected ElectionDirectoryContract() {}

  @Test
  void theHistoryTellsWhyATermWasReleasedAndWhoWantedIt() throws Exception {
    LeaseRow row = led(SERVICE, A);
    TermEnd asked = new TermEnd(LeadershipLostEvent.Reason.HANDED_OVER, ALICE);

    assertThat(store().release(SERVICE, A, row.term(), B, asked)).isTrue();

    assertThat(ends(SERVICE)).containsExactly("HANDED_OVER by alice: " + ALICE.reason());
    long second = Leases.acquire(store(), SERVICE, row(SERVICE), B, LEASE, 0, "DESIGNATED")
        .orElseThrow();
    assertThat(store().release(SERVICE, B, second, "", RESIGNED)).isTrue();
    assertThat(ends(SERVICE))
        .containsExactly("HANDED_OVER by alice: " + ALICE.reason(), "RESIGNED by null: null");
  }

  @Test
  void theHistoryTellsWhoDisplacedALeader() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().designate(SERVICE, B, null, ALICE)).isTrue();
    assertThat(ends(SERVICE)).containsExactly("null by alice: " + ALICE.reason());
    assertThat(store().designate(SERVICE, "c", null, BOB)).isTrue();
    assertThat(cede(SERVICE, A, row.term(), DISPLACED)).isTrue();

    assertThat(ends(SERVICE)).containsExactly("DISPLACED by alice: " + ALICE.reason());
  }

  @Test
  void theHistoryTellsWhoDisplacedALeaderThatDidNotAnswer() throws Exception {
    led(SERVICE, A);

    assertThat(store().designate(SERVICE, B, null, BOB)).isTrue();
    assertThat(Leases.acquire(store(), SERVICE, row(SERVICE), B, LEASE, 0, "DESIGNATED"))
        .isPresent();

    assertThat(ends(SERVICE)).containsExactly("EXPIRED by bob: ", "null by null: null");
  }

  @Test
  void whatADisplacedLeaderWasToldBeforeCountsMore() throws Exception {
    LeaseRow row = led(SERVICE, A);
    TermEnd told = new TermEnd(LeadershipLostEvent.Reason.RESIGNED, BOB);

    assertThat(store().designate(SERVICE, B, null, ALICE)).isTrue();
    assertThat(cede(SERVICE, A, row.term(), told)).isTrue();

    assertThat(ends(SERVICE)).containsExactly("RESIGNED by bob: ");
  }

  @Test
  void aDesignationAfterAReleaseIsNotTheEndOfTheTerm() throws Exception {
    LeaseRow row = led(SERVICE, A);

    assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isTrue();
    assertThat(store().designate(SERVICE, B, null, ALICE)).isTrue();

    assertThat(row(SERVICE).leaderId()).isEqualTo(B);
    assertThat(ends(SERVICE)).containsExactly("RESIGNED by null: null");
  }

  @Test
  void theHistoryHoldsTheLongestNamesAndNotes() throws Exception {
    LeaseRow row = led(SERVICE, A);
    AuditNote longest = new AuditNote("國".repeat(128), "語".repeat(AuditNote.MAX_REASON));

    TermEnd asked = new TermEnd(LeadershipLostEvent.Reason.HANDED_OVER, longest);
    assertThat(store().release(SERVICE, A, row.term(), "", asked)).isTrue();

    assertThat(terms(SERVICE)).singleElement().satisfies((term) -> {
      assertThat(term.endedBy()).isEqualTo(longest.actor());
      assertThat(term.note()).isEqualTo(longest.reason());
    });
  }

  @Test
  void theHistoryShowsTheLastTermsOfManyElectionsTheNewestFirst() throws Exception {
    LeaseRow row = led(SERVICE, A);
    TermEnd asked = new TermEnd(LeadershipLostEvent.Reason.HANDED_OVER, ALICE);
    assertThat(store().release(SERVICE, A, row.term(), B, asked)).isTrue();
    assertThat(Leases.acquire(store(), SERVICE, row(SERVICE), B, LEASE, 0, "DESIGNATED"))
        .isPresent();
    led("another", A);

    Map<String, List<PastTerm>> histories =
        directory().history(Set.of(SERVICE, "another", "unknown"));

    assertThat(histories).containsOnlyKeys(SERVICE, "another");
    assertThat(histories.get("another")).extracting(PastTerm::leaderId).containsExactly(A);
    List<PastTerm> terms = histories.getOrDefault(SERVICE, List.of());
    assertThat(terms).hasSize(2);
    PastTerm second = terms.get(0);
    PastTerm first = terms.get(1);
    assertThat(second)
        .isEqualTo(new PastTerm(
            row(SERVICE).term(), B, second.from(), null, "DESIGNATED", null, null, null));
    assertThat(first)
        .isEqualTo(new PastTerm(
            row.term(),
            A,
            first.from(),
            first.until(),
            "CREATED",
            "HANDED_OVER",
            "alice",
            ALICE.reason()));
    assertThat(first.until()).isBetween(first.from(), second.from());
    assertThat(Duration.between(first.from(), second.from()))
        .isBetween(Duration.ZERO, Duration.ofMinutes(1));
  }

  @Test
  void theHistoryShowsNoMoreThanTenTerms() throws Exception {
    List<Long> newestFirst = new ArrayList<>();
    for (String service : List.of(SERVICE, "another")) {
      newestFirst.clear();
      led(service, A);
      for (int i = 0; i < 12; i++) {
        newestFirst.add(
            0,
            Leases.acquire(store(), service, row(service), A, LEASE, 0, "EXPIRED")
                .orElseThrow());
      }
    }

    Map<String, List<PastTerm>> histories = directory().history(Set.of(SERVICE, "another"));

    assertThat(histories.get("another"))
        .extracting(PastTerm::term)
        .containsExactlyElementsOf(newestFirst.subList(0, 10));
    assertThat(histories.get(SERVICE)).hasSize(10);
  }

  @Test
  void termsThatEndedJustNowAreNotPruned() throws Exception {
    LeaseRow row = led(SERVICE, A);
    long term = Leases.acquire(store(), SERVICE, row, B, LEASE, 0, "EXPIRED").orElseThrow();

    directory().prune(Map.of(SERVICE, term), Duration.ofDays(30));
    directory().prune(Map.of(), Duration.ofDays(30));

    assertThat(terms(SERVICE)).hasSize(2);
  }

  @Test
  void theHistoryOfNothingIsEmpty() throws Exception {
    assertThat(directory().history(Set.of())).isEmpty();
    assertThat(directory().history(Set.of(SERVICE))).isEmpty();
  }

  /** A store that shows members shows their leases and labels, and their positions by election. */
  @Test
  public void membersShowTheirLeasesLabelsAndPositions() throws Exception {
    ElectionDirectory directory = directory();
    String position = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5, " + "x".repeat(2_000);
    announce(directory, Map.of(SERVICE, position));
    assumeThat(directory.members(Set.of(SERVICE))).as("members").isNotEmpty();
    assertThat(directory.members(Set.of(SERVICE)).get(SERVICE))
        .extracting(Member::position, Member::lease, Member::label)
        .containsExactly(tuple(position, Duration.ofSeconds(10), "production, 主"));
    assertThat(directory.members(Set.of("another")).get("another"))
        .extracting(Member::position, Member::label)
        .containsExactly(tuple("", "production, 主"));
    announce(directory, Map.of("another", "not of this election"));
    assertThat(directory.members(Set.of(SERVICE)).get(SERVICE))
        .extracting(Member::position)
        .containsExactly("");
  }

  private static void announce(ElectionDirectory directory, Map<String, String> positions)
      throws LeaseStoreException {
    directory.announce(new Announcement(
        "a",
        Set.of(SERVICE, "another"),
        Set.of(),
        true,
        Duration.ofSeconds(10),
        "",
        "",
        positions,
        "production, 主"));
  }
}
