package io.election.lease;

import io.election.AuditNote;
import io.election.LeadershipAcquiredEvent.Reason;
import io.election.lease.Rules.Access;
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
import io.election.store.LeaseRow;
import io.election.store.LeaseStore.Reading;
import io.election.store.LeaseStoreException;
import io.election.store.MemoryLeaseStore;
import io.election.store.MemoryLeaseStore.Version;
import io.election.store.MemoryTerm;
import io.election.store.SimulatedDatabase;
import java.time.Duration;
import java.util.NavigableMap;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.TreeMap;
import java.util.function.BiPredicate;
import java.util.function.Predicate;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The rules of production, except for one that is broken on purpose. Numbers are those of the rules
 * in {@link CandidacyTest}.
 */
enum Mutant {
  /** Rule 1. */
  THE_DEADLINE_COUNTS_FROM_THE_ANSWERS_ARRIVAL(
      answering((candidacy, step, outcome, timing) -> Rules.PRODUCTION.answered(
          candidacy, step, outcome, new Timing(timing.after(), timing.after())))),

  /** Clocks differ in rate. */
  THE_DEADLINE_HAS_NO_MARGIN(answering((candidacy, step, outcome, timing) -> {
    Candidacy after = Rules.PRODUCTION.answered(candidacy, step, outcome, timing);
    boolean renewed = !after.state().equals(candidacy.state());
    return renewed && after.state() instanceof Leader leader
        ? extended(after, leader, after.node().settings().margin().toNanos())
        : after;
  })),

  /** Rule 1: an unknown outcome extends nothing. */
  AN_UNKNOWN_OUTCOME_EXTENDS_THE_LEASE(new Rules() {
    @Override
    Candidacy failed(Candidacy candidacy, Step step, long now) {
      Candidacy after = super.failed(candidacy, step, now);
      return step instanceof Renew && after.state() instanceof Leader leader
          ? extended(
              after,
              leader,
              now
                  + after.node().settings().leadershipNanos()
                  - leader.deadline().at())
          : after;
    }
  }),

  /** {@code isLeader()} compares the deadline on each call. */
  A_FLAG_STANDS_FOR_THE_DEADLINE(new Rules() {
    @Override
    boolean leads(Candidacy candidacy, long now, long wall) {
      return candidacy.state() instanceof Leader;
    }

    @Override
    boolean leads(SimulatedProcess process) {
      return process.candidacy().state() instanceof Leader;
    }
  }),

  /** A leadership that any thread has seen to be over is over, although its clock is set back. */
  WHAT_WAS_SEEN_TO_BE_OVER_IS_FORGOTTEN(new Rules() {
    @Override
    boolean leads(SimulatedProcess process) {
      return process.candidacy().state() instanceof Leader leader
          && !leader.deadline().isOver(new Clocks.Reading(process.monotonic(), process.wall(), 0));
    }
  }),

  /** A clock that is set may hide a suspension. */
  THE_ADVANCES_OF_THE_CLOCKS_ARE_NOT_COMPARED(
      leaving((candidacy) -> candidacy.state() instanceof Leader leader
          ? until(candidacy, leader, leader.deadline().at(), leader.deadline().wallAt())
          : candidacy)),

  /** A suspended machine stops its monotonic clock, not its wall clock. */
  THE_WALL_CLOCK_IS_NOT_LOOKED_AT(leaving((candidacy) -> candidacy.state() instanceof Leader leader
      ? until(
          candidacy,
          leader,
          leader.deadline().at(),
          leader.deadline().wallAt() + Duration.ofDays(3_650).toMillis())
      : candidacy)),

  /** Rule 1: the renewal names the term. */
  A_RENEWAL_DOES_NOT_NAME_ITS_TERM(executing((call, access) -> {
    LeaseRow row = access.row();
    return Rules.PRODUCTION.execute(
        call.step() instanceof Renew && row != null ? call.with(new Renew(row.term())) : call,
        access);
  })),

  /** Rule 1: an answer that arrives after stepping down revives nothing. */
  A_LATE_ANSWER_REVIVES_A_LEADERSHIP(answering((candidacy, step, outcome, timing) -> {
    Candidacy after = Rules.PRODUCTION.answered(candidacy, step, outcome, timing);
    if (step instanceof Renew renew
        && SimulatedProcess.renewed(outcome)
        && after.state() instanceof Draining) {
      Acquire acquire = new Acquire(new LeaseRow("", renew.term(), 0L, "", false), Reason.RELEASED);
      return after
          .campaign(timing.now())
          .onAcquired(acquire, OptionalLong.of(renew.term()), timing);
    }
    return after;
  })),

