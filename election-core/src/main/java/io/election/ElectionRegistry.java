package io.election;

import java.util.Map;
import java.util.Optional;

/**
 * All elections that this process takes part in, by name. Local: none of the methods asks a store.
 *
 * <p>Safe for use by any thread.
 */
public interface ElectionRegistry {

  /**
   * Finds an election.
   *
   * @param serviceId its name
   * @return its service; empty if this process takes no part in such an election
   */
  default Optional<ElectionService> find(String serviceId) {
    return Optional.ofNullable(all().get(serviceId));
  }

  /**
   * Lists the elections.
   *
   * @return the services by name, the default one first; cannot be changed
   */
  Map<String, ElectionService> all();
}
