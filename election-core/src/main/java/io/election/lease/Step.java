package io.election.lease;

import io.election.LeadershipAcquiredEvent;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStore.Claim;
import io.election.store.LeaseStore.Reading;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import io.election.store.Ticker;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;

/** The next step of a node in one election: wait, or call the store. */
sealed interface Step {

  /**
   * Do nothing before an instant of the {@link Ticker}.
   *
   * @param until the instant
   */
  record Wait(long until) implements Step {}

  /**
   * A call to the store, which defines how it is made and what follows from its answer.
   *
   * @param <R> the type of the answer
   */
  sealed interface Call<R> extends Step {

    /** Makes the call; throws if the outcome is unknown. */
    R execute(LeaseStore store, Caller caller) throws LeaseStoreException;

    /** Returns the candidacy after the answer. */
    Candidacy after(Candidacy candidacy, R answer, Timing timing);

    /** Returns whether the store did what was requested. */
    boolean isDone(R answer);

    /** Returns whether another process was faster if the store did not do it. */
    default boolean isRace() {
      return false;
    }
  }

  /**
   * The caller of the store.
   *
   * @param serviceId the election
   * @param nodeId the id of this node
   * @param leaseMillis its lease, in milliseconds
   * @param highestTerm the highest term that it has seen
   */
  record Caller(String serviceId, String nodeId, long leaseMillis, long highestTerm) {

    static Caller of(String serviceId, Candidacy candidacy) {
      return new Caller(
          serviceId,
          candidacy.node().id(),
          candidacy.node().settings().leaseDuration().toMillis(),
          candidacy.remembered().highestTerm());
    }

    Claim claim(long leaseMillis, LeadershipAcquiredEvent.Reason reason) {
      return new Claim(this.nodeId, leaseMillis, this.highestTerm, reason);
    }
  }

  /** Read the record. */
  record Read() implements Call<Optional<Reading>> {

    @Override
    public Optional<Reading> execute(LeaseStore store, Caller caller) throws LeaseStoreException {
      return Optional.ofNullable(store.read(Set.of(caller.serviceId())).get(caller.serviceId()));
    }

    @Override
    public Candidacy after(Candidacy candidacy, Optional<Reading> answer, Timing timing) {
      return candidacy.onRead(answer.map(Reading::row).orElse(null), timing.now());
    }

    @Override
    public boolean isDone(Optional<Reading> answer) {
      return true;
    }
  }

  /**
   * Renew the lease.
   *
   * @param term the term held
   */
  record Renew(long term) implements Call<RenewalListener.Outcome> {

    @Override
    public RenewalListener.Outcome execute(LeaseStore store, Caller caller)
        throws LeaseStoreException {
      return RenewalListener.Outcome.of(
          caller.serviceId(), store.renew(caller.nodeId(), Map.of(caller.serviceId(), this.term)));
    }

    @Override
    public Candidacy after(Candidacy candidacy, RenewalListener.Outcome answer, Timing timing) {
      return answer == RenewalListener.Outcome.UNKNOWN
          ? candidacy.onFailure(this, timing.now())
          : candidacy.onRenewed(this, answer == RenewalListener.Outcome.CONFIRMED, timing);
    }

    @Override
    public boolean isDone(RenewalListener.Outcome answer) {
      return answer == RenewalListener.Outcome.CONFIRMED;
    }
  }

  /**
   * Create the record, which does not exist.
   *
   * @param leaseMillis the minimum lease that a former leader may rely on, in milliseconds
   */
  record Create(long leaseMillis) implements Call<Optional<LeaseRow>> {

    @Override
    public Optional<LeaseRow> execute(LeaseStore store, Caller caller) throws LeaseStoreException {
      return store.create(
          caller.serviceId(),
          caller.claim(this.leaseMillis, LeadershipAcquiredEvent.Reason.CREATED));
    }

    @Override
    public Candidacy after(Candidacy candidacy, Optional<LeaseRow> answer, Timing timing) {
      return candidacy.onCreated(answer.orElse(null), timing.now());
    }

    @Override
    public boolean isDone(Optional<LeaseRow> answer) {
      return answer.isPresent();
    }

    @Override
    public boolean isRace() {
      return true;
    }
  }

  /**
   * Change the record, so that other nodes do not see it unchanged for long.
   *
   * @param row the record as last read
   * @param since when it was first seen in this state
   */
  record Touch(LeaseRow row, long since) implements Call<Optional<LeaseRow>> {

    @Override
    public Optional<LeaseRow> execute(LeaseStore store, Caller caller) throws LeaseStoreException {
      return store.touch(caller.serviceId(), this.row);
    }

    @Override
    public Candidacy after(Candidacy candidacy, Optional<LeaseRow> answer, Timing timing) {
      return candidacy.onTouched(this, answer.orElse(null), timing.now());
    }

    @Override
    public boolean isDone(Optional<LeaseRow> answer) {
      return answer.isPresent();
    }
  }

  /**
   * Acquire the lease: with a new term, or with the term that this node's {@link Create} opened.
   *
   * @param row the record as last read
   * @param reason why it may be acquired
   */
  record Acquire(LeaseRow row, LeadershipAcquiredEvent.Reason reason)
      implements Call<OptionalLong> {

    @Override
    public OptionalLong execute(LeaseStore store, Caller caller) throws LeaseStoreException {
      return store.acquire(
          caller.serviceId(), this.row, caller.claim(caller.leaseMillis(), this.reason));
    }

    @Override
    public Candidacy after(Candidacy candidacy, OptionalLong answer, Timing timing) {
      return candidacy.onAcquired(this, answer, timing);
    }

    @Override
    public boolean isDone(OptionalLong answer) {
      return answer.isPresent();
    }

    @Override
    public boolean isRace() {
      return this.reason != LeadershipAcquiredEvent.Reason.CREATED;
    }
  }

  /**
   * Hand the lease back.
   *
   * @param term the term held
   * @param successor the next leader; empty for any node
   * @param ending the reason, which the history notes
   */
  record Release(long term, String successor, TermEnd ending) implements Call<Boolean> {

    @Override
    public Boolean execute(LeaseStore store, Caller caller) throws LeaseStoreException {
      return store.release(
          caller.serviceId(), caller.nodeId(), this.term, this.successor, this.ending);
    }

    @Override
    public Candidacy after(Candidacy candidacy, Boolean answer, Timing timing) {
      return candidacy.onReleased(this, answer, timing.now());
    }

    @Override
    public boolean isDone(Boolean answer) {
      return answer;
    }
  }

  /**
   * Release the record in favour of the node that an operator wrote into it.
   *
   * @param term the term that was held
   * @param ending why it ended, which the history notes
   */
  record Cede(long term, TermEnd ending) implements Call<Boolean> {

    @Override
    public Boolean execute(LeaseStore store, Caller caller) throws LeaseStoreException {
      return store.release(caller.serviceId(), caller.nodeId(), this.term, null, this.ending);
    }

    @Override
    public Candidacy after(Candidacy candidacy, Boolean answer, Timing timing) {
      return candidacy.onCeded(this, answer, timing.now());
    }

    @Override
    public boolean isDone(Boolean answer) {
      return answer;
    }
  }
}
