package io.election.autoconfigure;

import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.lease.RenewalListener;
import java.util.Collection;
import java.util.Map;
import java.util.Optional;

/**
 * Creates the services of one algorithm, and starts and stops them. Used within the
 * auto-configuration.
 */
public interface ElectionBackend {

  /** The phase in which elections start and stop, above the web server's graceful shutdown. */
  int PHASE = Integer.MAX_VALUE - 512;

  /** The bean that starts and stops the elections of a context. */
  String LIFECYCLE = "electionLifecycle";

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
  ElectionOperations create(String serviceId);

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
   * The algorithm as the members of an election show it.
   *
   * @return the name of the store, or those of all parts of a list; empty if no members are known
   */
  default String memberAlgorithm() {
    return "";
  }

  /**
   * The parts of a list that a leader must all hold, for display.
   *
   * @return "answers", "silent" or "failing" for each part, by its name; empty without a list
   */
  default Map<String, String> parts() {
    return Map.of();
  }

  /**
   * Sets the listener that is notified of the renewals of leases from now on.
   *
   * @param listener the listener, which replaces the previous one
   * @return whether there are leases
   */
  default boolean onRenewal(RenewalListener listener) {
    return false;
  }

  /**
   * Stops taking part in the elections once running leader work has ended. Another start may
   * follow.
   */
  void stop();
}
