package io.election.store;

/**
 * Thrown by {@link LeaseStore#acquire} if another process keeps the record of an election locked:
 * nothing was written, and calls for other elections may succeed.
 */
public final class RecordLockedException extends LeaseStoreException {

  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message the election, and how to find out who holds the lock
   */
  public RecordLockedException(String message) {
    super(message);
  }
}