  /** Rule 2. */
  WHO_CREATES_THE_ROW_LEADS_AT_ONCE(leadingIf(Claimant::created)),

  /** Rule 2: a missing history does not mean that no process leads. */
  WHO_CREATES_THE_FIRST_TERM_LEADS_AT_ONCE(
      leadingIf((claimant) -> claimant.created() && claimant.row().term() == 1)),

  /** Rule 2: the lease of the process that led before both tables were emptied. */
  THE_PROMISE_THAT_WAS_SEEN_IS_FORGOTTEN(deciding((candidacy, now, working) -> {
    Step step = Rules.PRODUCTION.next(candidacy, now, working);
    return step instanceof Create ? new Create(ownMillis(candidacy)) : step;
  })),

  /** Rules 2 and 4: a process that waits under its own name waits for the row's lease. */
  ONES_OWN_LEASE_COUNTS_WHILE_KEEPING_WARM(deciding((candidacy, now, working) -> {
    if (!(candidacy.state() instanceof Claimant claimant)) {
      return Rules.PRODUCTION.next(candidacy, now, working);
    }
    LeaseRow shortened = withLease(claimant.row(), ownMillis(candidacy));
    Claimant hasty = new Claimant(shortened, claimant.since(), claimant.created());
    return onRow(Rules.PRODUCTION.next(state(candidacy, hasty), now, working), claimant.row());
  })),

  /** A lease that an older tool or a manual edit left unknown counts as the last term's lease. */
  AN_UNKNOWN_LEASE_COUNTS_AS_ONES_OWN(new Blind(Mutant::withoutTheHistorysLease)),

  /** Rule 3: a row that was handed to another node is left to it while the row changes. */
  A_ROW_HANDED_TO_ANOTHER_IS_TAKEN_AT_ONCE(new Hasty(
      Reason.RELEASED,
      (candidacy, seen, now) -> rowOf(seen).isReleased() && isFree(candidacy, now))),

  /** Rule 4: a term number proves nothing, not even one that this very process held. */
  WHO_FINDS_ITS_NAME_IN_THE_ROW_TAKES_IT_AT_ONCE(new Hasty(
      Reason.DESIGNATED,
      (candidacy, seen, now) -> !rowOf(seen).isReleased() && isMine(candidacy, rowOf(seen)))),

  /** Rule 4: the process that led last may have been displaced since. */
  WHO_LED_THE_TERM_IN_THE_ROW_TAKES_IT_ANEW_AT_ONCE(new Rules() {
    @Override
    Candidacy read(Candidacy candidacy, @Nullable LeaseRow row, Timing timing) {
      return super.read(candidacy, row != null ? row.own(true) : null, timing);
    }
  }),

  /** Rule 4: a copy of this process, made while it followed, has the same seal. */
  A_SEAL_COUNTS_FOR_WHO_WAS_NOT_ANSWERED_TO_LEAD(new BySealAlone()),

  /** Rule 4: each life of a process has its own token, even if restored from one checkpoint. */
  WHO_IS_RESTORED_FROM_ONE_CHECKPOINT_HAS_ONE_TOKEN(new Rules() {
    @Override
    String token(String checkpoint, String life) {
      return checkpoint;
    }
  }),

  /** Rule 4: a sealed row may have been written by a tool that does not know seals. */
  A_SEAL_OUTLASTS_WHAT_OTHERS_WRITE(executing((call, access) -> {
    Object outcome = Rules.PRODUCTION.execute(call, access);
    if (!(call.step() instanceof Read)) {
      return outcome;
    }
    MemoryLeaseStore.Row row = access.database().rows().get(Sent.SERVICE);
    return reading(outcome)
        .map((found) -> new Reading(
            found.row().own(row.seal() != null && row.seal().owner().equals(access.token())),
            found.age()));
  })),

  /**
   * Rules 2 and 4: a process may create the row while another leads. Even so, the row is not taken
   * at once as long as a seal counts only for a process that was answered to lead: each of the two
   * rules is enough.
   */
  WHO_CREATES_THE_ROW_SEALS_IT(new BySealAlone() {
    @Override
    Object execute(Sent call, Access access) throws LeaseStoreException {
      Object outcome = super.execute(call, access);
      if (call.step() instanceof Create && Rules.row(outcome) != null) {
        seal(access);
      }
      return outcome;
    }
  }),

