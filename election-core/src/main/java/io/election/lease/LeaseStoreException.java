package io.election.lease;

/**
 * A call to the store failed. Whether a write took effect, or still will, is unknown. The message is
 * for an operator: what was found, and what to do.
 */
public class LeaseStoreException extends Exception {

  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message what was found and what to do about it
   * @param cause the failure as the driver told it
   */
  public LeaseStoreException(String message, Throwable cause) {
    super(message, cause);
  }

  /**
   * Creates the exception.
   *
   * @param message what was found and what to do about it
   */
  public LeaseStoreException(String message) {
    super(message);
  }
}
