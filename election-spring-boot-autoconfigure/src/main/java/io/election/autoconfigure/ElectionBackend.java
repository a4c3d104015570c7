package io.election.autoconfigure;

import io.election.ElectionService;
import java.util.Collection;
import java.util.Optional;

/**
 * Creates the services of one algorithm, and starts and stops them. Used within the
 * auto-configuration.
 */
public interface ElectionBackend {

  /** The phase in which elections start and stop, above the web server's graceful shutdown. */
  int PHASE = Integer.MAX_VALUE - 512;

  /**
   * The name of the algorithm, for display.
   *
   * @return the name
   */
  String algorithm();

  /**
   * Creates the service of an election. The service does not take part before {@link #start}.
   *
   * @param serviceId the name of the election
   * @return its service
   */
  ElectionService create(String serviceId);

  /**
   * Starts to take part in the elections of the given services, which this backend created.
   *
   * @param services the services
   */
  void start(Collection<ElectionService> services);

  /**
   * The problem that keeps this node from leading and from following, for display.
   *
   * @return the problem; empty if there is none
   */
  default Optional<String> problem() {
    return Optional.empty();
  }

  /**
   * Stops taking part in the elections once running leader work has ended. Another start may
   * follow.
   */
  void stop();
}
