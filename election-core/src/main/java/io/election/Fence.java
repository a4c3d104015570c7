package io.election;

/**
 * Binds the work of a thread to the term in which it began, so that what it writes is refused once
 * that term has ended. {@link LeaderOnly} calls are bound by the fence of their application.
 *
 * <p>Implementations are thread-safe.
 */
public interface Fence {

  /**
   * Returns whether the work of an election can be bound here.
   *
   * @param election the election
   * @return whether {@link #bind} must be called for its work
   */
  boolean appliesTo(ElectionService election);

  /**
   * Binds what this thread does until the result is closed.
   *
   * @param election the election that this node leads
   * @param term the term in which the work began
   * @return to be closed by this thread when it leaves the work; before that of work around it
   */
  Bound bind(ElectionService election, long term);

  /**
   * Returns how often work of an election was refused because its term had ended.
   *
   * @param serviceId the name of the election
   * @return the count since the start
   */
  long rejections(String serviceId);

  /** The work of a thread while it is bound to its term. */
  interface Bound extends AutoCloseable {

    /** Ends the binding. Never throws. */
    @Override
    void close();
  }
}