  /** Rule 4: a process may keep the row warm while another leads. */
  WHO_KEEPS_THE_ROW_WARM_SEALS_IT(executing((call, access) -> {
    Object outcome = Rules.PRODUCTION.execute(call, access);
    if (call.step() instanceof Touch && Rules.row(outcome) != null) {
      seal(access);
    }
    return outcome;
  })),

  /** Rule 2: the lease of the process that led before the row was deleted. */
  THE_HISTORYS_LEASE_IS_IGNORED(executing((call, access) -> {
    NavigableMap<Long, MemoryTerm> terms = access.database().history(Sent.SERVICE);
    if (!(call.step() instanceof Create) || terms.isEmpty()) {
      return Rules.PRODUCTION.execute(call, access);
    }
    Step.Caller caller = call.caller();
    long above = Math.max(caller.highestTerm(), terms.lastKey());
    Sent aware = new Sent(
        call.step(),
        new Step.Caller(caller.serviceId(), caller.nodeId(), caller.leaseMillis(), above),
        call.at(),
        call.wallAt());
    return withoutTerms(access, Long.MIN_VALUE, aware);
  })),

  /** Take: the new term is higher than every term in the history. */
  THE_HISTORYS_TERM_IS_IGNORED(executing((call, access) -> {
    NavigableMap<Long, MemoryTerm> terms = access.database().history(Sent.SERVICE);
    if (!(call.step() instanceof Create create) || terms.isEmpty()) {
      return Rules.PRODUCTION.execute(call, access);
    }
    long lease = Math.max(terms.lastEntry().getValue().leaseMillis(), create.leaseMillis());
    return withoutTerms(access, Long.MIN_VALUE, call.with(new Create(lease)));
  })),

  /** Rule 4. */
  WHO_IS_NAMED_BY_HAND_LEADS_AT_ONCE(deciding((candidacy, now, working) -> {
    Step step = Rules.PRODUCTION.next(candidacy, now, working);
    return step instanceof Touch touch && candidacy.state() instanceof Follower
        ? new Acquire(touch.row(), Reason.DESIGNATED)
        : step;
  })),

  /** Rule 4. */
  THE_ROW_IS_KEPT_WARM_AGAINST_A_TWIN(leaving(
      (candidacy) -> candidacy.state() instanceof Follower follower
          ? state(candidacy, new Follower(follower.seen(), false))
          : candidacy)),

  /** Rule 4. */
  AN_UNKNOWN_KEEP_WARM_COUNTS_AS_ONES_OWN(new Rules() {
    @Override
    Candidacy failed(Candidacy candidacy, Step step, long now) {
      Candidacy after = super.failed(candidacy, step, now);
      return step instanceof Touch touch && after.state() instanceof Follower
          ? state(after, new Follower(new Observation(touch.row(), touch.since(), true), false))
          : after;
    }

    @Override
    Candidacy read(Candidacy candidacy, @Nullable LeaseRow row, Timing timing) {
      Candidacy after = super.read(candidacy, row, timing);
      Observation seen = candidacy.seen();
      boolean counts = row != null
          && after.state() instanceof Follower
          && seen != null
          && seen.stale()
          && seen.row() != null
          && isMine(candidacy, row)
          && row.term() == seen.row().term()
          && Version.of(row).number() == Version.of(seen.row()).number() + 1;
      return counts ? seen(after, new Observation(row, seen.since(), false)) : after;
    }

    @Override
    boolean comparesVersions() {
      return true;
    }
  }),

  /** Keeping warm compares all that was read. */
  THE_ROW_IS_KEPT_WARM_WITHOUT_COMPARING(comparing(Touch.class::isInstance, Mutant::isSameTerm)),

  /** Rule 5. */
  ONES_OWN_LEASE_COUNTS_INSTEAD_OF_THE_HOLDERS(deciding((candidacy, now, working) -> {
    Observation seen = fresh(candidacy);
    if (seen == null || rowOf(seen).isReleased()) {
      return Rules.PRODUCTION.next(candidacy, now, working);
    }
    LeaseRow shortened = withLease(rowOf(seen), ownMillis(candidacy));
    Candidacy hasty = seen(candidacy, new Observation(shortened, seen.since(), false));
    return onRow(Rules.PRODUCTION.next(hasty, now, working), rowOf(seen));
  })),

