package io.election.autoconfigure;

import io.election.ElectionService;
import java.util.Collection;
import java.util.Optional;

/** Makes the services of one algorithm, and drives them; for the parts of the auto-configuration. */
public interface ElectionDriver {

  /** The phase in which elections start and stop: above the web server's graceful shutdown. */
  int PHASE = Integer.MAX_VALUE - 512;

  /**
   * The name of the algorithm, for people.
   *
   * @return the name
   */
  String algorithm();

  /**
   * Makes the service of an election, which takes no part before {@link #start}.
   *
   * @param serviceId the name of the election
   * @return its service
   */
  ElectionService create(String serviceId);

  /**
   * Begins to take part in the elections whose services this has made.
   *
   * @param services the services
   */
  void start(Collection<ElectionService> services);

  /**
   * What keeps this node from leading or following, for people.
   *
   * @return the problem; empty if there is none
   */
  default Optional<String> problem() {
    return Optional.empty();
  }

  /** Ends it, when running leader work has ended, and leaves all clean for another start. */
  void stop();
}
