package io.election.autoconfigure.settings;

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
 * @param enabled Whether to elect a leader. If not, this process counts as leader, which suits
 *     tests and single nodes.
 * @param exposeEndpoint Whether to expose the leader endpoint over HTTP beside health, unless
 *     'management.endpoints.web.exposure.include' is set.
 * @param algorithm Name of the election algorithm: 'Mysql', 'Postgresql', 'Zookeeper', 'Etcd',
 *     'ManualAllocation', or the name of a LeaseStore bean of the application, with or without the
 *     suffix 'LeaseStore'. Or a list of them, and of names of ElectionService beans: a leader must
 *     hold all. By default 'Postgresql' if that is the database, else 'Mysql'.
 * @param serviceId Name of the default election, up to 128 characters. Defaults to
 *     'spring.application.name'.
 * @param services Names of further elections in which this node takes part.
 * @param nodeId Name of this node, unique to the process, up to 128 characters. Defaults to
 *     'host:port:pid', without the port if there is no web server.
 * @param label What all nodes of one environment call themselves, for instance 'production': shown
 *     with the members, and a warning if they differ. Up to 128 characters.
 * @param leaseDuration How long a leader may continue without a confirmed renewal. At most one
 *     hour.
 * @param renewInterval How often a leader renews its lease and followers poll it. At most a third
 *     of the lease duration.
 * @param operationTimeout How long one call to the store may take.
 * @param eligible Whether this node may lead.
 * @param holdBack How long this node holds back when an election is open, so that others can lead,
 *     for instance 2s in a second data centre. At most one hour.
 * @param drainTimeout How long a stop waits for running leader work before the shutdown continues,
 *     and how long a command (designate, force, pause) waits before the lease is handed back
 *     anyway. At most one day. Defaults to 'spring.lifecycle.timeout-per-shutdown-phase' less one
 *     second.
 * @param historyRetention How long the history keeps ended terms, from one hour to 36500 days. The
 *     newest term of an election is always kept.
 * @param failFast Whether to fail the start if the store is unreachable. If not, the node starts as
 *     a follower and joins later.
 * @param leaderBound Settings of what runs where the leader is.
 * @param integrationEvents Whether to publish changes of leadership as Spring Integration's events
 *     too, with the name of the election as the role.
 * @param manual Settings of manual allocation.
 * @param mysql Settings of election by MySQL or MariaDB.
 * @param postgresql Settings of election by PostgreSQL.
 * @param zookeeper Settings of election by ZooKeeper.
 * @param etcd Settings of election by etcd.
 */
