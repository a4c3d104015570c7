package io.election.autoconfigure.actuate;

import io.election.ElectionService;
import io.election.autoconfigure.ElectionBackend;
import io.election.autoconfigure.Elections;
import io.election.autoconfigure.leaderonly.LeaderBoundBeans;
import org.springframework.boot.health.contributor.AbstractHealthIndicator;
import org.springframework.boot.health.contributor.Health;

/**
 * Reports {@code DOWN} while this node can neither lead nor follow, and {@code UP} otherwise. A
 * follower is as healthy as a leader. Does not call the store.
 */
final class ElectionHealthIndicator extends AbstractHealthIndicator {

  private final Elections elections;

  private final ElectionBackend backend;

  private final LeaderBoundBeans beans;

  ElectionHealthIndicator(Elections elections, ElectionBackend backend, LeaderBoundBeans beans) {
    super("The health of the election could not be determined");
    this.elections = elections;
    this.backend = backend;
    this.beans = beans;
  }

  @Override
  protected void doHealthCheck(Health.Builder builder) {
    ElectionDescriber.problem(this.elections, this.backend, this.beans)
        .ifPresentOrElse(
            (problem) -> builder.down().withDetail("problem", problem), () -> builder.up());
    builder.withDetail("algorithm", this.backend.algorithm());
    if (!this.backend.parts().isEmpty()) {
      builder.withDetail("parts", this.backend.parts());
    }
    this.elections.all().forEach((name, service) -> builder.withDetail(name, part(service)));
  }

  private static String part(ElectionService service) {
    if (service.isLeader()) {
      return "leader";
    }
    return ElectionDescriber.paused(service).isPresent() ? "paused" : "follower";
  }
}
