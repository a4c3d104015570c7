package io.election.autoconfigure.actuate;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static io.election.autoconfigure.MysqlNode.patiently;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import io.election.AuditNote;
import io.election.ElectionOperations;
import io.election.LeaderOnly;
import io.election.autoconfigure.MysqlNode;
import io.election.support.TestDatabase;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.distribution.ValueAtPercentile;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import reactor.core.publisher.Mono;

/** The meters of a node on a real database. */
@ExtendWith(OutputCaptureExtension.class)
class ElectionMetricsIT {

  private final ApplicationContextRunner application = MysqlNode.on(TestDatabase.newDatabase());

  @Test
  void nothingIsRegisteredAgainWhenTheContextRestarts(CapturedOutput output) {
    this.application.withBean(SimpleMeterRegistry.class).run((context) -> {
      awaitLeader(context);
      for (int i = 0; i < 3; i++) {
        context.stop();
        context.start();
        awaitLeader(context);
      }
      assertThat(gauge(context.getBean(MeterRegistry.class), "leader")).isEqualTo(1);
    });
    assertThat(output).doesNotContain("already registered", "has been registered");
  }

  @Test
  void gaugesAreThereFromTheStartAndCountersSinceSomethingHasHappened() {
    this.application.withBean(SimpleMeterRegistry.class).withBean(Job.class).run((context) -> {
      MeterRegistry registry = context.getBean(MeterRegistry.class);
      ElectionOperations election = context.getBean(ElectionOperations.class);
      Job job = context.getBean(Job.class);
      assertThat(names(registry))
          .containsExactly(
              "election.calls.running",
              "election.candidates",
              "election.healthy",
              "election.leader",
              "election.lease.duration",
              "election.lease.remaining",
              "election.members",
              "election.operation.timeout",
              "election.paused",
              "election.renewal.age",
              "election.term");
      job.run();
      job.runAsync();
      job.runReactively().block();
      for (String method : List.of("run", "runAsync", "runReactively")) {
        assertThat(calls(registry, method, "skipped")).isEqualTo(1);
      }
      assertThat(gauge(registry, "leader")).isZero();

      awaitLeader(context);
      assertThat(gauge(registry, "leader")).isEqualTo(1);
      assertThat(gauge(registry, "healthy")).isEqualTo(1);
      assertThat(gauge(registry, "term")).isEqualTo(1);
      assertThat(gauge(registry, "lease.duration")).isEqualTo(2);
      assertThat(gauge(registry, "operation.timeout")).isEqualTo(0.7);
      assertThat(gauge(registry, "lease.remaining")).isBetween(0.0, 1.96);
      assertThat(gauge(registry, "renewal.age")).isBetween(0.0, 1.96);
      patiently().until(() -> count(registry, "renewals", "outcome", "confirmed") > 0);
      assertThat(registry
              .get("election.renewals")
              .tag("outcome", "confirmed")
              .timer()
              .takeSnapshot()
              .percentileValues())
          .extracting(ValueAtPercentile::percentile)
          .containsExactly(0.99);
      patiently().until(() -> count(registry, "transitions", "reason", "created") == 1);
      job.running(() -> assertThat(gauge(registry, "calls.running")).isEqualTo(1));
      job.run();
      assertThat(gauge(registry, "calls.running")).isZero();
      assertThat(calls(registry, "run", "ran")).isEqualTo(1);
      assertThat(calls(registry, "run", "failed")).isZero();
      job.running(() -> {
        throw new IllegalStateException("failed");
      });
      assertThatIllegalStateException().isThrownBy(job::run);
      CompletableFuture<Void> end = job.runAsync();
      assertThat(calls(registry, "runAsync", "ran")).isZero();
      end.completeExceptionally(new IllegalStateException("failed later"));
      assertThatIllegalStateException().isThrownBy(() -> job.runReactively().block());
      assertThat(calls(registry, "run", "ran")).isEqualTo(1);
      for (String method : List.of("run", "runAsync", "runReactively")) {
        assertThat(calls(registry, method, "failed")).isEqualTo(1);
      }
      assertThat(names(registry))
          .contains(
              "election.calls",
              "election.calls.interrupted",
              "election.fence.rejections",
              "election.renewals",
              "election.transitions");
      assertThat(registry.getMeters()).extracting(Meter::getId).allSatisfy((id) -> {
        assertThat(id.getTag("election")).isEqualTo("orders");
        assertThat(id.getTags())
            .as("labels that a scraped target adds")
            .noneMatch((tag) ->
                tag.getValue().equals("a") || Set.of("service", "node").contains(tag.getKey()));
        if (id.syntheticAssociation() == null) {
          assertThat(id.getDescription()).isNotBlank();
        }
      });

      patiently().until(() -> gauge(registry, "candidates") == 1);
      assertThat(gauge(registry, "paused")).isZero();
      election.pause(new AuditNote("alice", ""));
      assertThat(gauge(registry, "paused")).isEqualTo(1);
      patiently().until(() -> gauge(registry, "candidates") == 0);
      election.resume(new AuditNote("alice", ""));
      assertThat(gauge(registry, "paused")).isZero();
      patiently().until(() -> gauge(registry, "candidates") == 1);
      patiently().until(election::isLeader);

      election.lostLeader();
      patiently().until(() -> count(registry, "transitions", "reason", "resigned") == 1);
      assertThat(gauge(registry, "lease.remaining")).isZero();
    });
  }

  @Test
  void withoutMicrometerThereIsNoneOfIt() {
    this.application
        .withClassLoader(new FilteredClassLoader(MeterRegistry.class))
        .run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean("electionMetrics"));
  }

  private static double gauge(MeterRegistry registry, String name) {
    return registry.get("election." + name).gauge().value();
  }

  private static double calls(MeterRegistry registry, String method, String outcome) {
    return count(registry, "calls", "method", "Job." + method, "outcome", outcome);
  }

  private static double count(MeterRegistry registry, String name, String... tags) {
    Meter meter = registry.find("election." + name).tags(tags).meter();
    return meter != null ? meter.measure().iterator().next().getValue() : 0;
  }

  private static Set<String> names(MeterRegistry registry) {
    return registry.getMeters().stream()
        .map((meter) -> meter.getId().getName())
        .collect(Collectors.toCollection(TreeSet::new));
  }

  static class Job {

    private volatile Runnable running = () -> {};

    /** A setter, since the proxy has its own fields. */
    void running(Runnable running) {
      this.running = running;
    }

    @LeaderOnly
    public void run() {
      this.running.run();
    }

    @LeaderOnly
    public CompletableFuture<Void> runAsync() {
      return new CompletableFuture<>();
    }

    @LeaderOnly
    public Mono<Void> runReactively() {
      return Mono.fromRunnable(() -> this.running.run());
    }
  }
}
