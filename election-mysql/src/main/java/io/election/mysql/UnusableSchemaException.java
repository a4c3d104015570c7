package io.election.mysql;

/**
 * The database cannot hold the leases as it is, and waiting does not help: a table of another shape,
 * a missing table that may not be made, missing rights, an unsupported product. The message tells
 * what was found and what to do.
 */
public final class UnusableSchemaException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final String found;
  private final String remedy;

  UnusableSchemaException(String found, String remedy) {
    super(found + "\n" + remedy);
    this.found = found;
    this.remedy = remedy;
  }

  UnusableSchemaException(String found, String remedy, Throwable cause) {
    super(found + "\n" + remedy, cause);
    this.found = found;
    this.remedy = remedy;
  }

  /**
   * What is wrong.
   *
   * @return one or more sentences that name the table or property, and what was found
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
