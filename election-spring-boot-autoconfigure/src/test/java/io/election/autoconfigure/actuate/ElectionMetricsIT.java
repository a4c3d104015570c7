package io.election.autoconfigure.actuate;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.awaitility.Awaitility.await;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.leaderonly.LeaderOnlyAutoConfiguration;
import io.election.autoconfigure.mysql.MysqlElectionAutoConfiguration;
import io.election.test.TestDatabase;
import io.micrometer.core.instrument.Meter;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.Timer;
import io.micrometer.core.instrument.search.Search;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import org.junit.jupiter.api.Test;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import reactor.core.publisher.Mono;

/** The meters of a node on a real database. */
class ElectionMetricsIT {

  private static final Duration LONG = Duration.ofSeconds(30);

  private final TestDatabase database = TestDatabase.newDatabase();

  private final ApplicationContextRunner application = new ApplicationContextRunner()
      .withConfiguration(AutoConfigurations.of(
          ElectionAutoConfiguration.class,
          MysqlElectionAutoConfiguration.class,
          ElectionMetricsAutoConfiguration.class,
          LeaderOnlyAutoConfiguration.class,
          DataSourceAutoConfiguration.class))
      .withPropertyValues(
          "spring.application.name=orders",
          "as.election.node-id=a",
          "as.election.lease-duration=3s",
          "as.election.renew-interval=500ms",
          "spring.datasource.url=" + this.database.jdbcUrl(),
          "spring.datasource.username=" + this.database.username(),
          "spring.datasource.password=" + this.database.password());

  @Test
  void gaugesAreThereFromTheStartAndCountersSinceSomethingHasHappened() {
    this.application.withBean(SimpleMeterRegistry.class).withBean(Job.class).run((context) -> {
      MeterRegistry registry = context.getBean(MeterRegistry.class);
      ElectionService election = context.getBean(ElectionService.class);
      assertThat(names(registry))
          .containsExactly(
              "election.calls.running",
              "election.healthy",
              "election.leader",
              "election.lease.remaining",
              "election.renewal.age",
              "election.term");
      context.getBean(Job.class).run();
      context.getBean(Job.class).runAsync();
      context.getBean(Job.class).runReactively().block();
      assertThat(calls(registry, "run", "skipped")).isEqualTo(1);
      assertThat(calls(registry, "runAsync", "skipped")).isEqualTo(1);
      assertThat(calls(registry, "runReactively", "skipped")).isEqualTo(1);
      assertThat(registry.get("election.leader").gauge().value()).isZero();

      await().atMost(LONG).until(election::isLeader);
      assertThat(registry.get("election.leader").gauge().value()).isEqualTo(1);
      assertThat(registry.get("election.healthy").gauge().value()).isEqualTo(1);
      assertThat(registry.get("election.term").gauge().value()).isEqualTo(1);
      assertThat(registry.get("election.lease.remaining").gauge().value()).isBetween(0.0, 2.94);
      assertThat(registry.get("election.renewal.age").gauge().value()).isBetween(0.0, 2.94);
      await()
          .atMost(LONG)
          .until(() -> registry
                  .get("election.renewals")
                  .tag("outcome", "confirmed")
                  .timer()
                  .count()
              > 0);
      await()
          .atMost(LONG)
          .until(() -> transitions(registry).tag("reason", "created").counter().count() == 1);
      context
          .getBean(Job.class)
          .running(() ->
              assertThat(registry.get("election.calls.running").gauge().value()).isEqualTo(1));
      context.getBean(Job.class).run();
      assertThat(registry.get("election.calls.running").gauge().value()).isZero();
      assertThat(calls(registry, "run", "ran")).isEqualTo(1);
      assertThat(calls(registry, "run", "failed")).isZero();
      context.getBean(Job.class).running(() -> {
        throw new IllegalStateException("failed");
      });
      assertThatIllegalStateException().isThrownBy(context.getBean(Job.class)::run);
      CompletableFuture<Void> end = context.getBean(Job.class).runAsync();
      assertThat(calls(registry, "runAsync", "ran")).isZero();
      end.completeExceptionally(new IllegalStateException("failed later"));
      assertThatIllegalStateException()
          .isThrownBy(() -> context.getBean(Job.class).runReactively().block());
      assertThat(calls(registry, "run", "ran")).isEqualTo(1);
      assertThat(calls(registry, "run", "failed")).isEqualTo(1);
      assertThat(calls(registry, "runAsync", "failed")).isEqualTo(1);
      assertThat(calls(registry, "runReactively", "failed")).isEqualTo(1);
      assertThat(names(registry))
          .contains(
              "election.calls",
              "election.calls.interrupted",
              "election.fence.rejections",
              "election.renewals",
              "election.transitions");
      assertThat(registry.getMeters())
          .filteredOn((meter) -> meter.getId().getName().startsWith("election."))
          .allSatisfy((meter) -> {
            assertThat(meter.getId().getTag("election")).isEqualTo("orders");
            assertThat(meter.getId().getTags())
                .noneMatch((tag) -> tag.getValue().equals("a"));
            assertThat(meter.getId().getDescription()).isNotBlank();
          });

      election.lostLeader();
      await()
          .atMost(LONG)
          .until(() -> transitions(registry).tag("reason", "resigned").counter().count() == 1);
      assertThat(registry.get("election.lease.remaining").gauge().value()).isZero();
    });
  }

  @Test
  void withoutMicrometerThereIsNoneOfIt() {
    this.application
        .withClassLoader(new FilteredClassLoader(MeterRegistry.class))
        .run((context) -> assertThat(context).hasNotFailed().doesNotHaveBean("electionMetrics"));
  }

  private static long calls(MeterRegistry registry, String method, String outcome) {
    Timer timer = registry
        .find("election.calls")
        .tags("method", "Job." + method, "outcome", outcome)
        .timer();
    return timer != null ? timer.count() : 0;
  }

  private static Search transitions(MeterRegistry registry) {
    return registry.find("election.transitions");
  }

  private static Set<String> names(MeterRegistry registry) {
    Set<String> names = new TreeSet<>();
    for (Meter meter : registry.getMeters()) {
      names.add(meter.getId().getName());
    }
    return names;
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
