package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.Instruction;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.Standing.Following;
import io.election.lease.Standing.Leading;
import io.election.lease.Standing.SteppingDown;
import io.election.lease.Step.Await;
import io.election.lease.Step.Create;
import io.election.lease.Step.GiveWay;
import io.election.lease.Step.KeepWarm;
import io.election.lease.Step.Lead;
import io.election.lease.Step.Read;
import io.election.lease.Step.Release;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Take;
import java.time.Duration;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/**
 * Tests the decision function rule by rule. Times are in milliseconds of a clock that starts near
 * its overflow.
 */
class CandidacyTest {

  private static final long ORIGIN = Long.MAX_VALUE - Duration.ofSeconds(30).toNanos();

  private static final long WALL = 1_000_000;

  private static final long LEASE = 10_000;

  private static final long RENEW = 2_000;

  private static final long TENURE = 9_800;

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofMillis(LEASE),
      Duration.ofMillis(RENEW),
      Duration.ofSeconds(1),
      Duration.ofSeconds(3),
      true);

  private static final Ending DISPLACED = Ending.of(LeadershipLostEvent.Reason.DISPLACED);

  private static final Ending RESIGNED = Ending.of(LeadershipLostEvent.Reason.RESIGNED);

  private static final Ending STOPPED = Ending.of(LeadershipLostEvent.Reason.STOPPED);

  private static final Instruction ALICE = new Instruction("alice", "a new version");

  private static final Ending PAUSED = new Ending(LeadershipLostEvent.Reason.PAUSED, ALICE);

  private final Candidacy fresh = candidacy(SETTINGS);

  @Test
  void aFreshCandidateReadsFirst() {
    assertThat(next(this.fresh, 0)).isEqualTo(new Read());
  }

  @Nested
  class Rule1Renewal {

    private final Candidacy leader = leader(3, 0);

    @Test
    void theDeadlineCountsFromBeforeTheRequestWasSent() {
      Candidacy renewed = CandidacyTest.this.renewed(this.leader, 2_000, 2_900);
      assertThat(leads(renewed, 2_000 + TENURE - 1)).isTrue();
      assertThat(leads(renewed, 2_000 + TENURE)).isFalse();
    }

    @Test
    void theDeadlineLiesTwoPercentBeforeTheEndOfTheLease() {
      assertThat(SETTINGS.margin()).isEqualTo(Duration.ofMillis(LEASE / 50));
      assertThat(TENURE).isEqualTo(LEASE - LEASE / 50);
      assertThat(leads(this.leader, TENURE - 1)).isTrue();
      assertThat(leads(this.leader, TENURE)).isFalse();
    }

    @Test
    void isDueOncePerRenewInterval() {
      assertThat(next(this.leader, RENEW - 1)).isEqualTo(new Await(at(RENEW)));
      assertThat(next(this.leader, RENEW)).isEqualTo(new Renew(3));
    }

    @Test
    void thatIsLateByAnHourEndsTheLeadershipAtItsDeadlineWhateverItsAnswer() {
      Candidacy woken = this.leader.at(at(3_600_000), WALL + 3_600_000);
      assertThat(woken.standing()).isInstanceOf(Following.class);
      assertThat(woken.onRenewed(new Renew(3), true, timing(RENEW, 3_600_000)).standing())
          .isInstanceOf(Following.class);
    }

    @Test
    void ofUnknownOutcomeKeepsTheOldDeadlineAndIsTriedAgainSoon() {
      Candidacy failed = this.leader.onFailure(new Renew(3), at(3_000));
      assertThat(leads(failed, TENURE - 1)).isTrue();
      assertThat(leads(failed, TENURE)).isFalse();
      assertThat(next(failed, 3_000)).isEqualTo(new Await(at(3_000 + RENEW / 4)));
      assertThat(next(failed, 3_000 + RENEW / 4)).isEqualTo(new Renew(3));
    }

    @Test
    void thatHitsNoRowEndsTheLeadership() {
      Candidacy displaced = this.leader.onRenewed(new Renew(3), false, timing(RENEW, 2_010));
      assertThat(leads(displaced, 2_010)).isFalse();
      assertThat(lossReason(displaced)).isEqualTo(LeadershipLostEvent.Reason.DISPLACED);
    }

    @Test
    void thatIsAnsweredAfterTheNodeResignedRevivesNothing() {
      Candidacy resigned = this.leader.resign(at(2_005));
      Candidacy answered = resigned.onRenewed(new Renew(3), true, timing(2_000, 2_010));
      assertThat(leads(answered, 2_010)).isFalse();
      assertThat(answered.standing()).isInstanceOf(SteppingDown.class);
    }

    @Test
    void ofAnotherTermIsIgnored() {
      assertThat(this.leader.onRenewed(new Renew(2), false, timing(2_000, 2_010)))
          .isEqualTo(this.leader);
    }

    /** The wall clock shortens a leadership but never extends it. */
    @Test
    void fault_28_machine_is_suspended() {
      assertThat(this.leader.at(at(1_000), WALL + TENURE).standing())
          .as("suspended for a lease")
          .isInstanceOf(Following.class);
      assertThat(this.leader.at(at(TENURE), WALL - 3_600_000).standing())
          .as("set back by an hour")
          .isInstanceOf(Following.class);
      assertThat(this.leader.at(at(TENURE - 1), WALL - 3_600_000)).isEqualTo(this.leader);
    }
  }

  @Nested
  class Rule2AbsentRow {

    private final LeaseRow created = row("me", 1, 0, LEASE);

    private final Candidacy warming =
        saw(CandidacyTest.this.fresh, null, 0).onCreated(this.created, at(100));

    @Test
    void isCreatedAtOnce() {
      assertThat(next(saw(CandidacyTest.this.fresh, null, 0), 0)).isEqualTo(new Create(LEASE));
    }

    @Test
    void isKeptWarmForAWholeLeaseBeforeItsCreatorLeads() {
      assertThat(next(this.warming, 100 + RENEW)).isEqualTo(new KeepWarm(this.created, at(100)));
      LeaseRow kept = row("me", 1, 1, LEASE);
      Candidacy candidacy =
          this.warming.onKeptWarm(new KeepWarm(this.created, at(100)), kept, at(9_000));
      assertThat(next(candidacy, 100 + LEASE - 1)).isEqualTo(new Await(at(100 + LEASE)));
      assertThat(next(candidacy, 100 + LEASE)).isEqualTo(new Lead(kept));
      Candidacy leader = candidacy.onLed(new Lead(kept), true, timing(10_100, 10_150));
      assertThat(((Leading) leader.standing()).term()).isEqualTo(1);
      assertThat(((Leading) leader.standing()).reason())
          .isEqualTo(LeadershipAcquiredEvent.Reason.CREATED);
      assertThat(leads(leader, 10_100 + TENURE - 1)).isTrue();
      assertThat(leads(leader, 10_100 + TENURE)).isFalse();
    }

    @Test
    void isCreatedWithTheLeaseThatItsLastHolderWasPromised() {
      Candidacy candidacy = saw(CandidacyTest.this.fresh, row("other", 3, 5, 3 * LEASE), 0);
      assertThat(next(saw(candidacy, null, 100), 100)).isEqualTo(new Create(3 * LEASE));
    }

    @Test
    void withALongerLeaseInTheHistoryMakesItsCreatorWaitForThatOne() {
      LeaseRow longer = row("me", 8, 0, 3 * LEASE);
      Candidacy candidacy = saw(CandidacyTest.this.fresh, null, 0).onCreated(longer, at(0));
      assertThat(next(candidacy, 3 * LEASE - 1)).isNotInstanceOf(Lead.class);
      assertThat(next(candidacy, 3 * LEASE)).isEqualTo(new Lead(longer));
    }

    @Test
    void thatSomebodyElseChangedMeanwhileIsNotLed() {
      assertThat(this.warming
              .onLed(new Lead(this.created), false, timing(10_100, 10_150))
              .standing())
          .isInstanceOf(Following.class);
      assertThat(this.warming
              .onKeptWarm(new KeepWarm(this.created, at(100)), null, at(2_200))
              .standing())
          .isInstanceOf(Following.class);
    }

    @Test
    void isNotReleasedByACreatorThatStopsBeforeItLed() {
      Candidacy stopped = this.warming.stop(at(5_000));
      assertThat(stopped.standing()).isInstanceOf(Following.class);
      assertThat(next(stopped, 60_000)).isInstanceOf(Await.class);
    }

    @Test
    void isWatchedForAWholeLeaseByACreatorThatStartsOver() {
      Candidacy failed = this.warming.onFailure(new KeepWarm(this.created, at(100)), at(2_200));
      Candidacy candidacy = saw(failed, this.created, 3_000);
      assertThat(next(candidacy, 3_000)).isNotInstanceOf(Take.class);
      assertThat(next(candidacy, 3_000 + LEASE)).isInstanceOf(Take.class);
    }

    @Test
    void isLeftAloneByANodeThatIsNotEligible() {
      assertThat(next(saw(candidacy(ineligible()), null, 0), 0)).isInstanceOf(Await.class);
    }

    @Test
    void thatAnotherNodeCreatedFirstIsReadAgain() {
      Candidacy candidacy = saw(CandidacyTest.this.fresh, null, 0).onCreated(null, at(100));
      assertThat(next(candidacy, 100)).isInstanceOf(Await.class);
      assertThat(next(candidacy, 100 + RENEW * 17 / 16)).isEqualTo(new Read());
    }

    @Test
    void thatAnotherNodeWasFasterElsewhereIsLookedForBeforeItIsTriedHere() {
      Candidacy candidacy = saw(CandidacyTest.this.fresh, null, 0).onRaceLost(at(100));
      assertThat(next(candidacy, 100)).isInstanceOf(Await.class);
      assertThat(next(candidacy, 100 + RENEW * 17 / 16)).isEqualTo(new Read());
      Candidacy follower = saw(CandidacyTest.this.fresh, row("other", 3, 5, LEASE), 0);
      assertThat(follower.onRaceLost(at(100))).as("nothing to try for").isEqualTo(follower);
    }
  }

  @Nested
  class Rule3Released {

    @ParameterizedTest
    @ValueSource(strings = {"", "me"})
    void isTakenAtOnceIfVacantOrForThisNode(String leaderId) {
      LeaseRow row = row(leaderId, 3, 5, 0);
      assertThat(next(saw(CandidacyTest.this.fresh, row, 0), 0)).isInstanceOf(Take.class);
    }

    @Test
    void forAnotherNodeIsLeftToItWhileTheRowKeepsChanging() {
      Candidacy candidacy = saw(CandidacyTest.this.fresh, row("other", 3, 5, 0), 0);
      candidacy = saw(candidacy, row("other", 3, 6, 0), LEASE - 1);
      assertThat(next(candidacy, LEASE)).isNotInstanceOf(Take.class);
      assertThat(next(candidacy, 2 * LEASE - 1)).isInstanceOf(Take.class);
    }

    @Test
    void isNotTakenByANodeThatStandsAside() {
      Candidacy aside = CandidacyTest.this.fresh.resign(at(0));
      Candidacy candidacy = saw(aside, row("", 3, 5, 0), 1_000);
      assertThat(next(candidacy, LEASE - 1)).isNotInstanceOf(Take.class);
      assertThat(next(candidacy, LEASE)).isInstanceOf(Take.class);
    }

    @Test
    void isTakenByANodeThatStandsAsideOnceItCampaigns() {
      Candidacy candidacy =
          saw(CandidacyTest.this.fresh.resign(at(0)).campaign(at(1_000)), row("", 3, 5, 0), 1_000);
      assertThat(next(candidacy, 1_000)).isInstanceOf(Take.class);
    }
  }

  @Nested
  class Rule4OwnName {

    private final LeaseRow mine = row("me", 3, 5, LEASE);

    @Test
    void isNotTakenAtOnceEvenInTheTermThatThisProcessLetExpire() {
      // After the tables are emptied or a term is edited, another node can hold the same term.
      Candidacy expired = leader(3, 0).at(at(TENURE), WALL + TENURE);
      assertThat(next(saw(expired, this.mine, TENURE), TENURE)).isInstanceOf(KeepWarm.class);
    }

    @Test
    void isTakenAnewAtOnceIfNobodyHasWrittenSinceThisProcessLed() {
      Candidacy expired = leader(3, 0).at(at(TENURE), WALL + TENURE);
      LeaseRow own = this.mine.own(true);
      assertThat(next(saw(expired, own, TENURE), TENURE))
          .isEqualTo(new Take(own, LeadershipAcquiredEvent.Reason.EXPIRED));
    }

    @Test
    void isNotTakenAtOnceWhileANewerTermIsKnown() {
      // Restoring an old copy of the table restores the owner's seal as well.
      Candidacy expired = leader(3, 0).at(at(TENURE), WALL + TENURE);
      Candidacy candidacy = saw(expired, row("other", 4, 9, LEASE), TENURE);
      assertThat(next(saw(candidacy, this.mine.own(true), TENURE + 100), TENURE + 100))
          .isInstanceOf(KeepWarm.class);
    }

    @Test
    void isNotTakenAtOnceByANodeThatStandsAsideIsPausedOrIsNotEligible() {
      LeaseRow own = this.mine.own(true);
      long over = TENURE;
      Candidacy led = leader(3, 0).at(at(over), WALL + over);
      assertThat(next(saw(led.resign(at(over)), own, over + 100), over + 100))
          .isInstanceOf(Await.class);
      assertThat(next(
              saw(led.pause(new Instruction("me", ""), at(over)), own, over + 100), over + 100))
          .isInstanceOf(Await.class);
      assertThat(next(saw(candidacy(ineligible()), own, 100), 100)).isInstanceOf(Await.class);
    }

    @Test
    void isOnlyWatchedOnceItWasTakenAnewWithoutAnAnswer() {
      // Otherwise a process whose take-overs all succeed, but whose answers are lost, would keep
      // the row from the other nodes.
      LeaseRow own = this.mine.own(true);
      long over = TENURE;
      Candidacy candidacy = saw(leader(3, 0).at(at(over), WALL + over), own, over);
      Take take = new Take(own, LeadershipAcquiredEvent.Reason.EXPIRED);
      assertThat(next(candidacy, over)).isEqualTo(take);
      LeaseRow taken = row("me", 4, 6, LEASE).own(true);
      long later = over + 2_000;
      candidacy = saw(candidacy.onFailure(take, at(over + 1_000)), taken, later);
      assertThat(next(candidacy, later + LEASE - 1)).isNotInstanceOfAny(KeepWarm.class, Take.class);
      assertThat(next(candidacy, later + LEASE)).isInstanceOf(Take.class);
    }

    @Test
    void isNotTakenAtOnceByAProcessThatWasNotAnsweredToLeadThisTerm() {
      // A copy of this process, made while it followed, has the same seal.
      LeaseRow own = this.mine.own(true);
      assertThat(next(saw(CandidacyTest.this.fresh, own, 0), 0)).isInstanceOf(KeepWarm.class);
      Candidacy ledBefore = leader(2, 0).at(at(TENURE), WALL + TENURE);
      assertThat(next(saw(ledBefore, own, TENURE), TENURE)).isInstanceOf(KeepWarm.class);
      // The same applies to the next life of the process, which may be the next life of a copy.
      Candidacy nextLife = Candidacy.start(leader(3, 0).node(), at(TENURE));
      assertThat(next(saw(nextLife, own, TENURE), TENURE)).isInstanceOf(KeepWarm.class);
    }

    @Test
    void isKeptWarmAndTakenOnceItsLeaseHasPassedWithoutAChangeBySomebodyElse() {
      Candidacy candidacy = saw(CandidacyTest.this.fresh, this.mine, 0);
      assertThat(next(candidacy, 0)).isEqualTo(new KeepWarm(this.mine, at(0)));
      LeaseRow kept = row("me", 3, 6, LEASE);
      candidacy = candidacy.onKeptWarm(new KeepWarm(this.mine, at(0)), kept, at(50));
      assertThat(next(candidacy, 50 + RENEW)).isEqualTo(new KeepWarm(kept, at(0)));
      candidacy = candidacy.onKeptWarm(new KeepWarm(kept, at(0)), this.mine, at(9_999));
      assertThat(next(candidacy, LEASE - 1)).isNotInstanceOf(Take.class);
      assertThat(next(candidacy, LEASE))
          .isEqualTo(new Take(this.mine, LeadershipAcquiredEvent.Reason.DESIGNATED));
    }

    @Test
    void isOnlyWatchedAfterSomebodyElseChangedIt() {
      Candidacy candidacy = saw(CandidacyTest.this.fresh, this.mine, 0)
          .onKeptWarm(new KeepWarm(this.mine, at(0)), null, at(100));
      assertThat(next(candidacy, 100)).isEqualTo(new Read());
      LeaseRow twins = row("me", 3, 6, LEASE);
      candidacy = saw(candidacy, twins, 100);
      assertThat(next(candidacy, 100)).isInstanceOf(Await.class);
      assertThat(next(candidacy, 100 + LEASE)).isInstanceOf(Take.class);
      candidacy = saw(candidacy, row("me", 3, 7, LEASE), 9_000);
      assertThat(next(candidacy, 100 + LEASE)).isNotInstanceOf(Take.class);
    }

    @Test
    void countsAnUnknownOutcomeAsAChangeBySomebodyElse() {
      Candidacy candidacy = saw(CandidacyTest.this.fresh, this.mine, 0)
          .onFailure(new KeepWarm(this.mine, at(0)), at(1_000));
      assertThat(next(candidacy, 1_000)).isInstanceOf(Await.class);
      candidacy = saw(candidacy, this.mine, 2_000);
      assertThat(next(candidacy, 2_000 + LEASE - 1)).isNotInstanceOfAny(KeepWarm.class, Take.class);
      assertThat(next(candidacy, 2_000 + LEASE)).isInstanceOf(Take.class);
    }

    @Test
    void isTakenAtOnceWhenItBecomesReleased() {
      Candidacy candidacy = saw(CandidacyTest.this.fresh, this.mine, 0)
          .onKeptWarm(new KeepWarm(this.mine, at(0)), null, at(100));
      assertThat(next(saw(candidacy, row("me", 3, 7, 0), 100), 100)).isInstanceOf(Take.class);
    }

    @Test
    void isNotKeptWarmByANodeThatStandsAsideOrIsNotEligible() {
      assertThat(next(saw(CandidacyTest.this.fresh.resign(at(0)), this.mine, 100), 100))
          .isInstanceOf(Await.class);
      assertThat(next(saw(candidacy(ineligible()), this.mine, 100), 100)).isInstanceOf(Await.class);
    }

    @Test
    void isNotWarmedOnceTheNodeResignedWhileTheRequestWasUnderWay() {
      Candidacy candidacy = saw(CandidacyTest.this.fresh, this.mine, 0).resign(at(10));
      candidacy =
          candidacy.onKeptWarm(new KeepWarm(this.mine, at(0)), row("me", 3, 6, LEASE), at(50));
      assertThat(candidacy.standing()).isInstanceOf(Following.class);
    }
  }

  @Nested
  class Rule5AnothersName {

    @Test
    void isTakenOnceTheRowStayedTheSameForItsLeaseFromTheAnswerThatShowedIt() {
      LeaseRow row = row("other", 3, 5, LEASE);
      Candidacy candidacy = saw(CandidacyTest.this.fresh, row, 700);
      candidacy = saw(candidacy, row, 5_000);
      assertThat(next(candidacy, 700 + LEASE - 1)).isNotInstanceOf(Take.class);
      assertThat(next(candidacy, 700 + LEASE))
          .isEqualTo(new Take(row, LeadershipAcquiredEvent.Reason.EXPIRED));
    }

    @Test
    void isWatchedAnewAfterAnyChange() {
      LeaseRow row = row("other", 3, 5, LEASE);
      for (LeaseRow changed : new LeaseRow[] {
        row("third", 3, 5, LEASE),
        row("other", 2, 5, LEASE),
        row("other", 3, 6, LEASE),
        row("other", 3, 5, LEASE + 1),
        new LeaseRow("other", 3, 5, LEASE, null, "later", "server"),
        new LeaseRow("other", 3, 5, LEASE, null, "time", "another server")
      }) {
        Candidacy candidacy = saw(saw(CandidacyTest.this.fresh, row, 0), changed, 9_000);
        assertThat(next(candidacy, LEASE)).as("%s", changed).isNotInstanceOf(Take.class);
      }
    }

    @Test
    void respectsTheHoldersPromiseRatherThanItsOwnLease() {
      Candidacy candidacy = saw(CandidacyTest.this.fresh, row("other", 3, 5, 30_000), 0);
      assertThat(next(candidacy, 29_999)).isNotInstanceOf(Take.class);
      assertThat(next(candidacy, 30_000)).isInstanceOf(Take.class);
    }

    @Test
    void waitsForItsOwnLeaseAtLeastAndAnHourAtMost() {
      assertThat(next(saw(CandidacyTest.this.fresh, row("other", 3, 5, 1), 0), LEASE - 1))
          .isNotInstanceOf(Take.class);
      Candidacy candidacy = saw(CandidacyTest.this.fresh, row("other", 3, 5, 1L << 31), 0);
      assertThat(next(candidacy, 3_600_000)).isInstanceOf(Take.class);
    }

    @Test
    void takesAnUnknownLeaseWithoutAHistoryForTheLastOneThatItSaw() {
      Candidacy candidacy = saw(CandidacyTest.this.fresh, row("other", 3, 5, 3 * LEASE), 0);
      LeaseRow replaced = new LeaseRow("third", 0, 0, null, null, "time", "server");
      candidacy = saw(candidacy, replaced, 1_000);
      assertThat(next(saw(candidacy, replaced, 2_000), 1_000 + 3 * LEASE - 1))
          .isNotInstanceOf(Take.class);
      assertThat(next(saw(candidacy, replaced, 2_000), 1_000 + 3 * LEASE)).isInstanceOf(Take.class);
    }

    @Test
    void takesAnUnknownLeaseForTheGreaterOfItsOwnAndTheHistorys() {
      LeaseRow unknown = new LeaseRow("other", 3, 5, null, null, "time", "server");
      assertThat(next(saw(CandidacyTest.this.fresh, unknown, 0), LEASE)).isInstanceOf(Take.class);
      for (Long lease : new Long[] {null, -1L}) {
        LeaseRow row = new LeaseRow("other", 3, 5, lease, 30_000L, "time", "server");
        assertThat(next(saw(CandidacyTest.this.fresh, row, 0), 29_999)).isNotInstanceOf(Take.class);
        assertThat(next(saw(CandidacyTest.this.fresh, row, 0), 30_000)).isInstanceOf(Take.class);
      }
    }

    @Test
    void isNeverTakenByANodeThatIsNotEligible() {
      Candidacy candidacy = saw(candidacy(ineligible()), row("other", 3, 5, LEASE), 0);
      assertThat(next(candidacy, 20_000)).isEqualTo(new Read());
    }

    @Test
    void isReadAgainBeforeAnythingElseAfterALostRaceOrAFailure() {
      LeaseRow row = row("other", 3, 5, LEASE);
      Candidacy candidacy = saw(CandidacyTest.this.fresh, row, 0);
      Take take = new Take(row, LeadershipAcquiredEvent.Reason.EXPIRED);
      Candidacy lost = candidacy.onTaken(take, OptionalLong.empty(), timing(LEASE, LEASE + 10));
      assertThat(next(lost, LEASE + 10)).as("without haste").isInstanceOf(Await.class);
      assertThat(next(lost, LEASE + 10 + RENEW * 17 / 16)).isEqualTo(new Read());
      Candidacy failed = candidacy.onFailure(take, at(LEASE + 1_000));
      assertThat(next(failed, LEASE + 1_000)).isInstanceOf(Await.class);
      assertThat(next(failed, LEASE + 1_000 + RENEW / 4)).isEqualTo(new Read());
    }

    @Test
    void theDeadlineOfATakenTermCountsFromBeforeTheRequestWasSent() {
      Candidacy leader = leader(3, 500);
      assertThat(leads(leader, 500 + TENURE - 1)).isTrue();
      assertThat(leads(leader, 500 + TENURE)).isFalse();
    }

    @Test
    void aTermWhoseAnswerCameAfterItsDeadlineIsNeverLed() {
      LeaseRow row = row("other", 3, 5, LEASE);
      Candidacy candidacy = saw(CandidacyTest.this.fresh, row, 0)
          .onTaken(
              new Take(row, LeadershipAcquiredEvent.Reason.EXPIRED),
              OptionalLong.of(4),
              timing(LEASE, LEASE + TENURE));
      assertThat(candidacy.standing()).isInstanceOf(Following.class);
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aTermThatIsWonByANodeThatWasToldToStepDownMeanwhileIsHandedBack(boolean stopped) {
      LeaseRow row = row("other", 3, 5, LEASE);
      Candidacy candidacy = saw(CandidacyTest.this.fresh, row, 0);
      candidacy = stopped ? candidacy.stop(at(LEASE + 5)) : candidacy.resign(at(LEASE + 5));
      candidacy = candidacy.onTaken(
          new Take(row, LeadershipAcquiredEvent.Reason.EXPIRED),
          OptionalLong.of(4),
          timing(LEASE, LEASE + 10));
      assertThat(leads(candidacy, LEASE + 10)).isFalse();
      assertThat(next(candidacy, LEASE + 10))
          .isEqualTo(new Release(4, "", stopped ? STOPPED : RESIGNED));
    }
  }

  @Nested
  class Rule6Displaced {

    private final Candidacy displaced =
        leader(3, 0).onRenewed(new Renew(3), false, timing(RENEW, 2_010));

    @Test
    void givesWayOnceItsLeaderWorkHasStopped() {
      assertThat(this.displaced.next(at(2_010), true)).isInstanceOf(Await.class);
      assertThat(this.displaced.next(at(2_010), false)).isEqualTo(new GiveWay(3, DISPLACED));
    }

    @Test
    void givesWayAtTheEndOfTheDrainTimeoutAtTheLatest() {
      assertThat(this.displaced.next(at(2_010 + 3_000), true)).isEqualTo(new GiveWay(3, DISPLACED));
    }

    @Test
    void hasNothingToGiveOnceItsLeaseIsOver() {
      Candidacy over = this.displaced.at(at(TENURE), WALL + TENURE);
      assertThat(over.standing()).isInstanceOf(Following.class);
      assertThat(over.next(at(TENURE), false)).isEqualTo(new Read());
    }

    @Test
    void standsAsideForOneLeaseAfterItGaveWay() {
      Candidacy candidacy = this.displaced.onGivenWay(new GiveWay(3, DISPLACED), true, at(2_050));
      candidacy = saw(candidacy, row("", 3, 9, 0), 2_060);
      assertThat(next(candidacy, 2_060)).isInstanceOf(Await.class);
      assertThat(next(candidacy, 2_050 + LEASE)).isInstanceOf(Take.class);
    }

    @Test
    void doesNotStandAsideIfTheRowWasDeleted() {
      Candidacy candidacy = this.displaced.onGivenWay(new GiveWay(3, DISPLACED), false, at(2_050));
      assertThat(next(saw(candidacy, null, 2_060), 2_060)).isEqualTo(new Create(LEASE));
    }
  }

  @Nested
  class Rule7SteppingDown {

    private final Candidacy leader = leader(3, 0);

    @Test
    void isNoLeaderAtOnceAndReleasesWhenNoWorkRuns() {
      Candidacy candidacy = this.leader.resign(at(500));
      assertThat(leads(candidacy, 500)).isFalse();
      assertThat(lossReason(candidacy)).isEqualTo(LeadershipLostEvent.Reason.RESIGNED);
      assertThat(next(candidacy, 500)).isEqualTo(new Release(3, "", RESIGNED));
    }

    @Test
    void renewsWhileItsWorkDrains() {
      Candidacy candidacy = this.leader.stop(at(500));
      assertThat(candidacy.next(at(500), true)).isEqualTo(new Await(at(RENEW)));
      assertThat(candidacy.next(at(RENEW), true)).isEqualTo(new Renew(3));
      candidacy = candidacy.onRenewed(new Renew(3), true, timing(RENEW, 2_010));
      assertThat(leads(candidacy, 2_010)).isFalse();
      assertThat(candidacy.next(at(3_500), true))
          .as("a stop waits for work for longer than the drain time-out")
          .isEqualTo(new Await(at(2 * RENEW)));
      assertThat(candidacy.next(at(2 * RENEW), true)).isEqualTo(new Renew(3));
      assertThat(candidacy.next(at(2 * RENEW), false)).isEqualTo(new Release(3, "", STOPPED));
    }

    @Test
    void aCommandWaitsForWorkForTheDrainTimeoutAlsoAfterAStop() {
      Candidacy resigned = this.leader.resign(at(500));
      assertThat(resigned.next(at(3_499), true)).isEqualTo(new Renew(3));
      assertThat(resigned.next(at(3_500), true)).isEqualTo(new Release(3, "", RESIGNED));
      Candidacy stopped = this.leader.stop(at(500));
      Candidacy commanded = stopped.handOver("other", ALICE, at(1_000));
      assertThat(lossReason(stopped)).isEqualTo(LeadershipLostEvent.Reason.STOPPED);
      assertThat(commanded.next(at(3_499), true)).isEqualTo(new Renew(3));
      assertThat(commanded.next(at(3_500), true))
          .isEqualTo(
              new Release(3, "other", new Ending(LeadershipLostEvent.Reason.HANDED_OVER, ALICE)));
      assertThat(stopped.stop(at(1_000))).as("a stop is no command").isEqualTo(stopped);
    }

    @Test
    void releasesToTheDesignatedNode() {
      Candidacy candidacy = this.leader.handOver("other", ALICE, at(500));
      assertThat(next(candidacy, 500))
          .isEqualTo(
              new Release(3, "other", new Ending(LeadershipLostEvent.Reason.HANDED_OVER, ALICE)));
      assertThat(lossReason(candidacy)).isEqualTo(LeadershipLostEvent.Reason.HANDED_OVER);
    }

    @Test
    void triesAgainAfterAFailureButNotAtOnce() {
      Candidacy candidacy =
          this.leader.resign(at(500)).onFailure(new Release(3, "", RESIGNED), at(1_500));
      assertThat(next(candidacy, 1_500)).isEqualTo(new Await(at(1_500 + RENEW / 4)));
      assertThat(next(candidacy, 1_500 + RENEW / 4)).isEqualTo(new Release(3, "", RESIGNED));
    }

    @Test
    void standsAsideForOneLeaseAfterTheRelease() {
      Candidacy candidacy =
          this.leader.resign(at(500)).onReleased(new Release(3, "", RESIGNED), true, at(1_000));
      candidacy = saw(candidacy, row("", 3, 9, 0), 1_010);
      assertThat(next(candidacy, LEASE + 999)).isNotInstanceOf(Take.class);
      assertThat(next(candidacy, LEASE + 1_000)).isInstanceOf(Take.class);
    }

    @Test
    void givesWayIfItWasDisplacedWhileItsWorkDrained() {
      Candidacy candidacy =
          this.leader.resign(at(500)).onReleased(new Release(3, "", RESIGNED), false, at(1_000));
      assertThat(next(candidacy, 1_000)).isEqualTo(new GiveWay(3, RESIGNED));
    }

    @Test
    void takesNothingOnceStopped() {
      Candidacy candidacy =
          this.leader.stop(at(500)).onReleased(new Release(3, "", STOPPED), true, at(600));
      assertThat(next(candidacy, 600)).isInstanceOf(Await.class);
      assertThat(next(candidacy, 100_000)).isInstanceOf(Await.class);
    }
  }

  @Nested
  class Pause {

    private final Candidacy leader = leader(3, 0);

    @Test
    void endsALeadershipAtOnceAndHandsItBackToAnyone() {
      Candidacy paused = this.leader.pause(ALICE, at(500));
      assertThat(leads(paused, 500)).isFalse();
      assertThat(paused.next(at(RENEW), true)).as("its work drains").isEqualTo(new Renew(3));
      assertThat(next(paused, 500)).isEqualTo(new Release(3, "", PAUSED));
    }

    @Test
    void takesAndCreatesNothingForHoweverLong() {
      for (LeaseRow row : new LeaseRow[] {
        null,
        row("", 3, 5, 0),
        row("me", 3, 5, 0),
        row("me", 3, 5, LEASE),
        row("other", 3, 5, LEASE)
      }) {
        Candidacy paused = saw(CandidacyTest.this.fresh.pause(ALICE, at(0)), row, 100);
        assertThat(next(paused, 100)).as("%s", row).isInstanceOf(Await.class);
        assertThat(next(paused, 100 * LEASE)).as("%s", row).isInstanceOf(Read.class);
      }
    }

    @Test
    void keepsNothingWarmThatItHadBegunToKeepWarm() {
      Candidacy warming = saw(CandidacyTest.this.fresh, null, 0)
          .onCreated(row("me", 1, 1, LEASE), at(10))
          .pause(ALICE, at(20));
      assertThat(next(warming, 20)).isInstanceOf(Read.class);
      Candidacy late = saw(CandidacyTest.this.fresh, null, 0)
          .pause(ALICE, at(5))
          .onCreated(row("me", 1, 1, LEASE), at(10));
      assertThat(late.standing()).isInstanceOf(Following.class);
    }

    @Test
    void handsBackWhatIsWonWhileItIsToldSo() {
      LeaseRow row = row("", 3, 5, 0);
      Candidacy won = saw(CandidacyTest.this.fresh, row, 0)
          .pause(ALICE, at(5))
          .onTaken(
              new Take(row, LeadershipAcquiredEvent.Reason.RELEASED),
              OptionalLong.of(4),
              timing(0, 10));
      assertThat(leads(won, 10)).isFalse();
      assertThat(next(won, 10)).isEqualTo(new Release(4, "", PAUSED));
    }

    @Test
    void outlivesTheStandingAsideAndBeingToldToStand() {
      Candidacy paused = this.leader
          .pause(ALICE, at(500))
          .onReleased(new Release(3, "", PAUSED), true, at(600))
          .campaign(at(700));
      paused = saw(paused, row("", 3, 9, 0), 700);
      assertThat(next(paused, 10 * LEASE)).isInstanceOf(Read.class);
    }

    @Test
    void endsWhenItIsResumedAndTheStandingAsideWithIt() {
      Candidacy paused =
          this.leader.pause(ALICE, at(500)).onReleased(new Release(3, "", PAUSED), true, at(600));
      Candidacy resumed = saw(paused, row("", 3, 9, 0), 700).resume(at(800));
      assertThat(next(resumed, 800)).isInstanceOf(Take.class);
    }

    @Test
    void resumingWhoIsNotPausedChangesNothing() {
      Candidacy aside = CandidacyTest.this.fresh.resign(at(0));
      assertThat(aside.resume(at(100))).isEqualTo(aside);
    }
  }

  private static Candidacy candidacy(LeaseSettings settings) {
    return Candidacy.start(new Candidacy.Node("me", settings), at(0));
  }

  private static LeaseSettings ineligible() {
    return new LeaseSettings(
        SETTINGS.leaseDuration(),
        SETTINGS.renewInterval(),
        SETTINGS.operationTimeout(),
        SETTINGS.drainTimeout(),
        false);
  }

  /**
   * A leader that took its term with a request sent at the given instant and answered 10 ms later.
   */
  private Candidacy leader(long term, long sent) {
    LeaseRow row = row("", term - 1, 5, 0);
    return saw(this.fresh, row, sent)
        .onTaken(
            new Take(row, LeadershipAcquiredEvent.Reason.RELEASED),
            OptionalLong.of(term),
            timing(sent, sent + 10));
  }

  private Candidacy renewed(Candidacy leader, long sent, long answered) {
    long term = ((Leading) leader.standing()).term();
    return leader.onRenewed(new Renew(term), true, timing(sent, answered));
  }

  private static Candidacy saw(Candidacy candidacy, @Nullable LeaseRow row, long now) {
    return candidacy.onRead(row, at(now));
  }

  private static Step next(Candidacy candidacy, long now) {
    return candidacy.next(at(now), false);
  }

  private static boolean leads(Candidacy candidacy, long now) {
    return candidacy.standing() instanceof Leading leading && leading.isValid(at(now), WALL + now);
  }

  private static LeadershipLostEvent.Reason lossReason(Candidacy candidacy) {
    return ((SteppingDown) candidacy.standing()).ending().reason();
  }

  private static LeaseRow row(String leaderId, long term, long version, long leaseMillis) {
    return new LeaseRow(leaderId, term, version, leaseMillis, null, "time", "server");
  }

  private static Timing timing(long sent, long now) {
    return new Timing(at(sent), WALL + sent, at(now), WALL + now);
  }

  private static long at(long millis) {
    return ORIGIN + nanos(millis);
  }

  private static long nanos(long millis) {
    return millis * 1_000_000;
  }
}
