package io.election.lease;

import io.election.Instruction;
import io.election.LeadershipLostEvent;
import org.jspecify.annotations.Nullable;

/**
 * Why a term ended, for the history.
 *
 * @param reason why its leader stepped down
 * @param instruction who wanted that; {@code null} if nobody said so
 */
public record Ending(
    LeadershipLostEvent.Reason reason, @Nullable Instruction instruction) {

  static Ending of(LeadershipLostEvent.Reason reason) {
    return new Ending(reason, null);
  }

  /**
   * Tells why a term ended whose end nobody has noted, as far as the record shows.
   *
   * @param seen the record that was taken
   * @return {@code RELEASED} if it was handed back, else {@code EXPIRED}
   */
  public static String asFound(LeaseRow seen) {
    return seen.isReleased() ? "RELEASED" : LeadershipLostEvent.Reason.EXPIRED.name();
  }
}
