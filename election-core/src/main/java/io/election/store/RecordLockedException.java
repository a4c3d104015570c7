package io.election.store;

/**
 * Thrown by {@link LeaseStore#acquire} if another process keeps the record of an election locked:
 * nothing was written, and calls for other elections may succeed.
 */
public final class RecordLockedException extends LeaseStoreException {

  private static final long serialVersionUID = 1L;

  private final boolean again;

  /**
   * Creates the exception.
   *
   * @param message the election, and how to find out who holds the lock
   */
  public RecordLockedException(String message) {
    this(message, false);
  }

  RecordLockedException(String message, boolean again) {
    super(message);
    this.again = again;
  }

  /** Returns whether the store itself has found the record unchanged and locked before. */
  public boolean isAgain() {
    return this.again;
  }
}
