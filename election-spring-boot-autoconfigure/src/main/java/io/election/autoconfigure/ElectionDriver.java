package io.election.autoconfigure;

import io.election.ElectionService;
import java.util.Collection;
import java.util.Optional;

/** What makes the services of one algorithm, and drives them. */
interface ElectionDriver {

  /** The name of the algorithm, for people. */
  String algorithm();

  /** Makes the service of an election, which takes no part before {@link #start}. */
  ElectionService create(String serviceId);

  /** Begins to take part in the elections whose services this has made. */
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
