package io.election.lease;

import io.election.lease.Step.Acquire;
import io.election.lease.Step.Read;
import io.election.lease.Step.Renew;
import io.election.store.LeaseStore.Reading;
import io.election.store.LeaseStore.Renewals;
import io.election.store.LeaseStoreException;
import io.election.store.RecordLockedException;
import io.election.store.StoreHealth;
import java.time.Duration;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Makes the calls to the store, times them, and applies their answers to the candidacies. Used by
 * the elector's thread; {@link #health} by any thread.
 */
final class StoreCalls {

  private final ElectorContext context;

  private final Node node;

  private final List<Candidate> candidates;

  private final Backoff backoff;

  private final Answers answers;

  private final PollSchedule polls;

  private final OpenFailures openFailures = new OpenFailures();

  private volatile long answeredAt;

  /** When a hand-back was noticed last; {@code null} if none was. */
  private @Nullable Long noticedAt;

  StoreCalls(
      ElectorContext context,
      Node node,
      List<Candidate> candidates,
      PollSchedule polls,
      Backoff backoff,
      Answers answers) {
    this.context = context;
    this.node = node;
    this.candidates = candidates;
    this.backoff = backoff;
    this.answers = answers;
    this.polls = polls;
  }

  /**
   * Lets other candidates try first for a lease that may have been handed back: until its turn this
   * node does not even read the records.
   *
   * @param ahead how many others there are
   */
  void awaitTurn(int ahead) {
    long now = this.context.now();
    this.noticedAt = now;
    long due = now + this.polls.turn(ahead);
    this.candidates.forEach((each) -> each.change((candidacy) -> candidacy.pollBy(due)));
  }

  /** Starts to measure the time since the last answer. */
  void begin() {
    this.answeredAt = this.context.now();
  }

  StoreHealth health() {
    // Read the failure first: an answer in between makes the silence short.
    OpenFailures.Problem problem = this.openFailures.problem();
    long now = this.context.now();
    return new StoreHealth(
        Duration.ofNanos(now - this.answeredAt),
        problem != null ? problem.age(now) : Duration.ZERO,
        problem != null ? problem.text() : null);
  }

  /**
   * Makes one call.
   *
   * @param steps the steps of the call: several only if all are renewals or all are reads
   * @return the failures of the candidates whose outcome is unknown
   */
  Map<Candidate, Throwable> make(Map<Candidate, Step.Call<?>> steps) {
    Map<Candidate, Throwable> failed = new LinkedHashMap<>();
    Map.Entry<Candidate, Step.Call<?>> first = steps.entrySet().iterator().next();
    try {
      if (first.getValue() instanceof Renew) {
        renew(steps, failed);
      } else if (first.getValue() instanceof Read read) {
        read(read, steps.keySet(), failed);
      } else {
        call(first.getKey(), first.getValue());
      }
      answered(steps, failed.keySet());
    } catch (Throwable ex) {
      if (ex instanceof RecordLockedException lock && first.getValue() instanceof Acquire acquire) {
        answered(steps, steps.keySet());
        if (!isKeptFrom(first.getKey(), acquire, lock)) {
          return failed;
        }
      } else {
        failed(steps, ex);
      }
      steps.keySet().forEach((candidate) -> failed.put(candidate, ex));
    }
    return failed;
  }

  private void answered(Map<Candidate, Step.Call<?>> steps, Set<Candidate> failed) {
    long now = this.context.now();
    this.answeredAt = now;
    this.backoff.answered();
    steps.forEach((candidate, step) -> {
      if (!failed.contains(candidate)) {
        this.openFailures.answered(candidate, step, candidate.candidacy(), now);
      }
    });
    this.openFailures
        .settle()
        .ifPresent((worksAgain) -> this.context.log().storeAnswered(worksAgain, now));
  }

  private void failed(Map<Candidate, Step.Call<?>> steps, Throwable failure) {
    long now = this.context.now();
    steps.forEach((candidate, step) -> {
      candidate.change((candidacy) -> candidacy.onFailure(step, now));
      this.openFailures.failed(candidate, step, LeaseStoreException.text(failure), now);
    });
    this.backoff.failed(
        now,
        this.candidates.stream().anyMatch((candidate) -> candidate.candidacy().ledLast()));
    this.context.log().storeFailed(failure, Candidate.remaining(this.candidates), now);
  }

  private <R> void call(Candidate candidate, Step.Call<R> step) throws LeaseStoreException {
    Step.Caller caller = Step.Caller.of(candidate.serviceId(), candidate.candidacy());
    Departure departure = depart();
    R answer = answer(step.execute(this.context.store(), caller));
    Timing timing = departure.answered(this.context.clocks());
    this.context.log().answered(caller, step, answer);
    candidate.change((candidacy) -> step.after(candidacy, answer, timing));
    if (step.isRace() && !step.isDone(answer)) {
      lostRace(candidate, timing.now());
    }
  }

  /**
   * Lets the node read the record, and all others that it would try for now, before it tries again.
   * If the holder of many elections has died, hundreds of nodes may try to take them over: one read
   * shows which are left, at less cost than an attempt at each.
   */
  private void lostRace(Candidate loser, long now) {
    long readAt = this.polls.afterLostRace(now);
    for (Candidate each : this.candidates) {
      each.change((candidacy) ->
          each == loser || candidacy.isOpen(now) ? candidacy.readAgainAt(readAt) : candidacy);
    }
  }

