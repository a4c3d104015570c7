package io.election;

import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/** Thrown if another node leads than a command expects, or in another term. Nothing was changed. */
public final class OtherLeaderException extends IllegalStateException {

  private static final long serialVersionUID = 1L;

  private final @Nullable String leaderId;

  private final @Nullable Long term;

  /**
   * Creates the exception.
   *
   * @param serviceId the name of the election
   * @param leaderId the leader; {@code null} if no node leads
   * @param term its term; empty if no node leads
   */
  public OtherLeaderException(String serviceId, @Nullable String leaderId, OptionalLong term) {
    super(
        leaderId == null
            ? "no node leads election '%s' now".formatted(serviceId)
            : "election '%s' is led by '%s' in term %s, which is not the expected leader"
                .formatted(serviceId, Names.printable(leaderId), term.orElse(0)));
    this.leaderId = leaderId;
    this.term = term.isPresent() ? term.getAsLong() : null;
  }

  /**
   * Returns the leader.
   *
   * @return its node id; empty if no node leads
   */
  public Optional<String> leaderId() {
    return Optional.ofNullable(this.leaderId);
  }

  /**
   * Returns the term of the leader.
   *
   * @return the term; empty if no node leads
   */
  public OptionalLong term() {
    return this.term != null ? OptionalLong.of(this.term) : OptionalLong.empty();
  }
}