  /** Rule 5. */
  AN_OBSERVATION_BEGINS_BEFORE_THE_REQUEST_IS_SENT(answering(
      (candidacy, step, outcome, timing) -> Rules.PRODUCTION.answered(
          candidacy,
          step,
          outcome,
          step instanceof Read ? new Timing(timing.before(), timing.before()) : timing))),

  /** Clocks: the database's clock proves nothing because it can be set. */
  THE_DATABASES_CLOCK_TELLS_WHEN_A_LEASE_IS_OVER(new ByAge()),

  /** Clocks: {@code now()} jumps by an hour when summer time begins. */
  NOW_TELLS_WHEN_A_LEASE_IS_OVER(new ByAge() {
    @Override
    Object execute(Sent call, Access access) throws LeaseStoreException {
      Object outcome = super.execute(call, access);
      return call.step() instanceof Read ? reading(outcome).map(this::inSummerTime) : outcome;
    }

    private Reading inSummerTime(Reading reading) {
      long written = Version.of(reading.row()).written();
      long now = written + reading.age().toNanos() / 1_000;
      boolean jumped = written < Simulation.SUMMER_TIME && now >= Simulation.SUMMER_TIME;
      return new Reading(reading.row(), jumped ? reading.age().plusHours(1) : reading.age());
    }
  }),

  /** Rule 5: an observation is of one unchanged row. */
  AN_OBSERVATION_SURVIVES_RENEWALS(new Rules() {
    @Override
    Candidacy read(Candidacy candidacy, @Nullable LeaseRow row, Timing timing) {
      Candidacy after = super.read(candidacy, row, timing);
      Observation seen = candidacy.seen();
      return after.state() instanceof Follower && seen != null && isSameTerm(row, seen.row())
          ? seen(after, new Observation(row, seen.since(), false))
          : after;
    }
  }),

  /** Rule 5: the row on another server, which may have missed renewals, is another row. */
  THE_SERVER_IS_NOT_COMPARED(new Blind((row) -> with(row, Version.of(row).lastTerm(), ""))),

  /** Every write compares all that was read: an operator may write exactly the same row twice. */
  THE_HISTORY_OF_A_ROW_BY_HAND_IS_NOT_COMPARED(
      new Blind((row) -> with(row, null, Version.of(row).source()))),

  /** Every write compares all that was read. */
  THE_ROW_IS_TAKEN_WITHOUT_COMPARING(comparing(Mutant::takesOver, (row, seen) -> true)),

  /** Every write compares all that was read. */
  THE_ROW_IS_TAKEN_COMPARING_ONLY_HOLDER_AND_TERM(comparing(Mutant::takesOver, Mutant::isSameTerm)),

  /** Affected rows: drivers also count a row that a losing statement left unchanged. */
  A_LOSING_STATEMENT_COUNTS_AS_WON(answering((candidacy, step, outcome, timing) -> {
    boolean lost = takesOver(step) && ((OptionalLong) outcome).isEmpty();
    Object won = lost ? OptionalLong.of(((Acquire) step).row().term() + 1) : outcome;
    return Rules.PRODUCTION.answered(candidacy, step, won, timing);
  })),

  /** Rule 1: a renewal that hit no row extends nothing. */
  A_RENEWAL_THAT_HIT_NO_ROW_COUNTS(
      answering((candidacy, step, outcome, timing) -> Rules.PRODUCTION.answered(
          candidacy,
          step,
          step instanceof Renew ? RenewalListener.Outcome.CONFIRMED : outcome,
          timing))),

  /** Every write compares all that was read. */
  A_CREATED_TERM_IS_LED_WITHOUT_COMPARING(comparing(Mutant::beginsItsTerm, (row, seen) -> true)),

  /** A process that was paused while it took the election over hands it back. */
  A_TAKE_THAT_WAS_UNDER_WAY_ENDS_A_PAUSE(answering((candidacy, step, outcome, timing) -> {
    AuditNote pause = candidacy.participation().pausedBy();
    if (step instanceof Acquire && pause != null) {
      Candidacy after =
          Rules.PRODUCTION.answered(candidacy.resume(timing.now()), step, outcome, timing);
      return new Candidacy(
          after.node(),
          after.participation().pause(pause),
          after.remembered(),
          after.state(),
          after.dueAt());
    }
    return Rules.PRODUCTION.answered(candidacy, step, outcome, timing);
  })),

