package io.election.lease;

import io.election.LeadershipAcquiredEvent;

/** What a node does next in one election; all but {@link Await} are calls to the store. */
sealed interface Step {

  /**
   * Nothing before an instant of the {@link Ticker}.
   *
   * @param until the instant
   */
  record Await(long until) implements Step {}

  /** Read the record. */
  record Read() implements Step {}

  /**
   * Renew the lease.
   *
   * @param term the term held
   */
  record Renew(long term) implements Step {}

  /**
   * Create the record, which does not exist.
   *
   * @param leaseMillis the lease that a former leader may believe to have, at least
   */
  record Create(long leaseMillis) implements Step {}

  /**
   * Keep others from seeing the record rest.
   *
   * @param row the record as last seen
   * @param since when it was first seen so
   */
  record KeepWarm(LeaseRow row, long since) implements Step {}

  /**
   * Begin to lead in the term that this node's {@link Create} opened.
   *
   * @param row the record as last seen
   */
  record Lead(LeaseRow row) implements Step {}

  /**
   * Take the election over with a new term.
   *
   * @param row the record as last seen
   * @param reason why it may be taken
   */
  record Take(LeaseRow row, LeadershipAcquiredEvent.Reason reason) implements Step {}

  /**
   * Hand the lease back.
   *
   * @param term the term held
   * @param successor who shall lead next; empty for anyone
   * @param ending why, for the history
   */
  record Release(long term, String successor, Ending ending) implements Step {}

  /**
   * Release the record in favour of the node that an operator wrote into it.
   *
   * @param term the term that was held
   * @param ending why it ended, for the history
   */
  record GiveWay(long term, Ending ending) implements Step {}
}
