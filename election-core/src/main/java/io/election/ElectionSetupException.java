package io.election;

import org.jspecify.annotations.Nullable;

/**
 * The setup of the application or its database prevents the election from working, and a retry does
 * not help. The message states the problem and the remedy.
 */
public final class ElectionSetupException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final String found;

  private final String remedy;

  /**
   * Creates the exception without a cause.
   *
   * @param found the problem, in one or more sentences
   * @param remedy the remedy, in one or more sentences
   */
  public ElectionSetupException(String found, String remedy) {
    this(found, remedy, null);
  }

  /**
   * Creates the exception.
   *
   * @param found the problem, in one or more sentences
   * @param remedy the remedy, in one or more sentences
   * @param cause the failure that revealed the problem, or {@code null}
   */
  public ElectionSetupException(String found, String remedy, @Nullable Throwable cause) {
    super(found + "\n" + remedy, cause);
    this.found = found;
    this.remedy = remedy;
  }

  /**
   * Returns the problem.
   *
   * @return one or more sentences that name the bean, table or property
   */
  public String found() {
    return this.found;
  }

  /**
   * Returns the remedy.
   *
   * @return one or more sentences, with SQL to run if that helps
   */
  public String remedy() {
    return this.remedy;
  }
}