  /**
   * Applies that a record is locked. Often another node is just taking it over: only once it is
   * found unchanged and locked again, something else keeps this node from it. That concerns no
   * other election.
   */
  private boolean isKeptFrom(Candidate candidate, Acquire step, RecordLockedException lock) {
    Timing timing = depart().answered(this.context.clocks());
    long now = timing.now();
    Candidacy after =
        candidate.change((candidacy) -> step.after(candidacy, OptionalLong.empty(), timing));
    if (!this.openFailures.failed(candidate, step, LeaseStoreException.text(lock), now)
        && !lock.isAgain()) {
      Step.Caller caller = Step.Caller.of(candidate.serviceId(), after);
      this.context.log().answered(caller, step, OptionalLong.empty());
      lostRace(candidate, now);
      return false;
    }
    this.context.log().storeFailed(lock, Map.of(), now);
    candidate.change((candidacy) -> candidacy.readAgainAt(this.polls.afterLostRace(now)));
    return true;
  }

  private void renew(Map<Candidate, Step.Call<?>> steps, Map<Candidate, Throwable> failed)
      throws LeaseStoreException {
    Map<String, Long> terms = new LinkedHashMap<>();
    steps.forEach((candidate, step) -> terms.put(candidate.serviceId(), ((Renew) step).term()));
    Departure departure = depart();
    Renewals outcome;
    try {
      outcome = answer(this.context.store().renew(this.node.id(), terms));
    } catch (Throwable ex) {
      terms.keySet().forEach((id) -> report(id, RenewalListener.Outcome.UNKNOWN, departure));
      throw ex;
    }
    Timing timing = departure.answered(this.context.clocks());
    LeaseStoreException problem =
        outcome.unknown().isEmpty() ? null : new LeaseStoreException(outcome.problem());
    for (Map.Entry<Candidate, Step.Call<?>> entry : steps.entrySet()) {
      Candidate candidate = entry.getKey();
      RenewalListener.Outcome each = RenewalListener.Outcome.of(candidate.serviceId(), outcome);
      candidate.change((candidacy) -> ((Renew) entry.getValue()).after(candidacy, each, timing));
      if (problem != null && each == RenewalListener.Outcome.UNKNOWN) {
        failed.put(candidate, problem);
      }
    }
    if (problem != null) {
      Map<String, Long> remaining = Candidate.remaining(failed.keySet());
      this.context.log().renewedInPart(problem, remaining, timing.now());
    } else {
      this.context.log().renewedAll(timing.now());
    }
    terms.keySet().forEach((id) -> report(id, RenewalListener.Outcome.of(id, outcome), departure));
  }

  private void report(String serviceId, RenewalListener.Outcome outcome, Departure departure) {
    Duration duration = Duration.ofNanos(this.context.now() - departure.sent());
    this.answers.run(
        serviceId,
        "a listener of renewals",
        () -> this.context.renewals().onRenewal(serviceId, outcome, duration),
        "it has missed a renewal");
  }

  /**
   * Reads records with one call. Elections that are read together are read together again; the
   * first of them sets the time.
   */
  private void read(Read step, Set<Candidate> readers, Map<Candidate, Throwable> failed)
      throws LeaseStoreException {
    Set<String> ids = new LinkedHashSet<>();
    readers.forEach((candidate) -> ids.add(candidate.serviceId()));
    Departure departure = depart();
    Map<String, Reading> readings = answer(this.context.store().read(ids));
    Timing timing = departure.answered(this.context.clocks());
    Reading first = readings.get(ids.iterator().next());
    Duration age = first != null ? first.age() : Duration.ZERO;
    long nextPoll = this.polls.next(timing.sent(), timing.now(), age);
    for (Candidate candidate : readers) {
      String serviceId = candidate.serviceId();
      boolean applied = this.answers.run(
          serviceId,
          "the record as the " + this.context.store().name() + " store read it",
          () -> apply(step, candidate, readings.get(serviceId), nextPoll, timing),
          "this node does not act on it");
      if (!applied) {
        candidate.change((candidacy) -> candidacy.onFailure(step, timing.now()));
        failed.put(candidate, new LeaseStoreException("The record cannot be used"));
      }
    }
  }

  private void apply(
      Read step, Candidate candidate, @Nullable Reading answer, long nextPoll, Timing timing) {
    Optional<Reading> reading = Optional.ofNullable(answer);
    long turn = this.polls.turn(reading.map(Reading::ahead).orElse(0));
    Candidacy before = candidate.candidacy();
    Candidacy after = candidate.change((candidacy) -> step.after(candidacy, reading, timing)
        .pollAt(nextPoll)
        .afterOthers(turn, noticed(timing.now()), timing.now()));
    this.context.log().observed(candidate.serviceId(), before, after, timing.now());
  }

  /** Refuses an answer that no store may give. */
  private <T> T answer(@Nullable T answer) throws LeaseStoreException {
    if (answer == null) {
      throw new LeaseStoreException(
          "The %s store answered null. A LeaseStore must answer, or throw LeaseStoreException."
              .formatted(this.context.store().name()));
    }
    return answer;
  }

  /** Returns when a hand-back was noticed, if that was less than a renew interval ago. */
  private long noticed(long now) {
    Long noticed = this.noticedAt;
    long interval = this.node.settings().renewInterval().toNanos();
    return noticed != null && now - noticed < interval ? noticed : now;
  }

  private Departure depart() {
    return new Departure(this.context.clocks().read());
  }

  /** The instant before a request is sent, by both clocks. */
  private record Departure(Clocks.Reading reading) {

    long sent() {
      return this.reading.now();
    }

    Timing answered(Clocks clocks) {
      return new Timing(this.reading, clocks.read());
    }
  }
}
