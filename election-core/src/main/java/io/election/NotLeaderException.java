package io.election;

import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** Thrown when a {@link LeaderOnly} call is refused because this node is not the leader. */
public class NotLeaderException extends RuntimeException {

  private static final long serialVersionUID = 1L;

  private final String serviceId;

  private final @Nullable String leaderId;

  /**
   * Creates the exception.
   *
   * @param serviceId the name of the election
   * @param leaderId the last known leader, or {@code null} if none is known
   */
  public NotLeaderException(String serviceId, @Nullable String leaderId) {
    super("This node is not the leader of election '"
        + serviceId
        + "'; "
        + (leaderId != null ? "the leader is '" + leaderId + "'" : "no leader is known"));
    this.serviceId = serviceId;
    this.leaderId = leaderId;
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
   * Returns the leader that this node saw last.
   *
   * @return its node id; empty if none is known
   */
  public Optional<String> leaderId() {
    return Optional.ofNullable(this.leaderId);
  }
}
