package io.election.lease;

import io.election.LeadershipAcquiredEvent;
import io.election.lease.LeaseStore.Reading;
import io.election.lease.MemoryLeaseStore.Term;
import io.election.lease.Standing.Following;
import io.election.lease.Standing.Leading;
import io.election.lease.Standing.SteppingDown;
import io.election.lease.Standing.Warming;
import io.election.lease.Step.Create;
import io.election.lease.Step.KeepWarm;
import io.election.lease.Step.Lead;
import io.election.lease.Step.Read;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Take;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import org.jspecify.annotations.Nullable;

/**
 * The rules of production, except for one that is broken on purpose. Numbers are those of the rules
 * in {@link CandidacyTest}.
 */
enum Mutant {
  /** Rule 1. */
  THE_DEADLINE_COUNTS_FROM_THE_ANSWERS_ARRIVAL(new Rules() {
    @Override
    Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
      Timing arrival = new Timing(timing.now(), timing.wall(), timing.now(), timing.wall());
      return super.answered(candidacy, step, outcome, arrival);
    }
  }),

  /** Clocks differ in rate. */
  THE_DEADLINE_HAS_NO_MARGIN(new Rules() {
    @Override
    Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
      Candidacy after = super.answered(candidacy, step, outcome, timing);
      boolean renewed = !after.standing().equals(candidacy.standing());
      return renewed && after.standing() instanceof Leading leading
          ? standing(after, extended(leading, margin(after).toNanos()))
          : after;
    }
  }),

  /** Rule 1: an unknown outcome extends nothing. */
  AN_UNKNOWN_OUTCOME_EXTENDS_THE_LEASE(new Rules() {
    @Override
    Candidacy failed(Candidacy candidacy, Step step, long now) {
      Candidacy after = super.failed(candidacy, step, now);
      return step instanceof Renew && after.standing() instanceof Leading leading
          ? standing(
              after,
              extended(leading, now + after.node().settings().tenureNanos() - leading.deadline()))
          : after;
    }
  }),

  /** {@code isLeader()} compares the deadline on each call. */
  A_FLAG_STANDS_FOR_THE_DEADLINE(new Rules() {
    @Override
    boolean leads(Candidacy candidacy, long now, long wall) {
      return candidacy.standing() instanceof Leading;
    }

    @Override
    boolean leads(LeaseElectionService service) {
      return service.candidate().candidacy().standing() instanceof Leading;
    }
  }),

  /** A suspended machine stops its monotonic clock, not its wall clock. */
  THE_WALL_CLOCK_IS_NOT_LOOKED_AT(new Rules() {
    @Override
    Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
      Candidacy after = super.answered(candidacy, step, outcome, timing);
      return after.standing() instanceof Leading leading
          ? standing(
              after,
              new Leading(
                  leading.term(),
                  leading.deadline(),
                  Long.MAX_VALUE,
                  leading.since(),
                  leading.reason()))
          : after;
    }
  }),

  /** Rule 1: the renewal names the term. */
  A_RENEWAL_DOES_NOT_NAME_ITS_TERM(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public Set<String> renew(String nodeId, Map<String, Long> terms)
            throws LeaseStoreException {
          LeaseRow row = row();
          return row == null ? Set.of() : super.renew(nodeId, Map.of(Sent.SERVICE, row.term()));
        }
      };
    }
  }),

  /** Rule 1: an answer that arrives after stepping down revives nothing. */
  A_LATE_ANSWER_REVIVES_A_LEADERSHIP(new Rules() {
    @Override
    Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
      Candidacy after = super.answered(candidacy, step, outcome, timing);
      if (step instanceof Renew renew
          && (boolean) outcome
          && after.standing() instanceof SteppingDown) {
        Take take = new Take(
            new LeaseRow("", renew.term(), 0, 0L, null, "", ""),
            LeadershipAcquiredEvent.Reason.RELEASED);
        return after.campaign(timing.now()).onTaken(take, OptionalLong.of(renew.term()), timing);
      }
      return after;
    }
  }),

  /** Rule 2. */
  WHO_CREATES_THE_ROW_LEADS_AT_ONCE(new Rules() {
    @Override
    Step next(Candidacy candidacy, long now, boolean working) {
      return candidacy.standing() instanceof Warming warming && warming.created()
          ? new Lead(warming.row())
          : super.next(candidacy, now, working);
    }
  }),

  /** Rule 2: a missing history does not mean that no process leads. */
  WHO_CREATES_THE_FIRST_TERM_LEADS_AT_ONCE(new Rules() {
    @Override
    Step next(Candidacy candidacy, long now, boolean working) {
      return candidacy.standing() instanceof Warming warming
              && warming.created()
              && warming.row().term() == 1
          ? new Lead(warming.row())
          : super.next(candidacy, now, working);
    }
  }),

  /** Rule 2: the lease of the process that led before both tables were emptied. */
  THE_PROMISE_THAT_WAS_SEEN_IS_FORGOTTEN(new Rules() {
    @Override
    Step next(Candidacy candidacy, long now, boolean working) {
      Step step = super.next(candidacy, now, working);
      return step instanceof Create ? new Create(ownMillis(candidacy)) : step;
    }
  }),

  /** Rules 2 and 4: a process that waits under its own name waits for the row's lease. */
  ONES_OWN_LEASE_COUNTS_WHILE_KEEPING_WARM(new Rules() {
    @Override
    Step next(Candidacy candidacy, long now, boolean working) {
      if (!(candidacy.standing() instanceof Warming warming)) {
        return super.next(candidacy, now, working);
      }
      LeaseRow row = warming.row();
      Step step = super.next(
          standing(
              candidacy,
              new Warming(
                  withLease(row, ownMillis(candidacy), null), warming.since(), warming.created())),
          now,
          working);
      if (step instanceof Take take) {
        return new Take(row, take.reason());
      }
      if (step instanceof KeepWarm) {
        return new KeepWarm(row, warming.since());
      }
      return step instanceof Lead ? new Lead(row) : step;
    }
  }),

  /** A lease that an older tool or a manual edit left unknown counts as the last term's lease. */
  AN_UNKNOWN_LEASE_COUNTS_AS_ONES_OWN(new Rules() {
    @Override
    Candidacy read(Candidacy candidacy, @Nullable LeaseRow row, Timing timing) {
      return super.read(
          candidacy, row == null ? null : withLease(row, row.leaseMillis(), null), timing);
    }

    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        LeaseRow asRead(LeaseRow seen) {
          LeaseRow row = row();
          return row != null && withLease(row, row.leaseMillis(), null).equals(seen) ? row : seen;
        }
      };
    }
  }),

  /**
   * Rule 3: a row that was handed to another node is left to that node for as long as the row
   * changes.
   */
  A_ROW_HANDED_TO_ANOTHER_IS_TAKEN_AT_ONCE(new Rules() {
    @Override
    Step next(Candidacy candidacy, long now, boolean working) {
      Observation seen = fresh(candidacy);
      LeaseRow row = seen != null ? seen.row() : null;
      return row != null && row.isReleased() && isFree(candidacy, now)
          ? new Take(row, LeadershipAcquiredEvent.Reason.RELEASED)
          : super.next(candidacy, now, working);
    }
  }),

  /** Rule 4: a term number proves nothing, not even one that this very process held. */
  WHO_FINDS_ITS_NAME_IN_THE_ROW_TAKES_IT_AT_ONCE(new Rules() {
    @Override
    Step next(Candidacy candidacy, long now, boolean working) {
      Observation seen = fresh(candidacy);
      LeaseRow row = seen != null ? seen.row() : null;
      return row != null && !row.isReleased() && isMine(candidacy, row)
          ? new Take(row, LeadershipAcquiredEvent.Reason.DESIGNATED)
          : super.next(candidacy, now, working);
    }
  }),

  /** Rule 4: the process that led last may have been displaced since. */
  WHO_LED_THE_TERM_IN_THE_ROW_TAKES_IT_ANEW_AT_ONCE(new Rules() {
    @Override
    Candidacy read(Candidacy candidacy, @Nullable LeaseRow row, Timing timing) {
      return super.read(candidacy, row != null ? row.own(true) : null, timing);
    }
  }),

  /** Rule 4: a copy of this process, made while it followed, has the same seal. */
  A_SEAL_COUNTS_FOR_WHO_WAS_NOT_ANSWERED_TO_LEAD(new BySealAlone()),

  /**
   * Rule 4: each life of a process has its own token, even if all are restored from one checkpoint.
   */
  WHO_IS_RESTORED_FROM_ONE_CHECKPOINT_HAS_ONE_TOKEN(new Rules() {
    @Override
    String token(String checkpoint, String life) {
      return checkpoint;
    }
  }),

  /** Rule 4: a sealed row may have been written by a tool that does not know seals. */
  A_SEAL_OUTLASTS_WHAT_OTHERS_WRITE(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
          Map<String, Reading> readings = new HashMap<>(super.read(serviceIds));
          MemoryLeaseStore.Row row = database.rows.get(Sent.SERVICE);
          readings.replaceAll((id, reading) -> new Reading(
              reading.row().own(row.seal() != null && row.seal().owner().equals(token)),
              reading.age()));
          return readings;
        }
      };
    }
  }),

  /**
   * Rules 2 and 4: a process may create the row while another leads. Even so, the row is not taken
   * at once as long as a seal counts only for a process that was answered to lead: each of the two
   * rules is enough.
   */
  WHO_CREATES_THE_ROW_SEALS_IT(new BySealAlone() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public Optional<LeaseRow> create(
            String serviceId, String nodeId, long leaseMillis, long aboveTerm)
            throws LeaseStoreException {
          Optional<LeaseRow> created = super.create(serviceId, nodeId, leaseMillis, aboveTerm);
          created.ifPresent((row) -> seal());
          return created;
        }
      };
    }
  }),

  /** Rule 4: a process may keep the row warm while another leads. */
  WHO_KEEPS_THE_ROW_WARM_SEALS_IT(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public Optional<LeaseRow> keepWarm(String serviceId, LeaseRow seen)
            throws LeaseStoreException {
          Optional<LeaseRow> kept = super.keepWarm(serviceId, seen);
          kept.ifPresent((row) -> seal());
          return kept;
        }
      };
    }
  }),

  /** Rule 2: the lease of the process that led before the row was deleted. */
  THE_HISTORYS_LEASE_IS_IGNORED(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public Optional<LeaseRow> create(
            String serviceId, String nodeId, long leaseMillis, long aboveTerm)
            throws LeaseStoreException {
          long above = Math.max(aboveTerm, newestTerm());
          return withoutHistory(() -> super.create(serviceId, nodeId, leaseMillis, above));
        }
      };
    }
  }),

  /** Take: the new term is higher than every term in the history. */
  THE_HISTORYS_TERM_IS_IGNORED(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public Optional<LeaseRow> create(
            String serviceId, String nodeId, long leaseMillis, long aboveTerm)
            throws LeaseStoreException {
          Map.Entry<Long, Term> newest = this.database.history(Sent.SERVICE).lastEntry();
          long lease = newest == null ? 0 : newest.getValue().leaseMillis();
          return withoutHistory(
              () -> super.create(serviceId, nodeId, Math.max(lease, leaseMillis), aboveTerm));
        }
      };
    }
  }),

  /** Rule 4. */
  WHO_IS_NAMED_BY_HAND_LEADS_AT_ONCE(new Rules() {
    @Override
    Step next(Candidacy candidacy, long now, boolean working) {
      Step step = super.next(candidacy, now, working);
      return step instanceof KeepWarm keepWarm && candidacy.standing() instanceof Following
          ? new Take(keepWarm.row(), LeadershipAcquiredEvent.Reason.DESIGNATED)
          : step;
    }
  }),

  /** Rule 4. */
  THE_ROW_IS_KEPT_WARM_AGAINST_A_TWIN(new Rules() {
    @Override
    Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
      Candidacy after = super.answered(candidacy, step, outcome, timing);
      return memory(after, after.memory().watchOnly(false));
    }

    @Override
    Candidacy failed(Candidacy candidacy, Step step, long now) {
      Candidacy after = super.failed(candidacy, step, now);
      return memory(after, after.memory().watchOnly(false));
    }
  }),

  /** Rule 4. */
  AN_UNKNOWN_KEEP_WARM_COUNTS_AS_ONES_OWN(new Rules() {
    @Override
    Candidacy failed(Candidacy candidacy, Step step, long now) {
      Candidacy after = super.failed(candidacy, step, now);
      return step instanceof KeepWarm keepWarm && after.standing() instanceof Following
          ? new Candidacy(
              after.node(),
              candidacy.memory(),
              after.standing(),
              new Observation(keepWarm.row(), keepWarm.since(), true),
              after.dueAt())
          : after;
    }

    @Override
    Candidacy read(Candidacy candidacy, @Nullable LeaseRow row, Timing timing) {
      Candidacy after = super.read(candidacy, row, timing);
      Observation seen = candidacy.seen();
      boolean counts = row != null
          && after.standing() instanceof Following
          && seen != null
          && seen.stale()
          && seen.row() != null
          && isMine(candidacy, row)
          && row.term() == seen.row().term()
          && row.version() == seen.row().version() + 1;
      return counts ? seen(after, new Observation(row, seen.since(), false)) : after;
    }

    @Override
    boolean comparesVersions() {
      return true;
    }
  }),

  /** Keeping warm compares all that was read. */
  THE_ROW_IS_KEPT_WARM_WITHOUT_COMPARING(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public Optional<LeaseRow> keepWarm(String serviceId, LeaseRow seen)
            throws LeaseStoreException {
          return super.keepWarm(serviceId, isSameTerm(row(), seen) ? row() : seen);
        }
      };
    }
  }),

  /** Rule 5. */
  ONES_OWN_LEASE_COUNTS_INSTEAD_OF_THE_HOLDERS(new Rules() {
    @Override
    Step next(Candidacy candidacy, long now, boolean working) {
      Observation seen = fresh(candidacy);
      LeaseRow row = seen != null ? seen.row() : null;
      if (row == null || row.isReleased()) {
        return super.next(candidacy, now, working);
      }
      LeaseRow shortened = withLease(row, ownMillis(candidacy), null);
      Step step = super.next(
          seen(candidacy, new Observation(shortened, seen.since(), false)), now, working);
      if (step instanceof Take take) {
        return new Take(row, take.reason());
      }
      return step instanceof KeepWarm ? new KeepWarm(row, seen.since()) : step;
    }
  }),

  /** Rule 5. */
  AN_OBSERVATION_BEGINS_BEFORE_THE_REQUEST_IS_SENT(new Rules() {
    @Override
    Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
      return step instanceof Read
          ? super.answered(
              candidacy,
              step,
              outcome,
              new Timing(timing.sent(), timing.wallSent(), timing.sent(), timing.wallSent()))
          : super.answered(candidacy, step, outcome, timing);
    }
  }),

  /** Clocks: the database's clock proves nothing because it can be set. */
  THE_DATABASES_CLOCK_TELLS_WHEN_A_LEASE_IS_OVER(new Rules() {
    @Override
    Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
      return sinceTheLastWrite(super.answered(candidacy, step, outcome, timing), outcome, timing);
    }
  }),

  /**
   * Clocks: {@code now()} jumps by an hour when clocks go forward, although nobody sets the clock.
   */
  NOW_TELLS_WHEN_A_LEASE_IS_OVER(new Rules() {
    @Override
    Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
      return sinceTheLastWrite(super.answered(candidacy, step, outcome, timing), outcome, timing);
    }

    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
          Map<String, Reading> readings = new HashMap<>(super.read(serviceIds));
          readings.replaceAll((id, reading) -> {
            long written = Long.parseLong(reading.row().lastActiveTime());
            long now = written + reading.age().toNanos() / 1_000;
            boolean jumped = written < Simulation.SUMMER_TIME && now >= Simulation.SUMMER_TIME;
            return new Reading(reading.row(), jumped ? reading.age().plusHours(1) : reading.age());
          });
          return readings;
        }
      };
    }
  }),

  /** Rule 5: an observation is of one unchanged row. */
  AN_OBSERVATION_SURVIVES_RENEWALS(new Rules() {
    @Override
    Candidacy read(Candidacy candidacy, @Nullable LeaseRow row, Timing timing) {
      Candidacy after = super.read(candidacy, row, timing);
      Observation seen = candidacy.seen();
      return after.standing() instanceof Following && seen != null && isSameTerm(row, seen.row())
          ? seen(after, new Observation(row, seen.since(), false))
          : after;
    }
  }),

  /**
   * Rule 5: the same row on another server, which may have missed renewals, counts as another row.
   */
  THE_SERVER_IS_NOT_COMPARED(new Rules() {
    @Override
    Candidacy read(Candidacy candidacy, @Nullable LeaseRow row, Timing timing) {
      return super.read(candidacy, row == null ? null : anywhere(row), timing);
    }

    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        LeaseRow asRead(LeaseRow seen) {
          LeaseRow row = row();
          return row != null && anywhere(row).equals(anywhere(seen)) ? row : seen;
        }
      };
    }
  }),

  /** Every write compares all that was read: an operator may write exactly the same row twice. */
  THE_HISTORY_OF_A_ROW_BY_HAND_IS_NOT_COMPARED(new Rules() {
    @Override
    Candidacy read(Candidacy candidacy, @Nullable LeaseRow row, Timing timing) {
      return super.read(candidacy, row == null ? null : apartFromHistory(row), timing);
    }

    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        LeaseRow asRead(LeaseRow seen) {
          LeaseRow row = row();
          return row != null && apartFromHistory(row).equals(apartFromHistory(seen)) ? row : seen;
        }
      };
    }
  }),

  /** Every write compares all that was read. */
  THE_ROW_IS_TAKEN_WITHOUT_COMPARING(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public OptionalLong take(
            String serviceId,
            LeaseRow seen,
            String nodeId,
            long leaseMillis,
            long aboveTerm,
            String reason)
            throws LeaseStoreException {
          LeaseRow row = row();
          return super.take(
              serviceId, row != null ? row : seen, nodeId, leaseMillis, aboveTerm, reason);
        }
      };
    }
  }),

  /** Every write compares all that was read. */
  THE_ROW_IS_TAKEN_COMPARING_ONLY_HOLDER_AND_TERM(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public OptionalLong take(
            String serviceId,
            LeaseRow seen,
            String nodeId,
            long leaseMillis,
            long aboveTerm,
            String reason)
            throws LeaseStoreException {
          return super.take(
              serviceId,
              isSameTerm(row(), seen) ? row() : seen,
              nodeId,
              leaseMillis,
              aboveTerm,
              reason);
        }
      };
    }
  }),

  /** Affected rows: drivers also count a row that a losing statement left unchanged. */
  A_LOSING_STATEMENT_COUNTS_AS_WON(new Rules() {
    @Override
    Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
      boolean lost = step instanceof Take && ((OptionalLong) outcome).isEmpty();
      return super.answered(
          candidacy,
          step,
          lost ? OptionalLong.of(((Take) step).row().term() + 1) : outcome,
          timing);
    }
  }),

  /** Rule 1: a renewal that hit no row extends nothing. */
  A_RENEWAL_THAT_HIT_NO_ROW_COUNTS(new Rules() {
    @Override
    Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
      return super.answered(candidacy, step, step instanceof Renew ? true : outcome, timing);
    }
  }),

  /** Every write compares all that was read. */
  A_CREATED_TERM_IS_LED_WITHOUT_COMPARING(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public boolean lead(String serviceId, LeaseRow seen, long leaseMillis)
            throws LeaseStoreException {
          LeaseRow row = row();
          return super.lead(serviceId, row != null ? row : seen, leaseMillis);
        }
      };
    }
  }),

  /** A process that was paused while it took the election over hands it back. */
  A_TAKE_THAT_WAS_UNDER_WAY_ENDS_A_PAUSE(new Rules() {
    @Override
    Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
      if (step instanceof Take && candidacy.memory().paused() != null) {
        Candidacy after = super.answered(candidacy.resume(timing.now()), step, outcome, timing);
        return new Candidacy(
            after.node(),
            after.memory().paused(candidacy.memory().paused()),
            after.standing(),
            after.seen(),
            after.dueAt());
      }
      return super.answered(candidacy, step, outcome, timing);
    }
  }),

  /** Rule 7: the release names the term. */
  A_RELEASE_DOES_NOT_NAME_ITS_TERM(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public boolean release(
            String serviceId, String nodeId, long term, String successor, Ending ending)
            throws LeaseStoreException {
          LeaseRow row = row();
          return super.release(
              serviceId, nodeId, row != null ? row.term() : term, successor, ending);
        }
      };
    }
  }),

  /**
   * Rule 7: a late release may find a row that another process has led meanwhile. This mutant does
   * not check for the newest term either, because each of the two checks is enough.
   */
  A_RELEASE_IS_NOT_OF_WHO_LED_LAST(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public boolean release(
            String serviceId, String nodeId, long term, String successor, Ending ending)
            throws LeaseStoreException {
          LeaseRow row = row();
          if (row != null && isMineIn(term, nodeId, row)) {
            seal();
          }
          return withoutNewer(
              term, () -> super.release(serviceId, nodeId, term, successor, ending));
        }
      };
    }
  }),

  /** Rule 7: a late release may find a row that this process has taken again meanwhile. */
  A_RELEASE_IS_NOT_OF_THE_NEWEST_TERM(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public boolean release(
            String serviceId, String nodeId, long term, String successor, Ending ending)
            throws LeaseStoreException {
          return withoutNewer(
              term, () -> super.release(serviceId, nodeId, term, successor, ending));
        }
      };
    }
  }),

  /** Rule 7: no row is ever deleted. */
  A_RELEASE_DELETES_THE_ROW(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public boolean release(
            String serviceId, String nodeId, long term, String successor, Ending ending)
            throws LeaseStoreException {
          boolean released = super.release(serviceId, nodeId, term, successor, ending);
          if (released) {
            this.database.deleteRow(serviceId);
          }
          return released;
        }
      };
    }
  }),

  /** Rule 6: giving way names the term. */
  GIVING_WAY_NAMES_NEITHER_TERM_NOR_HISTORY(new Rules() {
    @Override
    LeaseStore store(SimulatedDatabase database, String token) {
      return new Broken(database, token) {
        @Override
        public boolean giveWay(String serviceId, String nodeId, long term, Ending ending) {
          LeaseRow row = row();
          if (row == null || row.leaderId().equals(nodeId)) {
            return false;
          }
          this.database.edit(
              serviceId,
              (before) -> new LeaseRow(
                  before.leaderId(),
                  before.term(),
                  before.version() + 1,
                  0L,
                  null,
                  before.lastActiveTime(),
                  before.source()));
          return true;
        }
      };
    }
  }),

  /** Rule 5: a row is read again after a lost race or a failure. */
  A_ROW_IS_NOT_READ_AGAIN_AFTER_A_FAILURE(new Rules() {
    @Override
    Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
      return trusting(super.answered(candidacy, step, outcome, timing));
    }

    @Override
    Candidacy failed(Candidacy candidacy, Step step, long now) {
      return trusting(super.failed(candidacy, step, now));
    }

    private Candidacy trusting(Candidacy candidacy) {
      Observation seen = candidacy.seen();
      return seen != null
          ? seen(candidacy, new Observation(seen.row(), seen.since(), false))
          : candidacy;
    }
  }),

  /** A lease that was read counts as at least as long as the process's own. */
  A_ROWS_SHORTER_LEASE_COUNTS_AS_IT_IS(new Rules() {
    @Override
    Step next(Candidacy candidacy, long now, boolean working) {
      Observation seen = fresh(candidacy);
      LeaseRow row = seen != null ? seen.row() : null;
      Long lease = row != null ? row.leaseMillis() : null;
      return lease != null
              && lease > 0
              && !isMine(candidacy, row)
              && isFree(candidacy, now)
              && now - seen.since() >= Duration.ofMillis(lease).toNanos()
          ? new Take(row, LeadershipAcquiredEvent.Reason.EXPIRED)
          : super.next(candidacy, now, working);
    }
  });

  final Rules rules;

  Mutant(Rules rules) {
    this.rules = rules;
  }

  private static Duration margin(Candidacy candidacy) {
    return candidacy.node().settings().margin();
  }

  private static Leading extended(Leading leading, long nanos) {
    return new Leading(
        leading.term(),
        leading.deadline() + nanos,
        leading.wallDeadline() + nanos / 1_000_000,
        leading.since(),
        leading.reason());
  }

  private static long ownMillis(Candidacy candidacy) {
    return candidacy.node().settings().leaseDuration().toMillis();
  }

  private static LeaseRow withLease(LeaseRow row, @Nullable Long lease, @Nullable Long lastTerms) {
    return new LeaseRow(
        row.leaderId(),
        row.term(),
        row.version(),
        lease,
        lastTerms,
        row.lastTerm(),
        row.lastActiveTime(),
        row.source(),
        row.own());
  }

  private static LeaseRow anywhere(LeaseRow row) {
    return new LeaseRow(
        row.leaderId(),
        row.term(),
        row.version(),
        row.leaseMillis(),
        row.lastTermLeaseMillis(),
        row.lastTerm(),
        row.lastActiveTime(),
        "",
        row.own());
  }

  private static LeaseRow apartFromHistory(LeaseRow row) {
    return new LeaseRow(
        row.leaderId(),
        row.term(),
        row.version(),
        row.leaseMillis(),
        row.lastTermLeaseMillis(),
        null,
        row.lastActiveTime(),
        row.source(),
        row.own());
  }

  /** Starts the observation at the last write, using the age that was read with the row. */
  private static Candidacy sinceTheLastWrite(Candidacy after, Object outcome, Timing timing) {
    Observation seen = fresh(after);
    boolean read = outcome instanceof Optional<?> found && found.orElse(null) instanceof Reading;
    if (seen == null || !read) {
      return after;
    }
    Reading reading = (Reading) ((Optional<?>) outcome).orElseThrow();
    if (reading.age().isZero()) {
      // The server of the search has no clock.
      return after;
    }
    return seen(after, new Observation(seen.row(), timing.now() - reading.age().toNanos(), false));
  }

  /** Whether the node may take a row. */
  private static boolean isFree(Candidacy candidacy, long now) {
    Memory memory = candidacy.memory();
    return memory.running() && candidacy.node().settings().eligible() && !memory.isAside(now);
  }

  private static @Nullable Observation fresh(Candidacy candidacy) {
    Observation seen = candidacy.seen();
    return seen != null && !seen.stale() && candidacy.standing() instanceof Following ? seen : null;
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

  private static Candidacy standing(Candidacy candidacy, Standing standing) {
    return new Candidacy(
        candidacy.node(), candidacy.memory(), standing, candidacy.seen(), candidacy.dueAt());
  }

  private static Candidacy memory(Candidacy candidacy, Memory memory) {
    return new Candidacy(
        candidacy.node(), memory, candidacy.standing(), candidacy.seen(), candidacy.dueAt());
  }

  private static Candidacy seen(Candidacy candidacy, Observation seen) {
    return new Candidacy(
        candidacy.node(), candidacy.memory(), candidacy.standing(), seen, candidacy.dueAt());
  }

  /** Takes a row with its own seal at once, whether or not it was answered to lead. */
  private static class BySealAlone extends Rules {

    @Override
    Step next(Candidacy candidacy, long now, boolean working) {
      Observation seen = fresh(candidacy);
      LeaseRow row = seen != null ? seen.row() : null;
      return row != null
              && row.own()
              && !row.isReleased()
              && isMine(candidacy, row)
              && row.term() == candidacy.memory().highestTerm()
              && !candidacy.memory().watchOnly()
              && candidacy.memory().paused() == null
              && isFree(candidacy, now)
          ? new Take(row, LeadershipAcquiredEvent.Reason.EXPIRED)
          : super.next(candidacy, now, working);
    }
  }

  /** A server whose statements compare less than they should. */
  private static class Broken extends SimulatedDatabase.Store {

    final SimulatedDatabase database;

    final String token;

    Broken(SimulatedDatabase database, String token) {
      database.super(token);
      this.database = database;
      this.token = token;
    }

    @Nullable
    LeaseRow row() {
      return this.database.row(Sent.SERVICE, this.token);
    }

    /** The row that a statement compares with, instead of the one that was seen. */
    LeaseRow asRead(LeaseRow seen) {
      return seen;
    }

    @Override
    public Optional<LeaseRow> keepWarm(String serviceId, LeaseRow seen) throws LeaseStoreException {
      return super.keepWarm(serviceId, asRead(seen));
    }

    @Override
    public boolean lead(String serviceId, LeaseRow seen, long leaseMillis)
        throws LeaseStoreException {
      return super.lead(serviceId, asRead(seen), leaseMillis);
    }

    @Override
    public OptionalLong take(
        String serviceId,
        LeaseRow seen,
        String nodeId,
        long leaseMillis,
        long aboveTerm,
        String reason)
        throws LeaseStoreException {
      return super.take(serviceId, asRead(seen), nodeId, leaseMillis, aboveTerm, reason);
    }

    static boolean isMineIn(long term, String nodeId, LeaseRow row) {
      return row.leaderId().equals(nodeId) && row.term() == term;
    }

    void seal() {
      this.database.rows.computeIfPresent(
          Sent.SERVICE,
          (id, row) -> new MemoryLeaseStore.Row(
              row.leaderId(),
              row.term(),
              row.version(),
              row.leaseMillis(),
              row.written(),
              new MemoryLeaseStore.Seal(
                  this.token, row.version(), row.written(), this.database.source())));
    }

    long newestTerm() {
      NavigableMap<Long, Term> terms = this.database.history(Sent.SERVICE);
      return terms.isEmpty() ? 0 : terms.lastKey();
    }

    Optional<LeaseRow> withoutHistory(Creation creation) throws LeaseStoreException {
      NavigableMap<Long, Term> terms = this.database.history(Sent.SERVICE);
      Map<Long, Term> before = new TreeMap<>(terms);
      terms.clear();
      Optional<LeaseRow> created = creation.create();
      before.forEach(terms::putIfAbsent);
      return created;
    }

    boolean withoutNewer(long term, Giving giving) throws LeaseStoreException {
      NavigableMap<Long, Term> terms = this.database.history(Sent.SERVICE);
      Map<Long, Term> newer = new TreeMap<>(terms.tailMap(term, false));
      terms.keySet().removeAll(newer.keySet());
      boolean given = giving.give();
      terms.putAll(newer);
      return given;
    }

    @FunctionalInterface
    interface Giving {
      boolean give() throws LeaseStoreException;
    }

    @FunctionalInterface
    interface Creation {
      Optional<LeaseRow> create() throws LeaseStoreException;
    }
  }
}
