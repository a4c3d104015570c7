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
 * Where the leases of elections are kept.
 *
 * <p>Every write changes {@link LeaseRow#version()}. Writes that take a {@link LeaseRow} are compare
 * and set: they happen only if the record still is what that row shows, in every component, {@linkplain
 * LeaseRow#lastTerm() that of the history} included. Each call
 * ends within the time the store was configured with, and is called by one thread at a time, the
 * elector's.
 *
 * <p>A take, a lead and a renewal seal the record: it is {@linkplain LeaseRow#own() own} to this very
 * store, and to no other, until anybody else writes to it, also by statements that know of no seal. A
 * renewal seals only what was sealed still. Who shares a store with other nodes must find nothing own.
 *
 * <p>Every method throws {@link LeaseStoreException} if the outcome is unknown: the write may have
 * happened, may not have, and may still happen later.
 */
public interface LeaseStore extends AutoCloseable {

  /** How many terms of an election are shown. */
  int HISTORY_LENGTH = 10;

  /**
   * The store's name in log lines, for instance {@code mysql}.
   *
   * @return the name
   */
  String name();

  /**
   * Reads the records of elections, with one request however many they are.
   *
   * @param serviceIds the elections
   * @return a reading for each election that has a record; an election without an entry has none
   * @throws LeaseStoreException if the records could not be read
   */
  Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException;

  /**
   * Renews leases that this node holds, with one request however many they are.
   *
   * @param nodeId this node
   * @param terms the term that this node holds in each election
   * @return the elections whose record named this node in that term, unreleased, and now is renewed;
   *     the lease of any other is lost
   * @throws PartialRenewalException if the outcome is unknown for some of them, and known for the
   *     others. A record that cannot be written must not keep others from being renewed
   * @throws LeaseStoreException if the outcome is unknown for any of them: then none counts
   */
  Set<String> renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException;

  /**
   * Creates the record of an election that has none, with a term above all in its history and a lease
   * no shorter than the last one in its history, ends the open terms of the history, as displaced, and
   * opens the new one.
   *
   * @param serviceId the election
   * @param nodeId the holder to be
   * @param leaseMillis the least lease
   * @param aboveTerm the new term is greater than this
   * @return the record as created; empty if there is one already
   * @throws LeaseStoreException if the outcome is unknown
   */
  Optional<LeaseRow> create(String serviceId, String nodeId, long leaseMillis, long aboveTerm)
      throws LeaseStoreException;

  /**
   * Changes nothing but the version and the time of the last write, so that nobody else sees the
   * record resting.
   *
   * @param serviceId the election
   * @param seen the record as last seen
   * @return the record as it is now; empty if it was not as seen
   * @throws LeaseStoreException if the outcome is unknown
   */
  Optional<LeaseRow> keepWarm(String serviceId, LeaseRow seen) throws LeaseStoreException;

  /**
   * Begins the leadership of a term that {@link #create} opened: sets the lease.
   *
   * @param serviceId the election
   * @param seen the record as last seen
   * @param leaseMillis the lease from now on
   * @return whether the record was as seen; {@code false}: nothing was changed
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean lead(String serviceId, LeaseRow seen, long leaseMillis) throws LeaseStoreException;

  /**
   * Takes an election over with a new term, which is above the record's, all in the history, and
   * {@code aboveTerm}. Ends the open terms of the history, as expired, or as released if the record
   * was, and opens the new one.
   *
   * @param serviceId the election
   * @param seen the record as last seen
   * @param nodeId the new holder
   * @param leaseMillis its lease
   * @param aboveTerm the new term is greater than this
   * @param reason why the election could be taken, for the history
   * @return the new term; empty if the record was not as seen, or somebody else has it locked, or the
   *     history moved meanwhile: then nothing was changed, and the record should be read again
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
   * @param nodeId this node
   * @param term the term it holds
   * @param successor who shall lead next; empty for anyone
   * @param ending why, for the history; it takes the place of what {@link #designate} has noted
   * @return whether the record named this node in this term, the newest of the history, and now is
   *     released; {@code false}: nothing was changed
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean release(String serviceId, String nodeId, long term, String successor, Ending ending)
      throws LeaseStoreException;

  /**
   * Gives way after an operator wrote another name into the record of a term that this node held:
   * releases the lease in favour of that name.
   *
   * @param serviceId the election
   * @param nodeId this node
   * @param term the term it held
   * @param ending why it ended, for the history; without an {@linkplain Ending#instruction()
   *     instruction} that which {@link #designate} has noted stays
   * @return whether the record named another node in this term, which the history has as its newest and
   *     as this node's, and now is released; {@code false}: nothing was changed
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean giveWay(String serviceId, String nodeId, long term, Ending ending)
      throws LeaseStoreException;

  /**
   * Writes another holder into the record, as an operator would by hand; lease and term stay. If that
   * ends a term, notes in the history who wanted it, as far as nobody holds up the note.
   *
   * @param serviceId the election
   * @param leaderId the node to lead; empty for anyone
   * @param instruction who wanted it; {@code null} if nobody said so
   * @return whether there is a record
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean designate(String serviceId, String leaderId, @Nullable Instruction instruction)
      throws LeaseStoreException;

  /**
   * Reads the histories of elections, with one request however many they are.
   *
   * @param serviceIds the elections
   * @return the last {@link #HISTORY_LENGTH} terms of each election that has a history, the newest first
   * @throws LeaseStoreException if they could not be read
   */
  Map<String, List<HistoryEntry>> history(Set<String> serviceIds) throws LeaseStoreException;

  /**
   * Deletes entries of the history that ended long ago, a bounded number at a time. A store that may not
   * does nothing.
   *
   * @param belowTerms the elections, each with a term that stays, as all above it do: that which this
   *     node leads in
   * @param retention how long ago, by the store's clock, the term has to have ended
   * @throws LeaseStoreException if the outcome is unknown
   */
  void prune(Map<String, Long> belowTerms, Duration retention) throws LeaseStoreException;

  /**
   * Gives a way to hear of leases that are handed back, for a thread of its own.
   *
   * @return a new signal, to be closed; empty if the store has none
   */
  default Optional<HandBackSignal> handBackSignal() {
    return Optional.empty();
  }

  /**
   * Lets go of the connection to the store, if there is one. Ends the life of the process that the store
   * writes for: nothing that it has written is {@linkplain LeaseRow#own() own} to it afterwards, and
   * none of its leases is renewed. It can be used again. Never throws.
   */
  @Override
  void close();

  /**
   * What a read shows of one election.
   *
   * @param row the record
   * @param age how long ago the record was last written, by the store's own clock. A hint for timing
   *     the next look, never for decisions; may be negative or absurd
   */
  record Reading(LeaseRow row, Duration age) {}
}
