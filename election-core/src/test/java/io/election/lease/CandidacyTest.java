package io.election.lease;

import static io.election.LeadershipAcquiredEvent.Reason.CREATED;
import static io.election.LeadershipAcquiredEvent.Reason.DESIGNATED;
import static io.election.LeadershipAcquiredEvent.Reason.EXPIRED;
import static io.election.LeadershipAcquiredEvent.Reason.RELEASED;
import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.AuditNote;
import io.election.LeadershipLostEvent.Reason;
import io.election.Names;
import io.election.lease.Clocks.Reading;
import io.election.lease.State.Claimant;
import io.election.lease.State.Draining;
import io.election.lease.State.Follower;
import io.election.lease.State.Leader;
import io.election.lease.Step.Acquire;
import io.election.lease.Step.Cede;
import io.election.lease.Step.Create;
import io.election.lease.Step.Read;
import io.election.lease.Step.Release;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Touch;
import io.election.lease.Step.Wait;
import io.election.store.LeaseRow;
import io.election.store.LeaseSettings;
import io.election.store.TermEnd;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.OptionalLong;
import org.assertj.core.api.ObjectAssert;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
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

  private static final LeaseSettings SETTINGS = settings(true);

  private static final Candidacy FRESH = candidacy(SETTINGS);

  private static final Candidacy INELIGIBLE = candidacy(settings(false));

  private static final LeaseRow MINE = row("me", 3, 5, LEASE);

  private static final LeaseRow OTHERS = row("other", 3, 5, LEASE);

  private static final AuditNote ALICE = new AuditNote("alice", "a new version");

  private static final TermEnd DISPLACED = TermEnd.of(Reason.DISPLACED);

  private static final TermEnd RESIGNED = TermEnd.of(Reason.RESIGNED);

  private static final TermEnd STOPPED = TermEnd.of(Reason.STOPPED);

  private static final TermEnd PAUSED = new TermEnd(Reason.PAUSED, ALICE);

  private static final TermEnd HANDED_OVER = new TermEnd(Reason.HANDED_OVER, ALICE);

  private static final TermEnd HANDED_BACK = TermEnd.of(Reason.HANDED_OVER);

  @Test
  void aFreshCandidateReadsFirst() {
    assertNext(FRESH, 0).isEqualTo(new Read());
    assertThat(FRESH.ledLast()).isFalse();
  }

  @Test
  void onlyACreationOrATakeOverOfAnExistingRecordCanLoseARace() {
    assertThat(List.of(new Create(LEASE), new Acquire(OTHERS, RELEASED)))
        .allMatch(Step.Call::isRace);
    assertThat(List.of(new Read(), new Renew(3), touch(), begin(MINE)))
        .noneMatch(Step.Call::isRace);
  }

  @Test
  void aCallIsDoneIfTheStoreDidIt() {
    assertThat(new Create(LEASE).isDone(Optional.of(MINE))).isTrue();
    assertThat(new Create(LEASE).isDone(Optional.empty())).isFalse();
    assertThat(touch().isDone(Optional.of(MINE))).isTrue();
    assertThat(touch().isDone(Optional.empty())).isFalse();
    assertThat(new Cede(3, DISPLACED).isDone(true)).isTrue();
    assertThat(new Cede(3, DISPLACED).isDone(false)).isFalse();
  }

  @Test
  void aNodeThatIsPausedOrNotEligibleTakesAndCreatesNothingForHoweverLong() {
    LeaseRow[] rows = {null, row("", 3, 5, 0), row("me", 3, 5, 0), MINE, MINE.own(true), OTHERS};
    for (LeaseRow row : rows) {
      for (Candidacy candidacy : List.of(FRESH.pause(ALICE, at(0)), INELIGIBLE)) {
        Candidacy idle = saw(candidacy, row, 100);
        assertWaits(idle, 100);
        assertNext(idle, 100 * LEASE).as("%s", row).isInstanceOf(Read.class);
      }
    }
  }

  @Test
  void aRecordThatIsMarkedAsMovedIsTakenByNobodyForHoweverLong() {
    for (long lease : new long[] {0, LEASE}) {
      LeaseRow moved = row(Names.MOVED + "Mysql", 3, 5, lease);
      assertNext(saw(moved, 0), 100 * LEASE).isInstanceOf(Read.class);
      assertThat(moved.namesLeader()).isFalse();
    }
  }

  @Test
  void aLeaseThatIsHandedBackWithoutBeingAskedForIsOpenToThisNodeAgain() {
    Candidacy released = leader(3, 0)
        .handOver("", null, at(10))
        .onReleased(new Release(3, "", HANDED_BACK), true, at(20));
    assertNext(saw(released, row("", 3, 6, 0), 30), 30).isInstanceOf(Acquire.class);
  }

  @Test
  void aCampaignReadsAtOnceAndLeavesARenewalWhereItIs() {
    assertNext(saw(OTHERS, 0).campaign(at(10)), 10).isInstanceOf(Read.class);
    assertNext(leader(3, 0).campaign(at(10)), 10).isEqualTo(new Wait(at(RENEW)));
    assertThat(((Claimant)
                saw(MINE, 0).onTouched(touch(), MINE, at(5)).campaign(at(10)).state())
            .row())
        .isEqualTo(MINE);
  }

  @Test
  void aFollowerMayHaveToWriteUnlessAnotherNodeHoldsTheLease() {
    assertThat(INELIGIBLE.mayHaveToWrite(at(0))).isFalse();
    assertThat(FRESH.mayHaveToWrite(at(0))).isTrue();
    assertThat(saw(MINE, 0).mayHaveToWrite(at(1))).isTrue();
    assertThat(saw(FRESH.resign(null, at(0)), MINE, 1).mayHaveToWrite(at(2))).isTrue();
    assertThat(saw(OTHERS, 0).mayHaveToWrite(at(1))).isFalse();
    assertThat(saw(OTHERS, 0).mayHaveToWrite(at(LEASE))).isTrue();
  }

  @Test
  void aNodeLetsThoseBeforeItTryFirstForARecordThatWasHandedBack() {
    Candidacy behind =
        saw(row("", 3, 5, 0), 0).afterOthers(ofMillis(300).toNanos(), at(10), at(10));
    assertNext(behind, 10).isEqualTo(new Wait(at(300)));
    assertNext(behind, 300).isInstanceOf(Read.class);
    assertThat(saw(OTHERS, 0).afterOthers(1, at(10), at(10))).isEqualTo(saw(OTHERS, 0));
  }

  @Test
  void theTurnOfANodeIsCountedFromWhenItNoticedTheHandBack() {
    Candidacy noticed = saw(row("", 3, 5, 0), 300);
    assertThat(noticed.afterOthers(ofMillis(300).toNanos(), at(0), at(300))).isEqualTo(noticed);
    assertNext(noticed.afterOthers(ofMillis(300).toNanos(), at(100), at(300)), 300)
        .isEqualTo(new Wait(at(400)));
  }

  @Test
  void aNodeThatAwaitsItsTurnReadsNoLaterThanOtherwise() {
    assertNext(saw(OTHERS, 0).pollBy(at(300)), 10).isEqualTo(new Wait(at(300)));
    assertThat(saw(OTHERS, 0).pollBy(at(RENEW + 1))).isEqualTo(saw(OTHERS, 0));
  }

  @Test
  void onlyAFollowerIsToldWhenToReadAgain() {
    assertNext(saw(OTHERS, 0).pollAt(at(300)), 10).isEqualTo(new Wait(at(300)));
    Candidacy leader = leader(3, 0);
    assertThat(leader.pollAt(at(300))).isEqualTo(leader);
  }

  private static Touch touch() {
    return new Touch(MINE, at(0));
  }

  @Test
  void aNameIsSharedUntilTheRecordNamesAnotherNode() {
    Candidacy twin = saw(MINE, 0).onTouched(touch(), null, at(10));
    assertThat(((Follower) saw(twin, MINE, 20).state()).shared()).isTrue();
    Candidacy alone = saw(saw(twin, OTHERS, 20), MINE, 30);
    assertThat(((Follower) alone.state()).shared()).isFalse();
  }

  @Nested
  class Rule1Renewal {

    private final Candidacy leader = leader(3, 0);

    @Test
    void theDeadlineCountsFromBeforeTheRequestWasSent() {
      assertLeadsUntil(
          this.leader.onRenewed(new Renew(3), true, timing(2_000, 2_900)), 2_000 + TENURE);
    }

    @Test
    void theDeadlineLiesTwoPercentBeforeTheEndOfTheLease() {
      assertThat(SETTINGS.margin()).isEqualTo(Duration.ofMillis(LEASE / 50));
      assertThat(TENURE).isEqualTo(LEASE - LEASE / 50);
      assertLeadsUntil(this.leader, TENURE);
    }

    @Test
    void isDueOncePerRenewInterval() {
      assertNext(this.leader, RENEW - 1).isEqualTo(new Wait(at(RENEW)));
      assertNext(this.leader, RENEW).isEqualTo(new Renew(3));
    }

    @Test
    void thatIsLateByAnHourEndsTheLeadershipAtItsDeadlineWhateverItsAnswer() {
      Candidacy woken = this.leader.at(reading(3_600_000, 3_600_000));
      assertFollows(woken);
      assertFollows(woken.onRenewed(new Renew(3), true, timing(RENEW, 3_600_000)));
    }

    @Test
    void ofUnknownOutcomeKeepsTheOldDeadlineAndIsTriedAgainSoon() {
      Candidacy failed = this.leader.onFailure(new Renew(3), at(3_000));
      assertLeadsUntil(failed, TENURE);
      assertNext(failed, 3_000).isEqualTo(new Wait(at(3_000 + RENEW / 4)));
      assertNext(failed, 3_000 + RENEW / 4).isEqualTo(new Renew(3));
    }

    @Test
    void thatHitsNoRowEndsTheLeadership() {
      Candidacy displaced = this.leader.onRenewed(new Renew(3), false, timing(RENEW, 2_010));
      assertThat(leads(displaced, 2_010)).isFalse();
      assertThat(ending(displaced)).isEqualTo(DISPLACED);
    }

    @Test
    void thatIsAnsweredAfterTheNodeResignedRevivesNothing() {
      Candidacy answered =
          this.leader.resign(null, at(2_005)).onRenewed(new Renew(3), true, timing(2_000, 2_010));
      assertThat(leads(answered, 2_010)).isFalse();
      assertThat(answered.state()).isInstanceOf(Draining.class);
    }

    @Test
    void ofADrainingLeaderProtectsItsWorkFromWhenItWasSentAndLessThanALease() {
      Candidacy renewed = this.leader
          .resign(null, at(1_000))
          .onRenewed(new Renew(3), true, timing(RENEW, RENEW + 900));
      assertThat(((Draining) renewed.state()).deadline().at()).isEqualTo(at(RENEW + TENURE));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void ofAnotherTermSaysNothingToADrainingLeader(boolean renewed) {
      Candidacy draining = this.leader.resign(null, at(1_000));
      assertThat(draining.onRenewed(new Renew(2), renewed, timing(2_000, 2_010)))
          .isEqualTo(draining);
    }

    @Test
    void ofAnotherTermIsIgnored() {
      assertThat(this.leader.onRenewed(new Renew(2), false, timing(2_000, 2_010)))
          .isEqualTo(this.leader);
    }

    /** The wall clock shortens a leadership but never extends it. */
    @Test
    void fault_28_machine_is_suspended() {
      assertFollows(this.leader.at(reading(1_000, TENURE)));
      assertFollows(this.leader.at(reading(TENURE - 100, TENURE)));
      assertFollows(this.leader.at(reading(TENURE, TENURE - 100)));
      assertThat(this.leader.at(reading(TENURE - 150, TENURE - 1))).isEqualTo(this.leader);
    }

    /** A suspended machine whose clock is set back may be anywhere in time. */
    @ParameterizedTest
    @ValueSource(longs = {-86_400_000 * 3_650L, -3_600_000, -1_000, -210, 210, 1_000, 3_600_000})
    void fault_60_endsIfTheClocksHaveAdvancedByDifferentTimes(long skew) {
      assertFollows(this.leader.at(reading(1_000, 1_000 + skew)));
      assertThat(leads(this.leader, 1_000)).isTrue();
    }

    @ParameterizedTest
    @ValueSource(longs = {-195, 195})
    void lastsWhileTheClocksDifferByNoMoreThanTheMargin(long skew) {
      assertThat(this.leader.at(reading(1_000, 1_000 + skew))).isEqualTo(this.leader);
    }

    /** A thread that is held up reads one clock later than the other. */
    @ParameterizedTest
    @ValueSource(longs = {-1, 1})
    void fault_60_lastsIfAThreadWasHeldUpBetweenItsReadingsOfTheTwoClocks(long direction) {
      long heldUp = 3_000;
      long difference = direction * heldUp;
      Reading late = new Reading(at(4_000), WALL + 4_000 + difference, heldUp * 1_000_000);
      assertThat(this.leader.at(late)).isEqualTo(this.leader);
      Candidacy renewed =
          this.leader.onRenewed(new Renew(3), true, new Timing(late, reading(8_000, 8_000)));
      assertThat(leads(renewed, 8_000)).isTrue();
      assertFollows(renewed.at(reading(8_000, 8_000 - difference)));
      assertFollows(this.leader.at(
          new Reading(at(4_000), WALL + 4_000 + 2 * difference, heldUp * 1_000_000)));
    }

    @Test
    void aRenewalDoesNotReviveALeadershipThatAnyThreadHasSeenToBeOver() {
      ((Leader) this.leader.state()).tenure().end();
      assertThat(leads(this.leader, 0)).isFalse();
      Candidacy renewed = this.leader.onRenewed(new Renew(1), true, timing(2_000, 2_010));
      assertThat(leads(renewed, 2_010)).isFalse();
      assertFollows(renewed.at(reading(2_010, 2_010)));
    }
  }

  @Nested
  class Rule2AbsentRow {

    private final LeaseRow created = row("me", 1, 0, LEASE);

    private final Touch touch = new Touch(this.created, at(100));

    private final Candidacy absent = saw(null, 0);

    private final Candidacy claimant = this.absent.onCreated(this.created, at(100));

    @Test
    void isCreatedAtOnce() {
      assertNext(this.absent, 0).isEqualTo(new Create(LEASE));
    }

    @Test
    void isKeptWarmForAWholeLeaseBeforeItsCreatorLeads() {
      assertNext(this.claimant, 100 + RENEW).isEqualTo(this.touch);
      LeaseRow kept = row("me", 1, 1, LEASE);
      Candidacy candidacy = this.claimant.onTouched(this.touch, kept, at(9_000));
      assertNext(candidacy, 100 + LEASE - 1).isEqualTo(new Wait(at(100 + LEASE)));
      assertNext(candidacy, 100 + LEASE).isEqualTo(begin(kept));
      Candidacy leader =
          candidacy.onAcquired(begin(kept), OptionalLong.of(1), timing(10_100, 10_150));
      assertThat(((Leader) leader.state()).term()).isEqualTo(1);
      assertThat(((Leader) leader.state()).tenure().reason()).isEqualTo(CREATED);
      assertLeadsUntil(leader, 10_100 + TENURE);
    }

    @Test
    void isCreatedWithTheLeaseThatItsLastHolderWasPromised() {
      Candidacy candidacy = saw(row("other", 3, 5, 3 * LEASE), 0);
      assertNext(saw(candidacy, null, 100), 100).isEqualTo(new Create(3 * LEASE));
    }

    @Test
    void withALongerLeaseInTheHistoryMakesItsCreatorWaitForThatOne() {
      LeaseRow longer = row("me", 8, 0, 3 * LEASE);
      Candidacy candidacy = this.absent.onCreated(longer, at(0));
      assertNext(candidacy, 3 * LEASE - 1).isNotInstanceOf(Acquire.class);
      assertNext(candidacy, 3 * LEASE).isEqualTo(begin(longer));
    }

    @Test
    void thatSomebodyElseChangedMeanwhileIsNotLed() {
      assertFollows(this.claimant.onAcquired(
          begin(this.created), OptionalLong.empty(), timing(10_100, 10_150)));
      assertFollows(this.claimant.onTouched(this.touch, null, at(2_200)));
    }

    @Test
    void isNotReleasedByACreatorThatStopsBeforeItLed() {
      Candidacy stopped = this.claimant.stop(at(5_000));
      assertFollows(stopped);
      assertWaits(stopped, 60_000);
    }

    @Test
    void isWatchedForAWholeLeaseByACreatorThatStartsOver() {
      Candidacy failed = this.claimant.onFailure(this.touch, at(2_200));
      Candidacy candidacy = saw(failed, this.created, 3_000);
      assertNext(candidacy, 3_000).isNotInstanceOf(Acquire.class);
      assertNext(candidacy, 3_000 + LEASE).isInstanceOf(Acquire.class);
    }

    @Test
    void thatAnotherNodeCreatedFirstIsReadAgain() {
      assertNext(this.absent.onCreated(null, at(100)), 100).isEqualTo(new Read());
    }

    @Test
    void thatAnotherNodeMayHaveCreatedIsReadBeforeItIsTriedFor() {
      assertThat(this.absent.isOpen(at(100))).isTrue();
      Candidacy lost = this.absent.readAgainAt(at(300));
      assertThat(lost.isOpen(at(100))).isFalse();
      assertThat(lost.next(at(100), false)).isEqualTo(new Wait(at(300)));
      assertNext(lost, 300).isEqualTo(new Read());
      assertThat(saw(OTHERS, 0).isOpen(at(100))).as("nothing to try for").isFalse();
    }
  }

  @Nested
  class Rule3Released {

    @ParameterizedTest
    @ValueSource(strings = {"", "me"})
    void isTakenAtOnceIfVacantOrForThisNode(String leaderId) {
      assertNext(saw(row(leaderId, 3, 5, 0), 0), 0).isInstanceOf(Acquire.class);
    }

    @Test
    void forAnotherNodeIsLeftToItWhileTheRowKeepsChanging() {
      Candidacy candidacy = saw(saw(row("other", 3, 5, 0), 0), row("other", 3, 6, 0), LEASE - 1);
      assertNext(candidacy, LEASE).isNotInstanceOf(Acquire.class);
      assertNext(candidacy, 2 * LEASE - 1).isInstanceOf(Acquire.class);
    }

    @Test
    void isNotTakenByANodeThatStandsAsideUntilItCampaigns() {
      Candidacy aside = FRESH.resign(null, at(0));
      assertTakesAt(saw(aside, row("", 3, 5, 0), 1_000), LEASE);
      assertNext(saw(aside.campaign(at(1_000)), row("", 3, 5, 0), 1_000), 1_000)
          .isInstanceOf(Acquire.class);
    }
  }

  @Nested
  class Rule4OwnName {

    private final LeaseRow own = MINE.own(true);

    private final LeaseRow kept = row("me", 3, 6, LEASE);

    private final Touch touch = new Touch(MINE, at(0));

    private final Candidacy expired = expired(3);

    @Test
    void isNotTakenAtOnceEvenInTheTermThatThisProcessLetExpire() {
      // After the tables are emptied or a term is edited, another node can hold the same term.
      assertNext(saw(this.expired, MINE, TENURE), TENURE).isInstanceOf(Touch.class);
    }

    @Test
    void isNotDesignationIfThisProcessLedItsTerm() {
      // As behind a failover, where the seal of another server does not count.
      assertNext(claimed(3), TENURE + LEASE).isEqualTo(new Acquire(this.kept, EXPIRED));
      assertNext(claimed(2), TENURE + LEASE).isEqualTo(new Acquire(this.kept, DESIGNATED));
    }

    private Candidacy claimed(long ledTerm) {
      return saw(expired(ledTerm), MINE, TENURE)
          .onTouched(new Touch(MINE, at(TENURE)), this.kept, at(TENURE));
    }

    @Test
    void isTakenAnewAtOnceIfNobodyHasWrittenSinceThisProcessLed() {
      assertNext(saw(this.expired, this.own, TENURE), TENURE)
          .isEqualTo(new Acquire(this.own, EXPIRED));
    }

    @Test
    void isNotTakenAtOnceWhileANewerTermIsKnown() {
      // Restoring an old copy of the table restores the owner's seal as well.
      Candidacy candidacy = saw(this.expired, row("other", 4, 9, LEASE), TENURE);
      assertNext(saw(candidacy, this.own, TENURE + 100), TENURE + 100).isInstanceOf(Touch.class);
    }

    @Test
    void isNotTakenAtOnceByANodeThatStandsAsideOrIsPaused() {
      long later = TENURE + 100;
      assertWaits(saw(this.expired.resign(null, at(TENURE)), this.own, later), later);
      assertWaits(saw(this.expired.pause(ALICE, at(TENURE)), this.own, later), later);
    }

    @Test
    void isOnlyWatchedOnceItWasTakenAnewWithoutAnAnswer() {
      // Otherwise a process whose take-overs all succeed, but whose answers are lost, would keep
      // the row from the other nodes.
      Candidacy candidacy = saw(this.expired, this.own, TENURE);
      Acquire take = new Acquire(this.own, EXPIRED);
      assertNext(candidacy, TENURE).isEqualTo(take);
      LeaseRow taken = row("me", 4, 6, LEASE).own(true);
      long later = TENURE + 2_000;
      assertOnlyWatches(saw(candidacy.onFailure(take, at(later - 1_000)), taken, later), later);
    }

    @Test
    void isNotTakenAtOnceByAProcessThatWasNotAnsweredToLeadThisTerm() {
      // A copy of this process, made while it followed, has the same seal.
      assertNext(saw(this.own, 0), 0).isInstanceOf(Touch.class);
      assertNext(saw(expired(2), this.own, TENURE), TENURE).isInstanceOf(Touch.class);
      // The same applies to the next life of the process, which may be the next life of a copy.
      Candidacy nextLife = Candidacy.start(this.expired.node(), at(TENURE));
      assertNext(saw(nextLife, this.own, TENURE), TENURE).isInstanceOf(Touch.class);
    }

    @Test
    void isKeptWarmAndTakenOnceItsLeaseHasPassedWithoutAChangeBySomebodyElse() {
      Candidacy candidacy = saw(MINE, 0);
      assertNext(candidacy, 0).isEqualTo(this.touch);
      candidacy = candidacy.onTouched(this.touch, this.kept, at(50));
      Touch again = new Touch(this.kept, at(0));
      assertNext(candidacy, 50 + RENEW).isEqualTo(again);
      candidacy = candidacy.onTouched(again, MINE, at(9_999));
      assertTakesAt(candidacy, LEASE);
      assertNext(candidacy, LEASE).isEqualTo(new Acquire(MINE, DESIGNATED));
    }

    @Test
    void isOnlyWatchedAfterSomebodyElseChangedIt() {
      Candidacy candidacy = saw(MINE, 0).onTouched(this.touch, null, at(100));
      assertNext(candidacy, 100).isEqualTo(new Read());
      candidacy = saw(candidacy, this.kept, 100);
      assertWaits(candidacy, 100);
      assertNext(candidacy, 100 + LEASE).isInstanceOf(Acquire.class);
      candidacy = saw(candidacy, row("me", 3, 7, LEASE), 9_000);
      assertNext(candidacy, 100 + LEASE).isNotInstanceOf(Acquire.class);
    }

    @Test
    void countsAnUnknownOutcomeAsAChangeBySomebodyElse() {
      Candidacy candidacy = saw(MINE, 0).onFailure(this.touch, at(1_000));
      assertWaits(candidacy, 1_000);
      assertOnlyWatches(saw(candidacy, MINE, 2_000), 2_000);
    }

    @Test
    void isTakenAtOnceWhenItBecomesReleased() {
      Candidacy candidacy = saw(MINE, 0).onTouched(this.touch, null, at(100));
      assertNext(saw(candidacy, row("me", 3, 7, 0), 100), 100).isInstanceOf(Acquire.class);
    }

    @Test
    void isNotKeptWarmByANodeThatStandsAside() {
      assertWaits(saw(FRESH.resign(null, at(0)), MINE, 100), 100);
    }

    @Test
    void isNotWarmedOnceTheNodeResignedWhileTheRequestWasUnderWay() {
      assertFollows(saw(MINE, 0).resign(null, at(10)).onTouched(this.touch, this.kept, at(50)));
    }

    private static void assertOnlyWatches(Candidacy candidacy, long since) {
      assertNext(candidacy, since + LEASE - 1).isNotInstanceOfAny(Touch.class, Acquire.class);
      assertNext(candidacy, since + LEASE).isInstanceOf(Acquire.class);
    }
  }

  @Nested
  class Rule5AnothersName {

    private final Acquire take = new Acquire(OTHERS, EXPIRED);

    private final Candidacy follower = saw(OTHERS, 0);

    @Test
    void isTakenOnceTheRowStayedTheSameForItsLeaseFromTheAnswerThatShowedIt() {
      Candidacy candidacy = saw(saw(OTHERS, 700), OTHERS, 5_000);
      assertTakesAt(candidacy, 700 + LEASE);
      assertNext(candidacy, 700 + LEASE).isEqualTo(this.take);
    }

    @Test
    void isWatchedAnewAfterAnyChange() {
      for (LeaseRow changed : new LeaseRow[] {
        row("third", 3, 5, LEASE),
        row("other", 2, 5, LEASE),
        row("other", 3, 6, LEASE),
        row("other", 3, 5, LEASE + 1)
      }) {
        Candidacy candidacy = saw(this.follower, changed, 9_000);
        assertNext(candidacy, LEASE).as("%s", changed).isNotInstanceOf(Acquire.class);
      }
    }

    @ParameterizedTest
    @CsvSource({"30000, 30000", "1, 10000", ", 10000", "2147483648, 3600000"})
    void waitsForTheHoldersPromiseButForItsOwnLeaseAtLeastAndAnHourAtMost(
        @Nullable Long promise, long wait) {
      assertTakesAt(saw(new LeaseRow("other", 3, promise, 5L, false), 0), wait);
    }

    @Test
    void takesAnUnknownLeaseWithoutAHistoryForTheLastOneThatItSaw() {
      Candidacy candidacy = saw(row("other", 3, 5, 3 * LEASE), 0);
      LeaseRow replaced = new LeaseRow("third", 0, null, 0L, false);
      candidacy = saw(saw(candidacy, replaced, 1_000), replaced, 2_000);
      assertTakesAt(candidacy, 1_000 + 3 * LEASE);
    }

    @Test
    void isReadAgainBeforeAnythingElseAfterALostRaceOrAFailure() {
      Candidacy lost =
          this.follower.onAcquired(this.take, OptionalLong.empty(), timing(LEASE, LEASE + 10));
      assertNext(lost, LEASE + 10).isEqualTo(new Read());
      Candidacy failed = this.follower.onFailure(this.take, at(LEASE + 1_000));
      assertWaits(failed, LEASE + 1_000);
      assertNext(failed, LEASE + 1_000 + RENEW / 4).isEqualTo(new Read());
    }

    @Test
    void aTermWhoseAnswerCameAfterItsDeadlineIsNeverLed() {
      assertFollows(
          this.follower.onAcquired(this.take, OptionalLong.of(4), timing(LEASE, LEASE + TENURE)));
    }

    @ParameterizedTest
    @ValueSource(booleans = {true, false})
    void aTermThatIsWonByANodeThatWasToldToStepDownMeanwhileIsHandedBack(boolean stopped) {
      Candidacy candidacy =
          stopped ? this.follower.stop(at(LEASE + 5)) : this.follower.resign(null, at(LEASE + 5));
      candidacy = candidacy.onAcquired(this.take, OptionalLong.of(4), timing(LEASE, LEASE + 10));
      assertThat(leads(candidacy, LEASE + 10)).isFalse();
      assertNext(candidacy, LEASE + 10).isEqualTo(new Release(4, "", stopped ? STOPPED : RESIGNED));
    }
  }

  @Nested
  class Rule6Displaced {

    private final Candidacy displaced =
        leader(3, 0).onRenewed(new Renew(3), false, timing(RENEW, 2_010));

    private final Cede cede = new Cede(3, DISPLACED);

    @Test
    void givesWayOnceItsLeaderWorkHasStoppedOrTheDrainTimeoutIsOver() {
      assertThat(this.displaced.next(at(2_010), true)).isInstanceOf(Wait.class);
      assertThat(this.displaced.next(at(2_010), false)).isEqualTo(this.cede);
      assertThat(this.displaced.next(at(2_010 + 3_000), true)).isEqualTo(this.cede);
    }

    @Test
    void hasNothingToGiveOnceItsLeaseIsOver() {
      Candidacy over = this.displaced.at(reading(TENURE, TENURE));
      assertFollows(over);
      assertNext(over, TENURE).isEqualTo(new Read());
    }

    @Test
    void standsAsideForOneLeaseAfterItGaveWay() {
      Candidacy candidacy = this.displaced.onCeded(this.cede, true, at(2_050));
      candidacy = saw(candidacy, row("", 3, 9, 0), 2_060);
      assertWaits(candidacy, 2_060);
      assertNext(candidacy, 2_050 + LEASE).isInstanceOf(Acquire.class);
    }

    @Test
    void doesNotStandAsideIfTheRowWasDeleted() {
      Candidacy candidacy = this.displaced.onCeded(this.cede, false, at(2_050));
      assertNext(saw(candidacy, null, 2_060), 2_060).isEqualTo(new Create(LEASE));
    }
  }

  @Nested
  class Rule7SteppingDown {

    private final Candidacy leader = leader(3, 0);

    private final Candidacy resigned = this.leader.resign(null, at(500));

    private final Candidacy stopped = this.leader.stop(at(500));

    private final Release release = new Release(3, "", RESIGNED);

    @Test
    void isNoLeaderAtOnceAndReleasesWhenNoWorkRuns() {
      assertThat(leads(this.resigned, 500)).isFalse();
      assertThat(ending(this.resigned)).isEqualTo(RESIGNED);
      assertNext(this.resigned, 500).isEqualTo(this.release);
    }

    @Test
    void renewsWhileItsWorkDrains() {
      assertThat(this.stopped.next(at(500), true)).isEqualTo(new Wait(at(RENEW)));
      assertThat(this.stopped.next(at(RENEW), true)).isEqualTo(new Renew(3));
      Candidacy candidacy = this.stopped.onRenewed(new Renew(3), true, timing(RENEW, 2_010));
      assertThat(leads(candidacy, 2_010)).isFalse();
      assertThat(candidacy.next(at(3_500), true))
          .as("a stop waits for work for longer than the drain time-out")
          .isEqualTo(new Wait(at(2 * RENEW)));
      assertThat(candidacy.next(at(2 * RENEW), true)).isEqualTo(new Renew(3));
      assertNext(candidacy, 2 * RENEW).isEqualTo(new Release(3, "", STOPPED));
    }

    @Test
    void keepsItsLeaseForWorkAfterAStopUntilTheDeadlineOrADisplacement() {
      assertThat(keepsLease(this.stopped, TENURE - 1)).isTrue();
      assertThat(keepsLease(this.stopped, TENURE)).isFalse();
      assertThat(keepsLease(this.resigned, 500)).isFalse();
      assertThat(keepsLease(this.leader, 500)).isFalse();
      Candidacy displaced = this.stopped.onRenewed(new Renew(3), false, timing(RENEW, 2_010));
      assertThat(keepsLease(displaced, 2_010)).isFalse();
    }

    @Test
    void aCommandWaitsForWorkForTheDrainTimeoutAlsoAfterAStop() {
      assertThat(this.resigned.next(at(3_499), true)).isEqualTo(new Renew(3));
      assertThat(this.resigned.next(at(3_500), true)).isEqualTo(this.release);
      Candidacy commanded = this.stopped.handOver("other", ALICE, at(1_000));
      assertThat(ending(this.stopped)).isEqualTo(STOPPED);
      assertThat(commanded.next(at(3_499), true)).isEqualTo(new Renew(3));
      assertThat(commanded.next(at(3_500), true)).isEqualTo(new Release(3, "other", HANDED_OVER));
      assertThat(this.stopped.stop(at(1_000))).as("a stop is no command").isEqualTo(this.stopped);
    }

    @Test
    void releasesToTheDesignatedNode() {
      Candidacy candidacy = this.leader.handOver("other", ALICE, at(500));
      assertNext(candidacy, 500).isEqualTo(new Release(3, "other", HANDED_OVER));
      assertThat(ending(candidacy)).isEqualTo(HANDED_OVER);
    }

    @Test
    void triesAgainAfterAFailureButNotAtOnce() {
      Candidacy candidacy = this.resigned.onFailure(this.release, at(1_500));
      assertNext(candidacy, 1_500).isEqualTo(new Wait(at(1_500 + RENEW / 4)));
      assertNext(candidacy, 1_500 + RENEW / 4).isEqualTo(this.release);
    }

    @Test
    void standsAsideForOneLeaseAfterTheRelease() {
      Candidacy candidacy = this.resigned.onReleased(this.release, true, at(1_000));
      assertTakesAt(saw(candidacy, row("", 3, 9, 0), 1_010), LEASE + 1_000);
    }

    @Test
    void givesWayIfItWasDisplacedWhileItsWorkDrained() {
      assertNext(this.resigned.onReleased(this.release, false, at(1_000)), 1_000)
          .isEqualTo(new Cede(3, RESIGNED));
    }

    @Test
    void takesNothingOnceStopped() {
      Candidacy candidacy = this.stopped.onReleased(new Release(3, "", STOPPED), true, at(600));
      assertNext(candidacy, 600).isEqualTo(new Wait(at(600 + RENEW)));
      assertWaits(candidacy, 100_000);
    }
  }

  @Nested
  class Pause {

    private final Candidacy paused = leader(3, 0).pause(ALICE, at(500));

    private final Candidacy released =
        this.paused.onReleased(new Release(3, "", PAUSED), true, at(600));

    @Test
    void endsALeadershipAtOnceAndHandsItBackToAnyone() {
      assertThat(leads(this.paused, 500)).isFalse();
      assertThat(this.paused.next(at(RENEW), true)).as("its work drains").isEqualTo(new Renew(3));
      assertNext(this.paused, 500).isEqualTo(new Release(3, "", PAUSED));
    }

    @Test
    void keepsNothingWarmThatItHadBegunToKeepWarm() {
      LeaseRow row = row("me", 1, 1, LEASE);
      Candidacy claimant = saw(null, 0).onCreated(row, at(10)).pause(ALICE, at(20));
      assertNext(claimant, 20).isInstanceOf(Read.class);
      assertFollows(saw(null, 0).pause(ALICE, at(5)).onCreated(row, at(10)));
    }

    @Test
    void handsBackWhatIsWonWhileItIsToldSo() {
      Acquire take = new Acquire(row("", 3, 5, 0), RELEASED);
      Candidacy won = saw(take.row(), 0)
          .pause(ALICE, at(5))
          .onAcquired(take, OptionalLong.of(4), timing(0, 10));
      assertThat(leads(won, 10)).isFalse();
      assertNext(won, 10).isEqualTo(new Release(4, "", PAUSED));
    }

    @Test
    void outlivesTheStandingAsideAndBeingToldToStand() {
      assertNext(saw(this.released.campaign(at(700)), row("", 3, 9, 0), 700), 10 * LEASE)
          .isInstanceOf(Read.class);
      assertThat(FRESH.stop(at(0)).pause(ALICE, at(1)).participation().pausedBy())
          .isEqualTo(ALICE);
    }

    @Test
    void endsWhenItIsResumedAndTheStandingAsideWithIt() {
      assertNext(saw(this.released, row("", 3, 9, 0), 700).resume(at(800)), 800)
          .isInstanceOf(Acquire.class);
    }

    @Test
    void resumingWhoIsNotPausedChangesNothing() {
      Candidacy aside = FRESH.resign(null, at(0));
      assertThat(aside.resume(at(100))).isEqualTo(aside);
    }
  }

  private static LeaseSettings settings(boolean eligible) {
    return new LeaseSettings(
        ofMillis(LEASE), ofMillis(RENEW), Duration.ofSeconds(1), Duration.ofSeconds(3), eligible);
  }

  private static Candidacy candidacy(LeaseSettings settings) {
    return Candidacy.start(new Node("me", settings), at(0));
  }

  /** A leader of a term that was requested at an instant and granted 10 ms later. */
  private static Candidacy leader(long term, long sent) {
    Acquire take = new Acquire(row("", term - 1, 5, 0), RELEASED);
    return saw(take.row(), sent).onAcquired(take, OptionalLong.of(term), timing(sent, sent + 10));
  }

  /** A node that took a term at the beginning and did not renew. */
  private static Candidacy expired(long term) {
    return leader(term, 0).at(reading(TENURE, TENURE));
  }

  private static Candidacy saw(@Nullable LeaseRow row, long now) {
    return saw(FRESH, row, now);
  }

  private static Candidacy saw(Candidacy candidacy, @Nullable LeaseRow row, long now) {
    return candidacy.onRead(row, at(now));
  }

  private static boolean leads(Candidacy candidacy, long now) {
    return candidacy.state() instanceof Leader leader && leader.isValid(reading(now, now));
  }

  private static boolean keepsLease(Candidacy candidacy, long now) {
    return candidacy.keepsLease(reading(now, now));
  }

  private static TermEnd ending(Candidacy candidacy) {
    return ((Draining) candidacy.state()).ending();
  }

  /** Checks the next step of a node without leader work. */
  private static ObjectAssert<Step> assertNext(Candidacy candidacy, long now) {
    return assertThat(candidacy.next(at(now), false));
  }

  private static void assertWaits(Candidacy candidacy, long now) {
    assertNext(candidacy, now).isInstanceOf(Wait.class);
  }

  private static void assertTakesAt(Candidacy candidacy, long instant) {
    assertNext(candidacy, instant - 1).isNotInstanceOf(Acquire.class);
    assertNext(candidacy, instant).isInstanceOf(Acquire.class);
  }

  private static void assertLeadsUntil(Candidacy candidacy, long deadline) {
    assertThat(leads(candidacy, deadline - 1)).isTrue();
    assertThat(leads(candidacy, deadline)).isFalse();
  }

  private static void assertFollows(Candidacy candidacy) {
    assertThat(candidacy.state()).isInstanceOf(Follower.class);
  }

  private static LeaseRow row(String leaderId, long term, long version, long leaseMillis) {
    return new LeaseRow(leaderId, term, leaseMillis, version, false);
  }

  private static Acquire begin(LeaseRow created) {
    return new Acquire(created, CREATED);
  }

  private static Timing timing(long sent, long now) {
    return new Timing(reading(sent, sent), reading(now, now));
  }

  private static Reading reading(long now, long wall) {
    return new Reading(at(now), WALL + wall, 0);
  }

  private static long at(long millis) {
    return ORIGIN + millis * 1_000_000;
  }
}
