package io.election.store;

/**
 * Thrown when a call to the store fails. It is unknown whether a write took effect or still will.
 * The message is for operators: it states the problem and the remedy.
 */
public class LeaseStoreException extends Exception {

  private static final long serialVersionUID = 1L;

  /**
   * Creates the exception.
   *
   * @param message the problem and the remedy
   * @param cause the failure reported by the driver
   */
  public LeaseStoreException(String message, Throwable cause) {
    super(message, cause);
  }

  /**
   * Creates the exception without a cause.
   *
   * @param message the problem and the remedy
   */
  public LeaseStoreException(String message) {
    super(message);
  }

  /**
   * Returns a failure of a store for people: the message of an exception of this type, otherwise
   * also the type.
   *
   * @param failure any failure
   */
  public static String text(Throwable failure) {
    String message = failure.getMessage();
    return failure instanceof LeaseStoreException && message != null ? message : failure.toString();
  }
}
