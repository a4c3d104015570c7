package io.election;

import java.util.Map;
import java.util.Optional;

/**
 * The elections that this process takes part in, by name. All methods are local: none accesses the
 * store.
 *
 * <p>Thread-safe.
 */
public interface ElectionRegistry {

  /**
   * Returns an election by name.
   *
   * @param serviceId the name of the election
   * @return its service; empty if this process does not take part in that election
   */
  default Optional<ElectionService> find(String serviceId) {
    return Optional.ofNullable(all().get(serviceId));
  }

  /**
   * Returns all elections.
   *
   * @return the services by name, the default one first; unmodifiable. The auto-configured ones are
   *     {@link ElectionOperations}
   */
  Map<String, ElectionService> all();
}
