package io.election.autoconfigure;

import java.time.Duration;
import java.time.temporal.ChronoUnit;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.convert.DurationUnit;
import org.springframework.core.env.Environment;

/**
 * Settings of leader election. Durations without a unit are seconds.
 *
 * @param enabled Whether there is an election at all. If not, this process counts as leader; for tests
 *     and single nodes.
 * @param exposeEndpoint Whether to expose the leader endpoint over HTTP beside health, unless
 *     'management.endpoints.web.exposure.include' is set.
 * @param algorithm How the leader is found: 'Mysql', 'ManualAllocation', or the name of a LeaseStore bean
 *     of the application, with or without 'LeaseStore' at its end.
 * @param serviceId Name of the default election, up to 128 characters. Defaults to
 *     'spring.application.name'.
 * @param services Names of further elections that this node takes part in.
 * @param nodeId Name of this node, unique to the process, up to 128 characters. Defaults to
 *     'host:port:pid', without the port if there is no web server.
 * @param leaseDuration How long a leader may go on without a confirmed renewal.
 * @param renewInterval How often a leader renews and a follower looks. At most a third of the lease.
 * @param operationTimeout Bound of one call to the store.
 * @param eligible Whether this node may lead.
 * @param drainTimeout How long a stop waits for running leader work before it lets the shutdown go on,
 *     and a command (designate, force, pause) before the lease is handed back all the same. Defaults to
 *     'spring.lifecycle.timeout-per-shutdown-phase' less one second.
 * @param historyRetention How long the history keeps terms that have ended. The last one stays.
 * @param failFast Whether a store that is out of reach at start-up ends the start. If not, the node
 *     starts as a follower and joins later.
 * @param manual Settings of manual allocation.
 * @param mysql Settings of election by MySQL or MariaDB.
 */
@ConfigurationProperties("as.election")
public record ElectionProperties(
    @DefaultValue("true") boolean enabled,
    @DefaultValue("true") boolean exposeEndpoint,
    @DefaultValue("Mysql") List<String> algorithm,
    @Nullable String serviceId,
    @DefaultValue List<String> services,
    @Nullable String nodeId,
    @DefaultValue("10s") @DurationUnit(ChronoUnit.SECONDS) Duration leaseDuration,
    @DefaultValue("2s") @DurationUnit(ChronoUnit.SECONDS) Duration renewInterval,
    @DefaultValue("1s") @DurationUnit(ChronoUnit.SECONDS) Duration operationTimeout,
    @DefaultValue("true") boolean eligible,
    @Nullable @DurationUnit(ChronoUnit.SECONDS) Duration drainTimeout,
    @DefaultValue("30d") @DurationUnit(ChronoUnit.SECONDS) Duration historyRetention,
    @DefaultValue("false") boolean failFast,
    @DefaultValue Manual manual,
    @DefaultValue Mysql mysql) {

  /** The drain time-out that applies: by default Spring's own patience with a phase of the shutdown. */
  Duration drainTimeout(Environment environment) {
    if (this.drainTimeout != null) {
      return this.drainTimeout;
    }
    Duration patience = Binder.get(environment)
        .bind("spring.lifecycle.timeout-per-shutdown-phase", Duration.class)
        .orElse(Duration.ofSeconds(30))
        .minusSeconds(1);
    return patience.isNegative() ? Duration.ZERO : patience;
  }

  /**
   * Settings of manual allocation.
   *
   * @param leaderId The allocated leader: its node id, 'host:port', host name or IP address. A host
   *     without a port allocates every node on it.
   */
  public record Manual(@Nullable String leaderId) {}

  /**
   * Settings of election by MySQL or MariaDB.
   *
   * @param schema What becomes of the tables at start-up.
   * @param commitFence Whether transactions of leader-only calls on the election's database commit only
   *     in the term in which they began.
   * @param handBackSignals Whether followers wait by GET_LOCK for a leader to hand its lease back, on a
   *     second connection. If not, or if the database refuses it, they notice it within 1.6 renew intervals.
   */
  public record Mysql(
      @DefaultValue("migrate") SchemaMode schema,
      @DefaultValue("true") boolean commitFence,
      @DefaultValue("true") boolean handBackSignals) {

    /** What becomes of the tables at start-up. */
    public enum SchemaMode {
      /** Create or upgrade them with Flyway, apart from the application's own migrations. */
      MIGRATE,
      /** Check them, and change nothing. */
      VALIDATE,
      /** Leave them alone. */
      NONE
    }
  }
}
