package io.election.store;

import io.election.AuditNote;
import io.election.LeadershipAcquiredEvent;
import java.time.Duration;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * A store for the leases of elections.
 *
 * <p>Every write changes {@link LeaseRow#version()}. Writes that take a {@link LeaseRow} are
 * compare-and-set operations: they happen only if the record is still what that row shows, in every
 * component. Each call ends within the time that the store was configured with. Calls are made by
 * one thread at a time, the elector's.
 *
 * <p>An acquisition and a renewal stamp the record as {@linkplain LeaseRow#own() own} by this very
 * store, and by no other. The stamp is no longer current after a write by anyone else, even by
 * statements that do not know the stamp. A renewal re-stamps a record only if the stamp was still
 * current. A store shared by several nodes must report no record as its own.
 *
 * <p>Every method throws {@link LeaseStoreException} if the outcome is unknown: the write may have
 * happened, may not have happened, and may still happen later.
 *
 * <p>A store that also implements {@link ElectionDirectory} can show members and past terms.
 */
public interface LeaseStore extends AutoCloseable {

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
   * @return the outcome for each election
   * @throws LeaseStoreException if the outcome is unknown for all elections
   */
  Renewals renew(String nodeId, Map<String, Long> terms) throws LeaseStoreException;

  /**
   * Creates the record of an election that has none, for a node that will {@link #acquire} the
   * lease later. The new term is above {@link Claim#aboveTerm()} and all terms in the history; the
   * lease is not shorter than the last one in the history. Ends the open terms of the history, as
   * displaced, and opens the new one.
   *
   * @param serviceId the election
   * @param claim the future holder and its minimum lease
   * @return the record as created; empty if one already exists
   * @throws LeaseStoreException if the outcome is unknown
   */
  Optional<LeaseRow> create(String serviceId, Claim claim) throws LeaseStoreException;

  /**
   * Changes only the version of the record, so that no other node sees it unchanged for long.
   *
   * @param serviceId the election
   * @param seen the record as last read
   * @return the record as it is now; empty if it was not as read
   * @throws LeaseStoreException if the outcome is unknown
   */
  Optional<LeaseRow> touch(String serviceId, LeaseRow seen) throws LeaseStoreException;

  /**
   * Acquires the lease of an election: writes the holder and its lease into the record.
   *
   * <p>If the reason of the claim is {@code CREATED}, the node has created the record, and begins
   * the term that {@link #create} opened. Otherwise it begins a new term, which is above the
   * record's term, all terms in the history, and {@link Claim#aboveTerm()}. The open terms of the
   * history then end, as released if the record was, otherwise as expired, and the new one opens.
   *
   * @param serviceId the election
   * @param seen the record as last read
   * @param claim the new holder, its lease, and why the election could be taken over
   * @return the term of the new holder; empty if the record was not as read, or the history has
   *     changed meanwhile: then nothing was changed, and the record should be read again
   * @throws RecordLockedException if the record is as read, but another process has it locked:
   *     nothing was changed. It may be another node that is just acquiring the lease
   * @throws LeaseStoreException if the outcome is unknown
   */
  OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim) throws LeaseStoreException;

  /**
   * Hands back a lease that this node holds, or cedes it to the node that an operator wrote into the
   * record of the term that this node held.
   *
   * @param serviceId the election
   * @param nodeId the id of this node
   * @param term the term that this node holds, or held until the record was edited
   * @param successor the next leader; empty for any node; {@code null} to cede to the node that the
   *     record names
   * @param ending why the term ended, which the history notes. It replaces what {@link #designate}
   *     has recorded, unless the node cedes and has no {@linkplain TermEnd#auditNote()
   *     instruction}
   * @return whether the record named this node (to cede: another node) in this term, which is
   *     the newest of the history and this node's, and the lease is now released; if {@code false},
   *     nothing was changed
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean release(
      String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending)
      throws LeaseStoreException;

  /**
   * Writes another holder into the record, as an operator would by hand; lease and term are
   * unchanged. If this ends a term, records the actor and the reason in the history, unless a lock
   * of another process prevents that.
   *
   * @param serviceId the election
   * @param leaderId the next leader; empty for any node
   * @param seen the record as last read; {@code null} to edit it whatever it is now
   * @param auditNote the actor and the reason; {@code null} if none were given
   * @return whether there is a record, which was as read if {@code seen} is given; if {@code false},
   *     nothing was changed
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean designate(
      String serviceId, String leaderId, @Nullable LeaseRow seen, @Nullable AuditNote auditNote)
      throws LeaseStoreException;

  /**
   * Watches the store for leases that other nodes hand back, from a thread of its own. A watch only
   * wakes: whatever it misses, the next regular read shows.
   *
   * @param nodeId the id of this node
   * @param wake wakes this node
   * @return the watch; closing it ends it
   */
  default Watch watch(String nodeId, Wake wake) {
    return () -> {};
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
   * @param age how long before the middle of the read the record was last written, by the clock of
   *     the store. Only a hint for the time of the next read, never for decisions; may be negative or
   *     absurd
   * @param ahead how many other candidates came before this node, if the record was handed back to
   *     any node: this node then lets them try first, for less than a renew interval, counted from
   *     when it has {@linkplain Wake#inTurn noticed} the hand-back or seen it. 0 if the store knows
   *     no order. Only a hint
   */
  record Reading(LeaseRow row, Duration age, int ahead) {

    /** Creates a reading. */
    public Reading {
      Objects.requireNonNull(row, "row");
      Objects.requireNonNull(age, "age");
    }

    /**
     * Creates a reading of a store that knows no order of the candidates.
     *
     * @param row the record
     * @param age how long ago the record was last written
     */
    public Reading(LeaseRow row, Duration age) {
      this(row, age, 0);
    }
  }

  /**
   * A node's claim to a lease.
   *
   * @param nodeId the id of the node
   * @param leaseMillis its lease, in milliseconds
   * @param aboveTerm a new term is greater than this
   * @param reason why the node may claim the lease, which the history notes
   */
  record Claim(
      String nodeId, long leaseMillis, long aboveTerm, LeadershipAcquiredEvent.Reason reason) {}

  /**
   * The outcome of a renewal. A lease in neither set is lost.
   *
   * @param renewed the elections whose record named this node in its term, was not released, and is
   *     now renewed
   * @param unknown the elections whose lease was not renewed as far as the store knows, and may
   *     still be held, for instance because another transaction keeps the record locked
   * @param problem why the outcome is unknown, and the remedy; empty if it is unknown for no
   *     election
   */
  record Renewals(Set<String> renewed, Set<String> unknown, String problem) {

    /** Creates an outcome. */
    public Renewals {
      Objects.requireNonNull(renewed, "renewed");
      Objects.requireNonNull(unknown, "unknown");
      Objects.requireNonNull(problem, "problem");
    }

    /**
     * Creates an outcome that is known for all elections.
     *
     * @param renewed the elections whose lease was renewed
     */
    public Renewals(Set<String> renewed) {
      this(renewed, Set.of(), "");
    }
  }

  /**
   * Wakes a node, when a {@linkplain #watch watch} has noticed a change. Throws nothing. If the
   * calling thread is interrupted, the methods return at once, with the interrupt flag set.
   */
  @FunctionalInterface
  interface Wake {

    /**
     * Reads the records of all elections that this node follows, and acts on them. Returns after
     * that, so that a store can wait for it before it wakes the next node.
     */
    void now();

    /**
     * Does the same later, less than a renew interval from now, because other candidates have come
     * before this node: they try first, and this node reads nothing before its turn. Returns once
     * that is noted.
     *
     * @param ahead how many there are; if there are none, this is {@link #now}
     */
    default void inTurn(int ahead) {
      now();
    }
  }

  /** A watch, until it is closed. */
  @FunctionalInterface
  interface Watch extends AutoCloseable {

    /** Ends the watch. May be called by any thread, and more than once. Never throws. */
    @Override
    void close();
  }
}
