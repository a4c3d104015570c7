package io.election.lease;

import java.util.Set;

/**
 * Some leases could neither be renewed nor be seen to be lost, for instance because another
 * transaction keeps their records locked. The outcome of the others is known.
 */
public class PartialRenewalException extends LeaseStoreException {

  private static final long serialVersionUID = 1L;

  private final transient Set<String> renewed;

  private final transient Set<String> undecided;

  /**
   * Creates the exception.
   *
   * @param message what was found and what to do about it
   * @param renewed the elections whose lease was renewed
   * @param undecided the elections whose lease was not renewed and may still be held; the lease of
   *     any that is in neither set is lost
   */
  public PartialRenewalException(String message, Set<String> renewed, Set<String> undecided) {
    super(message);
    this.renewed = Set.copyOf(renewed);
    this.undecided = Set.copyOf(undecided);
  }

  /**
   * The elections whose lease was renewed.
   *
   * @return their names
   */
  public Set<String> renewed() {
    return this.renewed;
  }

  /**
   * The elections whose lease was not renewed and may still be held.
   *
   * @return their names
   */
  public Set<String> undecided() {
    return this.undecided;
  }
}
