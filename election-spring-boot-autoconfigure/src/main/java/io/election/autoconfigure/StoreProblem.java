package io.election.autoconfigure;

import io.election.store.StoreHealth;
import java.time.Duration;
import java.util.Optional;
import org.springframework.util.StringUtils;

/**
 * A problem with a store that has lasted longer than a lease; a shorter one has no effect. Used
 * within the auto-configuration.
 *
 * @param silent whether the store does not answer at all
 * @param text the problem, for display
 */
public record StoreProblem(boolean silent, String text) {

  /**
   * Returns the problem with a store.
   *
   * @param name the store, for display
   * @param health what its calls show
   * @param lease the length of a lease
   * @return the problem; empty if there is none
   */
  public static Optional<StoreProblem> of(String name, StoreHealth health, Duration lease) {
    if (health.silence().compareTo(lease) > 0) {
      return Optional.of(new StoreProblem(
          true,
          "No call to %s has succeeded for %s s. %s"
              .formatted(
                  name,
                  health.silence().toSeconds(),
                  health.failure() != null ? health.failure() : "A call to it has not returned.")));
    }
    return health.failing().compareTo(lease) > 0
        ? Optional.of(new StoreProblem(
            false,
            "%s answers, but some calls have failed for %s s. %s"
                .formatted(
                    StringUtils.capitalize(name), health.failing().toSeconds(), health.failure())))
        : Optional.empty();
  }
}