  /** Rule 7: the release names the term. */
  A_RELEASE_DOES_NOT_NAME_ITS_TERM(executing((call, access) -> {
    LeaseRow row = access.row();
    return Rules.PRODUCTION.execute(
        call.step() instanceof Release release && row != null
            ? call.with(new Release(row.term(), release.successor(), release.ending()))
            : call,
        access);
  })),

  /**
   * Rule 7: a late release may find a row that another process has led meanwhile. This mutant does
   * not check for the newest term either, because each of the two checks is enough.
   */
  A_RELEASE_IS_NOT_OF_WHO_LED_LAST(new Forgiving() {
    @Override
    Object execute(Sent call, Access access) throws LeaseStoreException {
      LeaseRow row = access.row();
      if (call.step() instanceof Release release
          && row != null
          && row.leaderId().equals(call.caller().nodeId())
          && row.term() == release.term()) {
        seal(access);
      }
      return super.execute(call, access);
    }
  }),

  /** Rule 7: a late release may find a row that this process has taken again meanwhile. */
  A_RELEASE_IS_NOT_OF_THE_NEWEST_TERM(new Forgiving()),

  /** Rule 7: no row is ever deleted. */
  A_RELEASE_DELETES_THE_ROW(executing((call, access) -> {
    Object outcome = Rules.PRODUCTION.execute(call, access);
    if (call.step() instanceof Release && (boolean) outcome) {
      access.database().deleteRow(Sent.SERVICE);
    }
    return outcome;
  })),

  /** Rule 6: ceding names the term. */
  CEDING_NAMES_NEITHER_TERM_NOR_HISTORY(executing((call, access) -> {
    if (!(call.step() instanceof Cede)) {
      return Rules.PRODUCTION.execute(call, access);
    }
    LeaseRow row = access.row();
    if (row == null || row.leaderId().equals(call.caller().nodeId())) {
      return false;
    }
    access
        .database()
        .edit(Sent.SERVICE, (old) -> SimulatedDatabase.edited(old, old.leaderId(), old.term(), 0L));
    return true;
  })),

  /** Rule 5: a row is read again after a lost race or a failure. */
  A_ROW_IS_NOT_READ_AGAIN_AFTER_A_FAILURE(leaving((candidacy) -> {
    Observation seen = candidacy.seen();
    return seen != null
        ? seen(candidacy, new Observation(seen.row(), seen.since(), false))
        : candidacy;
  })),

  /** A lease that was read counts as at least as long as the process's own. */
  A_ROWS_SHORTER_LEASE_COUNTS_AS_IT_IS(new Hasty(Reason.EXPIRED, (candidacy, seen, now) -> {
    Long lease = rowOf(seen).leaseMillis();
    return lease != null
        && lease > 0
        && !isMine(candidacy, rowOf(seen))
        && isFree(candidacy, now)
        && now - seen.since() >= Duration.ofMillis(lease).toNanos();
  }));

  final Rules rules;

  Mutant(Rules rules) {
    this.rules = rules;
  }

  // ---- one method of production in another way

  @FunctionalInterface
  private interface Execution {
    Object of(Sent call, Access access) throws LeaseStoreException;
  }

  private static Rules executing(Execution other) {
    return new Rules() {
      @Override
      Object execute(Sent call, Access access) throws LeaseStoreException {
        return other.of(call, access);
      }
    };
  }

  @FunctionalInterface
  private interface Answer {
    Candidacy to(Candidacy candidacy, Step step, Object outcome, Timing timing);
  }

