package io.election.lease;

import io.election.AuditNote;
import io.election.lease.State.Leader;
import io.election.lease.Step.Read;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStore.Reading;
import io.election.store.LeaseStoreException;
import io.election.store.SimulatedDatabase;
import java.time.Duration;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/**
 * The rules of production, as the simulation and the search call them. Every method forwards to
 * {@link Candidacy}; a mutant overrides one method and breaks it.
 */
class Rules {

  static final Rules PRODUCTION = new Rules();

  private static final AuditNote OPERATOR = new AuditNote("operator", "");

  record Access(SimulatedDatabase database, String token, LeaseStore store) {

    static Access of(SimulatedDatabase database, String token) {
      return new Access(database, token, database.new Store(token));
    }

    @Nullable
    LeaseRow row() {
      return this.database.row(Sent.SERVICE, this.token);
    }
  }

  Step next(Candidacy candidacy, long now, boolean working) {
    return candidacy.next(now, working);
  }

  boolean leads(Candidacy candidacy, long now, long wall) {
    return candidacy.state() instanceof Leader leader
        && leader.isValid(new Clocks.Reading(now, wall, 0));
  }

  /** Whether a process tells its application that it leads. */
  boolean leads(SimulatedProcess process) {
    return process.isStill()
        ? leads(process.candidacy(), process.monotonic(), process.wall())
        : process.service.isLeader();
  }

  Candidacy resigned(Candidacy candidacy, long now) {
    return candidacy.resign(null, now);
  }

  Candidacy paused(Candidacy candidacy, long now) {
    return candidacy.pause(OPERATOR, now);
  }

  Candidacy stopped(Candidacy candidacy, long now) {
    return candidacy.stop(now);
  }

  Candidacy answered(Candidacy candidacy, Step step, Object outcome, Timing timing) {
    return after(
        step instanceof Read
            ? read(candidacy, row(outcome), timing)
            : after((Step.Call<?>) step, candidacy, outcome, timing));
  }

  Candidacy read(Candidacy candidacy, @Nullable LeaseRow row, Timing timing) {
    Optional<Reading> reading =
        Optional.ofNullable(row).map((found) -> new Reading(found, Duration.ZERO));
    return new Read().after(candidacy, reading, timing);
  }

  @SuppressWarnings("unchecked")
  private static <R> Candidacy after(
      Step.Call<R> step, Candidacy candidacy, Object outcome, Timing timing) {
    return step.after(candidacy, (R) outcome, timing);
  }

  Candidacy failed(Candidacy candidacy, Step step, long now) {
    return after(candidacy.onFailure(step, now));
  }

  Candidacy after(Candidacy candidacy) {
    return candidacy;
  }

  /** Whether versions are compared for more than equality. */
  boolean comparesVersions() {
    return false;
  }

  Object execute(Sent call, Access access) throws LeaseStoreException {
    return call.execute(access.store());
  }

  /**
   * Returns the token that distinguishes a life of a process, also from those of one checkpoint.
   */
  String token(String checkpoint, String life) {
    return life;
  }

  static @Nullable LeaseRow row(Object outcome) {
    Object found = ((Optional<?>) outcome).orElse(null);
    return found instanceof Reading reading ? reading.row() : (LeaseRow) found;
  }
}
