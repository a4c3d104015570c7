package io.election;

import org.jspecify.annotations.Nullable;

/**
 * The application or its database is set up in a way that the election cannot work with, and waiting does
 * not help. The message tells what was found and what to do.
 */
public final class ElectionSetupException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final String found;

  private final String remedy;

  /**
   * Creates the exception.
   *
   * @param found what is wrong, in one or more sentences
   * @param remedy what to do about it, in one or more sentences
   */
  public ElectionSetupException(String found, String remedy) {
    this(found, remedy, null);
  }

  /**
   * Creates the exception.
   *
   * @param found what is wrong, in one or more sentences
   * @param remedy what to do about it, in one or more sentences
   * @param cause the failure that showed it, or {@code null}
   */
  public ElectionSetupException(String found, String remedy, @Nullable Throwable cause) {
    super(found + "\n" + remedy, cause);
    this.found = found;
    this.remedy = remedy;
  }

  /**
   * What is wrong.
   *
   * @return one or more sentences that name the bean, table or property
   */
  public String found() {
    return this.found;
  }

  /**
   * What to do about it.
   *
   * @return one or more sentences, with SQL to run where that helps
   */
  public String remedy() {
    return this.remedy;
  }
}
