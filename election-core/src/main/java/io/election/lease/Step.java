package io.election.lease;

import io.election.LeadershipAcquiredEvent;
import io.election.lease.LeaseStore.Reading;
import java.util.LinkedHashMap;
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
  record Await(long until) implements Step {}

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
          candidacy.memory().highestTerm());
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
  record Renew(long term) implements Call<Boolean> {

    @Override
    public Boolean execute(LeaseStore store, Caller caller) throws LeaseStoreException {
      return executeAll(store, caller.nodeId(), Map.of(caller.serviceId(), this))
          .contains(caller.serviceId());
    }

    /** Renews the leases of elections with one call; returns those that were renewed. */
    static Set<String> executeAll(LeaseStore store, String nodeId, Map<String, Renew> renewals)
        throws LeaseStoreException {
      Map<String, Long> terms = new LinkedHashMap<>();
      renewals.forEach((serviceId, renewal) -> terms.put(serviceId, renewal.term()));
      return store.renew(nodeId, terms);
    }

    @Override
    public Candidacy after(Candidacy candidacy, Boolean answer, Timing timing) {
      return candidacy.onRenewed(this, answer, timing);
    }

    @Override
    public boolean isDone(Boolean answer) {
      return answer;
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
          caller.serviceId(), caller.nodeId(), this.leaseMillis, caller.highestTerm());
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
  record KeepWarm(LeaseRow row, long since) implements Call<Optional<LeaseRow>> {

    @Override
    public Optional<LeaseRow> execute(LeaseStore store, Caller caller) throws LeaseStoreException {
      return store.keepWarm(caller.serviceId(), this.row);
    }

    @Override
    public Candidacy after(Candidacy candidacy, Optional<LeaseRow> answer, Timing timing) {
      return candidacy.onKeptWarm(this, answer.orElse(null), timing.now());
    }

    @Override
    public boolean isDone(Optional<LeaseRow> answer) {
      return answer.isPresent();
    }
  }

  /**
   * Begin to lead in the term that this node's {@link Create} opened.
   *
   * @param row the record as last read
   */
  record Lead(LeaseRow row) implements Call<Boolean> {

    @Override
    public Boolean execute(LeaseStore store, Caller caller) throws LeaseStoreException {
      return store.lead(caller.serviceId(), this.row, caller.leaseMillis());
    }

    @Override
    public Candidacy after(Candidacy candidacy, Boolean answer, Timing timing) {
      return candidacy.onLed(this, answer, timing);
    }

    @Override
    public boolean isDone(Boolean answer) {
      return answer;
    }
  }

  /**
   * Take the election over with a new term.
   *
   * @param row the record as last read
   * @param reason why it may be taken over
   */
  record Take(LeaseRow row, LeadershipAcquiredEvent.Reason reason) implements Call<OptionalLong> {

    @Override
    public OptionalLong execute(LeaseStore store, Caller caller) throws LeaseStoreException {
      return store.take(
          caller.serviceId(),
          this.row,
          caller.nodeId(),
          caller.leaseMillis(),
          caller.highestTerm(),
          this.reason.name());
    }

    @Override
    public Candidacy after(Candidacy candidacy, OptionalLong answer, Timing timing) {
      return candidacy.onTaken(this, answer, timing);
    }

    @Override
    public boolean isDone(OptionalLong answer) {
      return answer.isPresent();
    }

    @Override
    public boolean isRace() {
      return true;
    }
  }

  /**
   * Hand the lease back.
   *
   * @param term the term held
   * @param successor the next leader; empty for any node
   * @param ending the reason, which the history notes
   */
  record Release(long term, String successor, Ending ending) implements Call<Boolean> {

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
  record GiveWay(long term, Ending ending) implements Call<Boolean> {

    @Override
    public Boolean execute(LeaseStore store, Caller caller) throws LeaseStoreException {
      return store.giveWay(caller.serviceId(), caller.nodeId(), this.term, this.ending);
    }

    @Override
    public Candidacy after(Candidacy candidacy, Boolean answer, Timing timing) {
      return candidacy.onGivenWay(this, answer, timing.now());
    }

    @Override
    public boolean isDone(Boolean answer) {
      return answer;
    }
  }
}
