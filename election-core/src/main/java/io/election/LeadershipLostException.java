package io.election;

import org.jspecify.annotations.Nullable;

/**
 * Thrown when a transaction is rolled back because the term in which its work began has ended or
 * could not be confirmed: another node may lead by now.
 */
public class LeadershipLostException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final String serviceId;

  private final long term;

  /**
   * Creates the exception.
   *
   * @param serviceId the name of the election
   * @param nodeId the id of this node
   * @param term the term in which the work began
   * @param reason the finding, as the end of a sentence that begins with the term
   * @param cause why the term could not be confirmed; {@code null} if it has ended
   */
  public LeadershipLostException(
      String serviceId, String nodeId, long term, String reason, @Nullable Throwable cause) {
    super(
        "Term %s of node '%s' in election '%s' %s, so that its work is not committed"
            .formatted(term, nodeId, serviceId, reason),
        cause);
    this.serviceId = serviceId;
    this.term = term;
  }

  /**
   * Returns the name of the election.
   *
   * @return the name
   */
  public String serviceId() {
    return this.serviceId;
  }

  /**
   * Returns the term in which the work began.
   *
   * @return the term
   */
  public long term() {
    return this.term;
  }
}
