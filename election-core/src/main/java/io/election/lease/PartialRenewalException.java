package io.election.lease;

import java.util.Set;

/**
 * Thrown when the outcome of a renewal is unknown for some leases, for instance because another
 * transaction keeps their records locked. The outcome of the others is known.
 */
public class PartialRenewalException extends LeaseStoreException {

  private static final long serialVersionUID = 1L;

  private final transient Set<String> renewed;

  private final transient Set<String> undecided;

  /**
   * Creates the exception.
   *
   * @param message the problem and the remedy
   * @param renewed the elections whose lease was renewed
   * @param undecided the elections whose lease was not renewed and may still be held; the lease of
   *     an election in neither set is lost
   */
  public PartialRenewalException(String message, Set<String> renewed, Set<String> undecided) {
    super(message);
    this.renewed = Set.copyOf(renewed);
    this.undecided = Set.copyOf(undecided);
  }

  /**
   * Returns the elections whose lease was renewed.
   *
   * @return their names; unmodifiable
   */
  public Set<String> renewed() {
    return this.renewed;
  }

  /**
   * Returns the elections whose lease was not renewed and may still be held.
   *
   * @return their names; unmodifiable
   */
  public Set<String> undecided() {
    return this.undecided;
  }
}
