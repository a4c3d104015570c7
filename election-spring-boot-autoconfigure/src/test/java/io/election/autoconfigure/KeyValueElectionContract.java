package io.election.autoconfigure;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static io.election.autoconfigure.MysqlNode.patiently;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.ElectionService;
import io.election.LeaderOnly;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.store.LeaseStore;
import io.election.store.MemoryLeaseStore;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.springframework.boot.autoconfigure.AutoConfigurations;
import org.springframework.boot.autoconfigure.ssl.SslAutoConfiguration;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.test.context.FilteredClassLoader;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** What an application gets from any store that is no database, without JDBC. */
@ExtendWith(OutputCaptureExtension.class)
public abstract class KeyValueElectionContract {

  protected static final String PASSWORD = "correct-horse";

  private static final Duration LEASE = Duration.ofSeconds(4);

  private final String algorithm;

  private final String prefix;

  /** The properties of a server that does not exist, with a user. */
  private final String[] nowhere;

  private final ApplicationContextRunner application;

  /**
   * Creates the contract of a store.
   *
   * @param nowhere the property of the store that names a server that does not exist
   */
  protected KeyValueElectionContract(String algorithm, String nowhere) {
    this.algorithm = algorithm;
    this.prefix = "as.election." + algorithm.toLowerCase(Locale.ROOT) + ".";
    this.nowhere = new String[] {
      this.prefix + nowhere, this.prefix + "username=app", this.prefix + "password=" + PASSWORD
    };
    this.application = new ApplicationContextRunner()
        .withClassLoader(new FilteredClassLoader(
            "io.election.jdbc", "org.springframework.boot.jdbc", "javax.sql"))
        .withConfiguration(MysqlNode.STARTER)
        .withBean(MeterRegistry.class, SimpleMeterRegistry::new)
        .withBean(Job.class)
        .withPropertyValues(
            "spring.application.name=orders",
            "as.election.algorithm=" + algorithm,
            "as.election.lease-duration=" + LEASE.toMillis() + "ms",
            "as.election.renew-interval=1s",
            "as.election.operation-timeout=1s",
            "management.endpoints.web.exposure.include=leader")
        .withConfiguration(AutoConfigurations.of(SslAutoConfiguration.class));
  }

  /** The properties of a real server, with an empty place of its own for each test. */
  protected abstract String[] server();

  protected ApplicationContextRunner node(String id, String... properties) {
    return this.application
        .withPropertyValues("as.election.node-id=" + id)
        .withPropertyValues(properties);
  }

  protected String failure(String... properties) {
    return StartFailure.text(node("a", properties));
  }

  /**
   * Asserts that a start is refused, and shows no password.
   *
   * @param settings properties of the store, separated by semicolons
   * @param texts what the failure says, separated by semicolons; begins with a property
   */
  protected void assertRefused(@Nullable String settings, String texts) {
    String[] properties = settings == null
        ? new String[0]
        : Stream.of(settings.split("; ", -1)).map(this.prefix::concat).toArray(String[]::new);
    assertThat(failure(properties))
        .contains((this.prefix + texts).split("; ", -1))
        .doesNotContain(PASSWORD);
  }

  @Test
  void storeOfTheApplicationReplacesOurs() {
    MemoryLeaseStore own = new MemoryLeaseStore();
    node("a")
        .withBean(
            this.algorithm.toLowerCase(Locale.ROOT) + "LeaseStore", LeaseStore.class, () -> own)
        .run((context) -> assertThat(context.getBean(LeaseStore.class)).isSameAs(own));
  }

  @Test
  void oneOfTwoNodesLeadsAndHandsOverWhenItStops(CapturedOutput output) {
    String[] server = server();
    node("a", server).run((first) -> {
      long term = awaitLeader(first).term().orElseThrow();
      String become = "become leader by " + this.algorithm.toLowerCase(Locale.ROOT);
      patiently().until(() -> output.getAll().contains(become));
      assertThat(first.getBean(Job.class).run()).isEqualTo("ran");
      assertThat(first.getBean(HealthIndicator.class).health().getStatus()).isEqualTo(Status.UP);
      assertThat(
              first.getBean(MeterRegistry.class).get("election.leader").gauge().value())
          .isEqualTo(1);
      node("b", server).run((second) -> {
        ElectionService election = second.getBean(ElectionService.class);
        patiently().until(() -> election.leaderId().isPresent());
        assertThat(second.getBean(Job.class).run()).isNull();
        assertThat(new EndpointAccess(second).elections())
            .containsEntry("algorithm", this.algorithm)
            .extracting("elections")
            .asString()
            .contains("orders", "leader=false", "leaderId=a", "term=" + term);
        EndpointAccess endpoint = new EndpointAccess(second);
        patiently()
            .untilAsserted(() -> assertThat(endpoint.election("orders"))
                .containsEntry("candidates", List.of("a", "b")));
        assertThat(endpoint.depose("orders", "a", term + 1).getBody())
            .containsEntry("leaderId", "a")
            .containsEntry("term", term);
        first.close();
        long closed = System.nanoTime();
        patiently().until(election::isLeader);
        assertThat(Duration.ofNanos(System.nanoTime() - closed)).isLessThan(LEASE);
        assertThat(election.term().orElseThrow()).isGreaterThan(term);
        assertThat(second.getBean(Job.class).run()).isEqualTo("ran");
      });
    });
  }

  @Test
  void serverThatCannotBeReachedMakesAFollower(CapturedOutput output) {
    node("a", this.nowhere).run((context) -> {
      assertThat(context).hasNotFailed();
      patiently().until(() -> output.getAll().contains("127.0.0.1:1"));
      assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
      assertThat(context.getBean(ElectionProperties.class).toString()).doesNotContain(PASSWORD);
    });
    assertThat(output).doesNotContain(PASSWORD);
  }

  @Test
  void serverThatCannotBeReachedEndsAStartThatNeedsIt(CapturedOutput output) {
    assertThat(StartFailure.text(
            node("a", this.nowhere).withPropertyValues("as.election.fail-fast=true")))
        .contains("127.0.0.1:1", "as.election.fail-fast=false")
        .doesNotContain(PASSWORD);
    assertThat(output).doesNotContain(PASSWORD);
  }

  /** Public, so that the filtered class loader sees it too. */
  public static class Job {

    @LeaderOnly
    public @Nullable String run() {
      return "ran";
    }
  }
}
