package io.election.lease;

import io.election.Instruction;
import io.election.LeadershipLostEvent;
import org.jspecify.annotations.Nullable;

/**
 * Why a term ended, as the history notes it.
 *
 * @param reason why the leader of the term stepped down
 * @param instruction the actor and the reason of the command that caused it; {@code null} if there
 *     was none
 */
public record Ending(
    LeadershipLostEvent.Reason reason, @Nullable Instruction instruction) {

  static Ending of(LeadershipLostEvent.Reason reason) {
    return new Ending(reason, null);
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
