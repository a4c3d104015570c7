package io.election.autoconfigure.joint;

import io.election.ElectionService;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.StoreProblem;
import io.election.joint.JointElectionService;
import io.election.joint.JointElector;
import io.election.lease.RenewalListener;
import io.election.lease.StoreHealth;
import java.time.Duration;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;

/**
 * Runs elections by a list.
 *
 * @param names the names of the parts, in their order
 * @param sources the parts themselves
 * @param elector the elector, whose parts have the same order
 * @param lease the length of a lease
 */
record JointElectionBackend(
    List<String> names, PartSources sources, JointElector elector, Duration lease)
    implements ElectionBackend {

  /** Separates the names of the parts where they are shown. */
  static final String SEPARATOR = ", ";

  @Override
  public String algorithm() {
    return String.join(SEPARATOR, this.names);
  }

  @Override
  public String memberAlgorithm() {
    return String.join(SEPARATOR, this.elector.names());
  }

  @Override
  public ElectionService create(String serviceId) {
    return this.elector.create(serviceId);
  }

  @Override
  public void start(Collection<ElectionService> services) {
    this.sources.start();
    this.elector.start(services.stream()
        .filter(JointElectionService.class::isInstance)
        .map(JointElectionService.class::cast)
        .toList());
    services.forEach((service) -> this.sources.warnOfOtherNodeIds(service.nodeId()));
  }

  @Override
  public void stop() {
    try {
      this.elector.stop();
    } finally {
      this.sources.stop();
    }
  }

  @Override
  public boolean onRenewal(RenewalListener listener) {
    this.elector.onRenewal(listener);
    return true;
  }

  @Override
  public Optional<String> problem() {
    String problems = problems().values().stream()
        .flatMap(Optional::stream)
        .map(StoreProblem::text)
        .collect(Collectors.joining(" "));
    return problems.isEmpty() ? Optional.empty() : Optional.of(problems);
  }

  @Override
  public Map<String, String> parts() {
    Map<String, String> parts = new LinkedHashMap<>();
    problems()
        .forEach((name, problem) -> parts.put(
            name, problem.map((each) -> each.silent() ? "silent" : "failing").orElse("answers")));
    return parts;
  }

  /** Returns the problem with each part; empty if there is none, or if it is not running. */
  private Map<String, Optional<StoreProblem>> problems() {
    Map<String, StoreHealth> health = this.elector.storeHealth();
    Map<String, Optional<StoreProblem>> problems = new LinkedHashMap<>();
    for (int i = 0; i < this.names.size(); i++) {
      String name = this.names.get(i);
      StoreHealth each = health.get(this.elector.names().get(i));
      problems.put(
          name,
          each != null
              ? StoreProblem.of("part '%s'".formatted(name), each, this.lease)
              : Optional.empty());
    }
    return problems;
  }
}
