package io.election.lease;

import io.election.HistoryEntry;
import io.election.Instruction;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A store for the leases of elections.
 *
 * <p>Every write changes {@link LeaseRow#version()}. Writes that take a {@link LeaseRow} are
 * compare-and-set operations: they happen only if the record is still what that row shows, in every
 * component, including {@linkplain LeaseRow#lastTerm() that of the history}. Each call ends within
 * the time that the store was configured with. Calls are made by one thread at a time, the
 * elector's.
 *
 * <p>A take, a lead and a renewal stamp the record as {@linkplain LeaseRow#own() own} by this very
 * store, and by no other. The stamp is no longer current after a write by anyone else, even by
 * statements that do not know the stamp. A renewal re-stamps a record only if the stamp was still
 * current. A store shared by several nodes must report no record as its own.
 *
 * <p>Every method throws {@link LeaseStoreException} if the outcome is unknown: the write may have
 * happened, may not have happened, and may still happen later.
 */
public interface LeaseStore extends AutoCloseable {

  /** The maximum number of terms of an election that {@link #history} returns. */
  int HISTORY_LENGTH = 10;

  /**
   * Returns the store's name in log lines, for instance {@code mysql}.
   *
   * @return the name
   */
  String name();

  /**
   * Reads the records of elections, with one request for any number of elections.
   *
   * @param serviceIds the elections
   * @return a reading for each election that has a record; an election without an entry has no
   *     record
   * @throws LeaseStoreException if the records could not be read
   */
  Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException;

  /**
   * Renews leases that this node holds, with one request for any number of elections. A record that
   * cannot be written must not prevent the renewal of others.
   *
   * @param nodeId the id of this node
   * @param terms the term that this node holds in each election
   * @return the elections whose record named this node in that term, was not released, and is now
   *     renewed; the lease of every other election in {@code terms} is lost
   * @throws PartialRenewalException if the outcome is unknown for some elections, and known for the
   *     others
   * @throws LeaseStoreException if the outcome is unknown and the store cannot say for which
   *     elections: none counts as renewed
   */
  Set<String> renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException;

  /**
   * Creates the record of an election that has none. The new term is above {@code aboveTerm} and
   * all terms in the history; the lease is not shorter than the last one in the history. Ends the
   * open terms of the history, as displaced, and opens the new one.
   *
   * @param serviceId the election
   * @param nodeId the future holder
   * @param leaseMillis the minimum lease, in milliseconds
   * @param aboveTerm the new term is greater than this
   * @return the record as created; empty if one already exists
   * @throws LeaseStoreException if the outcome is unknown
   */
  Optional<LeaseRow> create(String serviceId, String nodeId, long leaseMillis, long aboveTerm)
      throws LeaseStoreException;

  /**
   * Changes only the version and the time of the last write, so that no other node sees the record
   * unchanged for long.
   *
   * @param serviceId the election
   * @param seen the record as last read
   * @return the record as it is now; empty if it was not as read
   * @throws LeaseStoreException if the outcome is unknown
   */
  Optional<LeaseRow> keepWarm(String serviceId, LeaseRow seen) throws LeaseStoreException;

  /**
   * Begins the leadership of a term that {@link #create} opened: sets the lease.
   *
   * @param serviceId the election
   * @param seen the record as last read
   * @param leaseMillis the lease from now on, in milliseconds
   * @return whether the record was as read; if {@code false}, nothing was changed
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean lead(String serviceId, LeaseRow seen, long leaseMillis) throws LeaseStoreException;

  /**
   * Takes an election over with a new term, which is above the record's term, all terms in the
   * history, and {@code aboveTerm}. Ends the open terms of the history, as released if the record
   * was, otherwise as expired, and opens the new one.
   *
   * @param serviceId the election
   * @param seen the record as last read
   * @param nodeId the new holder
   * @param leaseMillis its lease, in milliseconds
   * @param aboveTerm the new term is greater than this
   * @param reason why the election could be taken over, which the history notes
   * @return the new term; empty if the record was not as read, another process has it locked, or
   *     the history has changed meanwhile: then nothing was changed, and the record should be read
   *     again
   * @throws LeaseStoreException if the outcome is unknown
   */
  OptionalLong take(
      String serviceId,
      LeaseRow seen,
      String nodeId,
      long leaseMillis,
      long aboveTerm,
      String reason)
      throws LeaseStoreException;

  /**
   * Hands back a lease that this node holds.
   *
   * @param serviceId the election
   * @param nodeId the id of this node
   * @param term the term that this node holds
   * @param successor the next leader; empty for any node
   * @param ending the reason for the history; it replaces what {@link #designate} has recorded
   * @return whether the record named this node in this term, the newest of the history, and is now
   *     released; if {@code false}, nothing was changed
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean release(String serviceId, String nodeId, long term, String successor, Ending ending)
      throws LeaseStoreException;

  /**
   * Gives way after an operator wrote another node into the record of a term that this node held:
   * releases the lease in favour of that node.
   *
   * @param serviceId the election
   * @param nodeId the id of this node
   * @param term the term that this node held
   * @param ending why the term ended, which the history notes; if it has no
   *     {@linkplain Ending#instruction() instruction}, what {@link #designate} has recorded is kept
   * @return whether the record named another node in this term, the history has this term as its
   *     newest and as this node's, and the lease is now released; if {@code false}, nothing was
   *     changed
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean giveWay(String serviceId, String nodeId, long term, Ending ending)
      throws LeaseStoreException;

  /**
   * Writes another holder into the record, as an operator would by hand; lease and term are
   * unchanged. If this ends a term, records the actor and the reason in the history, unless a lock
   * of another process prevents that.
   *
   * @param serviceId the election
   * @param leaderId the next leader; empty for any node
   * @param instruction the actor and the reason; {@code null} if none were given
   * @return whether there is a record
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean designate(String serviceId, String leaderId, @Nullable Instruction instruction)
      throws LeaseStoreException;

  /**
   * Reads the histories of elections, with one request for any number of elections.
   *
   * @param serviceIds the elections
   * @return the last {@link #HISTORY_LENGTH} terms of each election that has a history, the newest
   *     first
   * @throws LeaseStoreException if they could not be read
   */
  Map<String, List<HistoryEntry>> history(Set<String> serviceIds) throws LeaseStoreException;

  /**
   * Deletes old entries of the history, a bounded number per call. Does nothing if the store lacks
   * the permission to delete.
   *
   * @param belowTerms the elections, each with the term in which this node leads; this term and all
   *     above it are kept
   * @param retention how long ago, by the clock of the store, a term must have ended to be deleted
   * @throws LeaseStoreException if the outcome is unknown
   */
  void prune(Map<String, Long> belowTerms, Duration retention) throws LeaseStoreException;

  /**
   * Creates a signal that reports hand-backs of leases, for use by a thread of its own.
   *
   * @return a new signal, which the caller must close; empty if the store does not support signals
   */
  default Optional<HandBackSignal> handBackSignal() {
    return Optional.empty();
  }

  /**
   * Closes the connection to the store, if there is one, and ends the current use of the store: no
   * record that it has written is {@linkplain LeaseRow#own() own} to it afterwards, and none of its
   * leases is renewed. The store can be used again. Never throws.
   */
  @Override
  void close();

  /**
   * The result of a read for one election.
   *
   * @param row the record
   * @param age how long ago the record was last written, by the clock of the store. Only a hint for
   *     the time of the next read, never for decisions; may be negative or absurd
   */
  record Reading(LeaseRow row, Duration age) {}
}