@ConfigurationProperties("as.election")
public record ElectionProperties(
    @DefaultValue("true") boolean enabled,
    @DefaultValue("true") boolean exposeEndpoint,
    @DefaultValue("Mysql") List<String> algorithm,
    @Nullable String serviceId,
    @DefaultValue List<String> services,
    @Nullable String nodeId,
    @Nullable String label,
    @DefaultValue("10s") @DurationUnit(ChronoUnit.SECONDS) Duration leaseDuration,
    @DefaultValue("2s") @DurationUnit(ChronoUnit.SECONDS) Duration renewInterval,
    @DefaultValue("1s") @DurationUnit(ChronoUnit.SECONDS) Duration operationTimeout,
    @DefaultValue("true") boolean eligible,
    @DefaultValue("0s") @DurationUnit(ChronoUnit.SECONDS) Duration holdBack,
    @Nullable @DurationUnit(ChronoUnit.SECONDS) Duration drainTimeout,
    @DefaultValue("30d") @DurationUnit(ChronoUnit.SECONDS) Duration historyRetention,
    @DefaultValue("false") boolean failFast,
    @DefaultValue LeaderBound leaderBound,
    @DefaultValue("false") boolean integrationEvents,
    @DefaultValue Manual manual,
    @DefaultValue Jdbc mysql,
    @DefaultValue Jdbc postgresql,
    @DefaultValue Zookeeper zookeeper,
    @DefaultValue Etcd etcd) {

  /**
   * The effective drain time-out. The default derives from Spring's time-out for a shutdown phase.
   */
  public Duration drainTimeout(Environment environment) {
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
   * Settings of what runs where the leader is.
   *
   * @param listeners Ids of the containers of annotated listeners that run on the leader alone,
   *     such as 'orders' for @KafkaListener(id = "orders"). 'orders@billing' follows the election
   *     'billing'.
   * @param startTimeout How long a leader may be without a leader-bound bean that fails to start or
   *     ends by itself, before it hands the leadership on. At most one day.
   */
  public record LeaderBound(
      @DefaultValue List<String> listeners,
      @DefaultValue("1m") @DurationUnit(ChronoUnit.SECONDS) Duration startTimeout) {}

  /**
   * Settings of manual allocation.
   *
   * @param leaderId Name of the allocated leader: its node id, 'host:port', host name or IP
   *     address. A host without a port allocates every node on that host.
   */
  public record Manual(@Nullable String leaderId) {}

  /**
   * Settings of election in a relational database.
   *
   * @param schema How to prepare the tables at start-up.
   * @param commitFence Whether transactions of leader-only calls on the election's database commit
   *     only in the term in which they began.
   * @param handBackSignals Whether followers wait on a second connection, in GET_LOCK or LISTEN, for
   *     a leader to hand its lease back. If not, or if the database refuses it, they notice the
   *     hand-back within 1.6 renew intervals.
   */
  public record Jdbc(
      @DefaultValue("migrate") SchemaMode schema,
      @DefaultValue("true") boolean commitFence,
      @DefaultValue("true") boolean handBackSignals) {

    /** How to prepare the tables at start-up. */
    public enum SchemaMode {
      /** Create or upgrade the tables (on MySQL with Flyway), apart from the application's own migrations. */
      MIGRATE,
      /** Check the tables without changing them. */
      VALIDATE,
      /** Neither check nor change the tables. */
      NONE
    }
  }

  /**
   * Settings of election by ZooKeeper.
   *
   * @param connectString Host and port of each server, separated by commas, and optionally the path
   *     of a node that is above the root: 'zoo1:2181,zoo2:2181,zoo3:2181/applications'.
   * @param root Path of the node above the records of all elections. Created if it is missing.
   * @param username Name of the user, by the scheme 'digest'. Without a user, everyone who can
   *     reach ZooKeeper can change the leaders.
   * @param password Password of the user.
   * @param acl Who may do what with the nodes that are created, as in zkCli's 'setAcl':
   *     'sasl:orders:cdrwa'. By default the user alone; without a user, everyone.
   * @param ssl Settings of connections to the secure port.
   */
  public record Zookeeper(
      @Nullable String connectString,
      @DefaultValue("/election") String root,
      @Nullable String username,
      @Nullable String password,
      @Nullable String acl,
      @DefaultValue Ssl ssl) {

    /** Leaves out the password. */
    @Override
    public String toString() {
      return "Zookeeper[connectString=%s, root=%s, username=%s, ssl=%s]"
          .formatted(this.connectString, this.root, this.username, this.ssl);
    }
  }

  /**
   * Settings of election by etcd.
   *
   * @param endpoints URLs of the members of the cluster: 'http://etcd-1:2379,http://etcd-2:2379'.
   * @param prefix Beginning of the keys of all elections, with '/' at its end.
   * @param username Name of the user, if etcd authenticates by passwords.
   * @param password Password of the user.
   * @param ssl Settings of connections to 'https' endpoints.
   */
  public record Etcd(
      @DefaultValue List<String> endpoints,
      @DefaultValue("/election/") String prefix,
      @Nullable String username,
      @Nullable String password,
      @DefaultValue Ssl ssl) {

    /** Leaves out the password, and the endpoints, which may hold one by mistake. */
    @Override
    public String toString() {
      return "Etcd[prefix=%s, username=%s, ssl=%s]".formatted(this.prefix, this.username, this.ssl);
    }
  }

  /**
   * Settings of connections by TLS.
   *
   * @param bundle Name of the SSL bundle with the certificates.
   */
  public record Ssl(@Nullable String bundle) {}
}
