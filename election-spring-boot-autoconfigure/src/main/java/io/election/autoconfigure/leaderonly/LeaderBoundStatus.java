package io.election.autoconfigure.leaderonly;

import java.time.Instant;
import org.jspecify.annotations.Nullable;

/**
 * What a leader-bound bean does.
 *
 * @param serviceId the name of its election
 * @param bean the name of the bean, or the id of the listener container
 * @param state "stopped", "starting", "running" or "stopping"
 * @param since when that began, by the wall clock
 * @param failure why it did not run last; {@code null} if it has never failed
 * @param problem why it does not run although this node leads; {@code null} if nothing has failed
 */
public record LeaderBoundStatus(
    String serviceId,
    String bean,
    String state,
    Instant since,
    @Nullable String failure,
    @Nullable String problem) {

  /** Whether the bean runs. */
  public boolean isRunning() {
    return this.state.equals("running");
  }
}
