package io.election.support.process;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipLostEvent;
import java.util.List;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** Tests the judge with good and bad histories. */
class SafetyJudgeTest {

  @Test
  void claimsOneAfterTheOtherAreFineIfTheirTermsGrowOrAreThoseOfOneNode() {
    assertThat(violations(
            new Claim("a", 1, 0, 10), new Claim("b", 2, 11, 20), new Claim("a", 3, 21, 30)))
        .isEmpty();
    assertThat(violations(new Claim("a", 1, 0, 10), new Claim("a", 1, 15, 20))).isEmpty();
  }

  @Test
  void claimsAtOneInstantAreFound() {
    assertThat(violations(new Claim("a", 1, 0, 10), new Claim("b", 2, 10, 20))).hasSize(1);
    assertThat(violations(new Claim("a", 1, 0, 100), new Claim("b", 2, 40, 50))).hasSize(1);
    assertThat(violations(new Claim("b", 2, 40, 50), new Claim("a", 3, 0, 100))).isNotEmpty();
  }

  @Test
  void claimsWithoutTermsMustOnlyNotOverlap() {
    Claim old = new Claim("old", Claim.NO_TERM, 11, 20);
    assertThat(violations(new Claim("a", 1, 0, 10), old, new Claim("a", 2, 21, 30)))
        .isEmpty();
    assertThat(violations(new Claim("a", 1, 0, 11), old)).hasSize(1);
    assertThat(violations(new Claim("a", 2, 0, 10), old, new Claim("b", 1, 21, 30)))
        .hasSize(1);
  }

  @Test
  void aTermThatIsUsedTwiceOrFallsIsFound() {
    assertThat(violations(new Claim("a", 1, 0, 10), new Claim("b", 1, 11, 20))).hasSize(1);
    assertThat(violations(new Claim("a", 2, 0, 10), new Claim("b", 1, 11, 20))).hasSize(1);
  }

  @Test
  void eventsThatAlternateInGrowingTermsAreFine() {
    assertThat(violations(
            Set.of("a"),
            acquired("a", 1),
            acquired("b", 2),
            lost("a", 1),
            acquired("a", 3),
            lost("a", 3)))
        .isEmpty();
  }

  @Test
  void eventsThatDoNotAlternateInGrowingTermsAreFound() {
    for (List<Announcement> events : List.of(
        List.of(acquired("a", 1), acquired("a", 2)),
        List.of(acquired("a", 1), lost("a", 1), lost("a", 1)),
        List.of(acquired("b", 1), lost("a", 1)),
        List.of(acquired("a", 2), lost("a", 2), acquired("a", 2)),
        List.of(acquired("a", 2), lost("a", 2), acquired("a", 1)),
        List.of(acquired("a", 1), lost("a", 2)))) {
      assertThat(new SafetyJudge(List.of(), events, Set.of()).violations())
          .as(events.toString())
          .hasSize(1);
    }
  }

  @Test
  void aLossThatIsNeverAnnouncedIsFoundUnlessTheProcessHadNoTime() {
    assertThat(violations(Set.of("a"), acquired("a", 1))).hasSize(1);
    assertThat(violations(Set.of("b"), acquired("a", 1))).isEmpty();
  }

  @Test
  void announcementsAreReadFromTheLog() {
    LeadershipLostEvent event =
        new LeadershipLostEvent("jobs", "x", 7, LeadershipLostEvent.Reason.EXPIRED);
    assertThat(Announcement.parse(
            "a",
            "jobs",
            "12:00:00.000 INFO  SamplingNode: published "
                + new LeadershipAcquiredEvent(
                    "jobs", "x", 7, LeadershipAcquiredEvent.Reason.EXPIRED)))
        .contains(acquired("a", 7));
    assertThat(Announcement.parse("a", "jobs", "published " + event)).contains(lost("a", 7));
    assertThat(Announcement.parse("a", "other", "published " + event)).isEmpty();
    assertThat(Announcement.parse(
            "a", "jobs", "become leader by mysql: election 'jobs', term 1 (CREATED)"))
        .isEmpty();
  }

  private static Announcement acquired(String node, long term) {
    return new Announcement(node, true, term);
  }

  private static Announcement lost(String node, long term) {
    return new Announcement(node, false, term);
  }

  private static List<String> violations(Set<String> ended, Announcement... announcements) {
    return new SafetyJudge(List.of(), List.of(announcements), ended).violations();
  }

  private static List<String> violations(Claim... claims) {
    return new SafetyJudge(List.of(claims)).violations();
  }

  @Test
  void overlapsHaveALength() {
    SafetyJudge judge =
        new SafetyJudge(List.of(new Claim("b", 2, 150, 300), new Claim("a", 1, 100, 200)));
    assertThat(judge.overlaps()).singleElement().satisfies((overlap) -> {
      assertThat(overlap.first().node()).isEqualTo("a");
      assertThat(overlap.nanos()).isEqualTo(50);
    });
  }
}