  private static Rules answering(Answer other) {
    return new Rules() {
      @Override
      Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
        return other.to(candidacy, step, outcome, timing);
      }
    };
  }

  @FunctionalInterface
  private interface Decision {
    Step of(Candidacy candidacy, long now, boolean working);
  }

  private static Rules deciding(Decision other) {
    return new Rules() {
      @Override
      Step next(Candidacy candidacy, long now, boolean working) {
        return other.of(candidacy, now, working);
      }
    };
  }

  private static Rules leaving(UnaryOperator<Candidacy> after) {
    return new Rules() {
      @Override
      Candidacy after(Candidacy candidacy) {
        return after.apply(candidacy);
      }
    };
  }

  // ---- broken decisions

  /** Takes a row at once if a condition holds. */
  private static class Hasty extends Rules {

    interface Condition {
      boolean isMet(Candidacy candidacy, Observation seen, long now);
    }

    private final Reason reason;

    private final Condition condition;

    Hasty(Reason reason, Condition condition) {
      this.reason = reason;
      this.condition = condition;
    }

    @Override
    Step next(Candidacy candidacy, long now, boolean working) {
      Observation seen = fresh(candidacy);
      return seen != null && this.condition.isMet(candidacy, seen, now)
          ? new Acquire(rowOf(seen), this.reason)
          : super.next(candidacy, now, working);
    }
  }

  /** Takes a row with its own seal at once, whether or not it was answered to lead. */
  private static class BySealAlone extends Hasty {

    BySealAlone() {
      super(
          Reason.EXPIRED,
          (candidacy, seen, now) -> rowOf(seen).own()
              && !rowOf(seen).isReleased()
              && isMine(candidacy, rowOf(seen))
              && rowOf(seen).term() == candidacy.remembered().highestTerm()
              && !(candidacy.state() instanceof Follower follower && follower.shared())
              && candidacy.participation().pausedBy() == null
              && isFree(candidacy, now));
    }
  }

  /** Starts each observation at the last write, using the age that was read with the row. */
  private static class ByAge extends Rules {

    @Override
    Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
      Candidacy after = super.answered(candidacy, step, outcome, timing);
      Observation seen = fresh(after);
      Reading reading = step instanceof Read ? reading(outcome).orElse(null) : null;
      // The server of the search has no clock.
      return seen == null || reading == null || reading.age().isZero()
          ? after
          : seen(after, new Observation(seen.row(), timing.now() - reading.age().toNanos(), false));
    }
  }

  private static Rules leadingIf(Predicate<Claimant> condition) {
    return deciding((candidacy, now, working) ->
        candidacy.state() instanceof Claimant claimant && condition.test(claimant)
            ? new Acquire(claimant.row(), Reason.CREATED)
            : Rules.PRODUCTION.next(candidacy, now, working));
  }

  // ---- servers whose statements compare less than they should

  /** One kind of call finds the row unchanged if the row and the one that was seen are similar. */
  private static Rules comparing(Predicate<Step> call, BiPredicate<LeaseRow, LeaseRow> similar) {
    return executing((sent, access) -> Rules.PRODUCTION.execute(
        call.test(sent.step()) ? onSimilarRow(sent, access, similar) : sent, access));
  }

  /** Neither the processes nor the server see some components of the row. */
  private static class Blind extends Rules {

    private final UnaryOperator<LeaseRow> rest;

    Blind(UnaryOperator<LeaseRow> rest) {
      this.rest = rest;
    }

    @Override
    Candidacy read(Candidacy candidacy, @Nullable LeaseRow row, Timing timing) {
      return super.read(candidacy, row == null ? null : this.rest.apply(row), timing);
    }

    @Override
    Object execute(Sent call, Access access) throws LeaseStoreException {
      BiPredicate<LeaseRow, LeaseRow> similar =
          (row, seen) -> this.rest.apply(row).equals(this.rest.apply(seen));
      return super.execute(onSimilarRow(call, access, similar), access);
    }
  }

  /** A release does not see terms newer than its own. */
  private static class Forgiving extends Rules {

    @Override
    Object execute(Sent call, Access access) throws LeaseStoreException {
      return call.step() instanceof Release release
          ? withoutTerms(access, release.term(), call)
          : super.execute(call, access);
    }
  }

  private static Sent onSimilarRow(
      Sent call, Access access, BiPredicate<LeaseRow, LeaseRow> similar) {
    LeaseRow row = access.row();
    LeaseRow seen = seenBy(call.step());
    return row != null && seen != null && similar.test(row, seen)
        ? call.with((Step.Call<?>) onRow(call.step(), row))
        : call;
  }

  private static @Nullable LeaseRow seenBy(Step step) {
    return step instanceof Touch touch
        ? touch.row()
        : step instanceof Acquire acquire ? acquire.row() : null;
  }

  private static Step onRow(Step step, LeaseRow row) {
    if (step instanceof Acquire acquire) {
      return new Acquire(row, acquire.reason());
    }
    return step instanceof Touch touch ? new Touch(row, touch.since()) : step;
  }

  /** Executes a call that does not see the terms above one. */
  private static Object withoutTerms(Access access, long above, Sent call)
      throws LeaseStoreException {
    NavigableMap<Long, MemoryTerm> terms = access.database().history(Sent.SERVICE);
    NavigableMap<Long, MemoryTerm> hidden = new TreeMap<>(terms.tailMap(above, false));
    terms.keySet().removeAll(hidden.keySet());
    Object outcome = Rules.PRODUCTION.execute(call, access);
    hidden.forEach(terms::putIfAbsent);
    return outcome;
  }

  private static void seal(Access access) {
    access
        .database()
        .rows()
        .computeIfPresent(
            Sent.SERVICE,
            (id, row) -> new MemoryLeaseStore.Row(
                row.leaderId(),
                row.term(),
                row.version(),
                row.leaseMillis(),
                row.written(),
                new MemoryLeaseStore.Seal(
                    Sent.SERVICE,
                    access.token(),
                    row.version(),
                    row.written(),
                    access.database().source())));
  }

  // ---- values with another component

  private static Candidacy extended(Candidacy candidacy, Leader leader, long nanos) {
    Deadline deadline = leader.deadline();
    return until(
        candidacy,
        leader,
        deadline.at() + nanos,
        deadline.wallAt() + nanos / 1_000_000,
        deadline.tolerance());
  }

  /** Does not compare the advances of the clocks. */
  private static Candidacy until(Candidacy candidacy, Leader leader, long at, long wallAt) {
    return until(candidacy, leader, at, wallAt, Long.MAX_VALUE / 2);
  }

  private static Candidacy until(
      Candidacy candidacy, Leader leader, long at, long wallAt, long tolerance) {
    return state(candidacy, new Leader(leader.tenure(), new Deadline(at, wallAt, tolerance)));
  }

  private static LeaseRow withLease(LeaseRow row, @Nullable Long lease) {
    return new LeaseRow(row.leaderId(), row.term(), lease, row.version(), row.own());
  }

  private static LeaseRow withoutTheHistorysLease(LeaseRow row) {
    Long lease = Version.of(row).leaseMillis();
    return withLease(row, lease == null || lease < 0 ? null : lease);
  }

  private static LeaseRow with(LeaseRow row, @Nullable Long lastTerm, String source) {
    Version seen = Version.of(row);
    Version version =
        new Version(seen.number(), seen.leaseMillis(), lastTerm, seen.written(), source);
    return new LeaseRow(row.leaderId(), row.term(), row.leaseMillis(), version, row.own());
  }

  private static boolean takesOver(Step step) {
    return step instanceof Acquire acquire && acquire.reason() != Reason.CREATED;
  }

  private static boolean beginsItsTerm(Step step) {
    return step instanceof Acquire acquire && acquire.reason() == Reason.CREATED;
  }

  private static Candidacy state(Candidacy candidacy, State state) {
    return new Candidacy(
        candidacy.node(),
        candidacy.participation(),
        candidacy.remembered(),
        state,
        candidacy.dueAt());
  }

  private static Candidacy seen(Candidacy candidacy, Observation seen) {
    boolean shared = candidacy.state() instanceof Follower follower && follower.shared();
    return state(candidacy, new Follower(seen, shared));
  }

  // ---- what a mutant asks

  private static long ownMillis(Candidacy candidacy) {
    return candidacy.node().settings().leaseDuration().toMillis();
  }

  private static boolean isFree(Candidacy candidacy, long now) {
    Participation participation = candidacy.participation();
    return candidacy.node().settings().eligible()
        && (participation instanceof Participation.Paused || participation.isActive(now));
  }

  /** The row that a follower has just seen; {@code null} if there was none. */
  private static @Nullable Observation fresh(Candidacy candidacy) {
    Observation seen = candidacy.seen();
    boolean follows = candidacy.state() instanceof Follower;
    return follows && seen != null && !seen.stale() && seen.row() != null ? seen : null;
  }

  private static LeaseRow rowOf(Observation seen) {
    return Objects.requireNonNull(seen.row());
  }

  @SuppressWarnings("unchecked")
  private static Optional<Reading> reading(Object outcome) {
    return (Optional<Reading>) outcome;
  }

  private static boolean isMine(Candidacy candidacy, LeaseRow row) {
    return row.leaderId().equals(candidacy.node().id());
  }

  private static boolean isSameTerm(@Nullable LeaseRow row, @Nullable LeaseRow other) {
    return row != null
        && other != null
        && row.leaderId().equals(other.leaderId())
        && row.term() == other.term()
        && row.isReleased() == other.isReleased();
  }
}
