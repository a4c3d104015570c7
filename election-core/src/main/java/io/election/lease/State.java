package io.election.lease;

import io.election.LeadershipLostEvent;
import io.election.lease.Clocks.Reading;
import io.election.store.LeaseRow;
import io.election.store.TermEnd;
import io.election.store.Ticker;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** The standing of a node in one election. Instants are readings of the {@link Ticker}. */
sealed interface State {

  /** Returns the term that the node leads in, or has led in and not handed back; empty if none. */
  default OptionalLong heldTerm() {
    return OptionalLong.empty();
  }

  /**
   * Returns for how many nanoseconds the lease still protects leader work; 0 if none is protected.
   */
  default long protectedFor(Reading reading) {
    return 0;
  }

  /**
   * Watches the record and waits for an opening.
   *
   * @param seen the record as last read; {@code null} if it must be read first
   * @param shared whether another process writes under this node's id: if both kept the record warm
   *     against each other, they would wait forever
   */
  record Follower(@Nullable Observation seen, boolean shared) implements State {

    /** Returns the standing of a node that must read the record first. */
    static Follower unread() {
      return new Follower(null, false);
    }

    /** Returns the standing of a node that must read the record again. */
    Follower outdated() {
      return new Follower(this.seen != null ? this.seen.outdated() : null, this.shared);
    }
  }

  /**
   * The record names this node, which does not lead yet: it keeps changing the record until no
   * other node can be leading any more.
   *
   * @param row the record as this node left it
   * @param since when this node first saw the record in this state, apart from its own changes
   * @param created whether this node created the record: then it leads in the record's term, in
   *     which no node has led before
   */
  record Claimant(LeaseRow row, long since, boolean created) implements State {}

  /**
   * Leads.
   *
   * @param tenure the leadership
   * @param deadline when it ends unless a renewal is confirmed before
   */
  record Leader(Tenure tenure, Deadline deadline) implements State {

    long term() {
      return this.tenure.term();
    }

    @Override
    public OptionalLong heldTerm() {
      return OptionalLong.of(term());
    }

    @Override
    public long protectedFor(Reading reading) {
      return this.tenure.isOver() ? 0 : this.deadline.remaining(reading);
    }

    Draining stepDown(
        String successor, boolean displaced, TermEnd ending, long drainUntil, long now) {
      boolean stopped = ending.reason() == LeadershipLostEvent.Reason.STOPPED;
      return new Draining(
          term(), this.deadline, drainUntil, now, successor, displaced, ending, stopped);
    }

    boolean isValid(Reading reading) {
      return protectedFor(reading) > 0;
    }
  }

  /**
   * No longer leads, waits for leader work to end, then hands the lease back.
   *
   * @param term the term that has ended
   * @param deadline until when the lease covers the work that still runs
   * @param drainUntil when the lease is handed back even if work still runs, unless {@code patient}
   * @param successor the next leader; empty for any node
   * @param retryAt the lease is not handed back before this instant, because an attempt has just
   *     failed
   * @param displaced whether the record already names another node, so that there is nothing to
   *     renew
   * @param ending why the leadership ended
   * @param patient whether the lease is kept as long as work runs: after a stop, until a command
   *     follows
   */
  record Draining(
      long term,
      Deadline deadline,
      long drainUntil,
      long retryAt,
      String successor,
      boolean displaced,
      TermEnd ending,
      boolean patient)
      implements State {

    @Override
    public OptionalLong heldTerm() {
      return OptionalLong.of(this.term);
    }

    @Override
    public long protectedFor(Reading reading) {
      // A part that no longer names this node may name another one, whatever the lease says.
      return this.displaced || staysCandidate()
          ? 0
          : Math.max(
              Math.min(this.deadline.remaining(reading), this.drainUntil - reading.now()), 0);
    }

    /**
     * Returns whether the node may lead again at once: it was not asked to let another node lead.
     */
    boolean staysCandidate() {
      return this.successor.isEmpty()
          && this.ending.reason() == LeadershipLostEvent.Reason.HANDED_OVER;
    }

    /** Returns whether the lease is kept for running work. */
    boolean drains(long now) {
      return (this.patient && !this.displaced) || now - this.drainUntil < 0;
    }

    /**
     * Applies a command: waits for work for at most the drain timeout since the leadership ended.
     */
    Draining commanded(String successor, TermEnd ending) {
      return new Draining(
          this.term,
          this.deadline,
          this.drainUntil,
          this.retryAt,
          successor,
          this.displaced,
          ending,
          false);
    }

    Draining renewed(Deadline deadline) {
      return new Draining(
          this.term,
          deadline,
          this.drainUntil,
          this.retryAt,
          this.successor,
          this.displaced,
          this.ending,
          this.patient);
    }

    Draining retryAt(long retryAt) {
      return new Draining(
          this.term,
          this.deadline,
          this.drainUntil,
          retryAt,
          this.successor,
          this.displaced,
          this.ending,
          this.patient);
    }

    Draining displacedByAnother() {
      return new Draining(
          this.term,
          this.deadline,
          this.drainUntil,
          this.retryAt,
          this.successor,
          true,
          this.ending,
          this.patient);
    }
  }
}
