package io.election;

import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * The leader that the sender of a command expects: the precondition of a
 * {@linkplain ElectionOperations#forceElection(AuditNote, ExpectedLeader) forced election}.
 *
 * @param leaderId its node id; {@code null} for any node
 * @param term its term; {@code null} for any term
 */
public record ExpectedLeader(
    @Nullable String leaderId, @Nullable Long term) {

  /**
   * Checks who leads.
   *
   * @param serviceId the name of the election
   * @param leaderId the leader; {@code null} if no node leads
   * @param term the term in which it leads; empty if no node leads
   * @throws OtherLeaderException if that is not the expected leader
   */
  public void require(String serviceId, @Nullable String leaderId, OptionalLong term) {
    boolean met = leaderId != null
        && (this.leaderId == null || this.leaderId.equals(leaderId))
        && (this.term == null || OptionalLong.of(this.term).equals(term));
    if (!met) {
      throw new OtherLeaderException(serviceId, leaderId, term);
    }
  }
}
