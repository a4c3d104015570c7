package io.election.store;

import io.election.AuditNote;
import io.election.LeadershipLostEvent;
import org.jspecify.annotations.Nullable;

/**
 * Why a term ended, as the history notes it.
 *
 * @param reason why the leader of the term stepped down
 * @param auditNote the actor and the reason of the command that caused it; {@code null} if there
 *     was none
 */
public record TermEnd(
    LeadershipLostEvent.Reason reason, @Nullable AuditNote auditNote) {

  /**
   * Creates the end of a term without an instruction.
   *
   * @param reason why the leader stepped down
   */
  public static TermEnd of(LeadershipLostEvent.Reason reason) {
    return new TermEnd(reason, null);
  }

  /**
   * Returns why a term ended whose end was not recorded, as far as the record shows it.
   *
   * @param seen the record that was taken over
   * @return {@code RELEASED} if the lease was handed back, otherwise {@code EXPIRED}
   */
  public static String asFound(LeaseRow seen) {
    return seen.isReleased() ? "RELEASED" : LeadershipLostEvent.Reason.EXPIRED.name();
  }
}
