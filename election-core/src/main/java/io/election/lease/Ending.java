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
}
