package io.election.test;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * The edits of a record that operators make by hand, without regard for versions: no method changes a component that
 * it does not name.
 */
public interface ManualEdits {

  /**
   * Replaces the record by a statement that names the time of the last write, long ago, and so
   * results in the same record each time.
   */
  void replace(String serviceId, String leaderId, @Nullable Long leaseMillis);

  /** Copies the record of an election, word for word, over that of another one. */
  void copy(String from, String to);

  /** Writes another holder. */
  void setLeader(String serviceId, String leaderId);

  /** Writes another term. */
  void setTerm(String serviceId, long term);

  /** Writes another version. */
  void setVersion(String serviceId, long version);

  /** Writes another lease; {@code null} means unknown. */
  void setLease(String serviceId, @Nullable Long leaseMillis);

  /** Changes the time of the last write. */
  void touch(String serviceId);

  /** Sets the time of the last write back by whole seconds. */
  void setBack(String serviceId, Duration by);

  /** Deletes the record. */
  void delete(String serviceId);

  /** Adds an open term to the history. */
  void insertTerm(String serviceId, long term, String leaderId, long leaseMillis);

  /** Ends a term in the past, whole seconds ago. */
  void endTerm(String serviceId, long term, Duration ago);

  /** Deletes all terms of the history. */
  void deleteHistory(String serviceId);

  /** Reads the terms of an election, the oldest first. */
  List<Term> history(String serviceId);

  /**
   * An entry of the history.
   *
   * @param term the term
   * @param leaderId the node that led
   * @param leaseMillis its lease
   * @param open whether it has not ended
   * @param reason why the election could be taken
   * @param endReason why it ended; {@code null} if not recorded
   * @param endedBy who ended it; {@code null} if not recorded
   * @param note the reason in the words of that person; {@code null} if not recorded
   */
  record Term(
      long term,
      String leaderId,
      long leaseMillis,
      boolean open,
      String reason,
      @Nullable String endReason,
      @Nullable String endedBy,
      @Nullable String note) {}
}
