package io.election.autoconfigure;

import io.election.ElectionService;
import io.election.autoconfigure.ElectionProperties.Algorithm;
import io.election.lease.Elector;
import io.election.lease.InvalidLeaseSettingException;
import io.election.lease.LeaseElectionService;
import io.election.lease.LeaseSettings;
import io.election.lease.LeaseStoreException;
import io.election.lease.StoreContact;
import io.election.mysql.CommitFence;
import io.election.mysql.ElectionDatabase;
import io.election.mysql.LeaderElectionSchema;
import io.election.mysql.MysqlElectionService;
import io.election.mysql.MysqlLeaseStore;
import java.time.Duration;
import java.time.InstantSource;
import java.time.temporal.ChronoUnit;
import java.util.Collection;
import java.util.Optional;
import javax.sql.DataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.beans.factory.config.BeanDefinition;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.source.InvalidConfigurationPropertyValueException;
import org.springframework.boot.convert.DurationStyle;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.ApplicationEventPublisher;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.annotation.Import;
import org.springframework.context.annotation.Role;
import org.springframework.core.env.Environment;
import org.springframework.util.function.SingletonSupplier;

/** A lease in MySQL or MariaDB. */
@Configuration(proxyBeanMethods = false)
@ConditionalOnClass({MysqlLeaseStore.class, JdbcConnectionDetails.class})
@ConditionalOnElectionAlgorithm(Algorithm.MYSQL)
@ConditionalOnMissingBean(ElectionService.class)
@Import(ElectionServicesRegistrar.class)
class MysqlElectionConfiguration {

  private static final Logger log = LoggerFactory.getLogger(MysqlElectionConfiguration.class);

  @Bean
  LeaseSettings electionLeaseSettings(ElectionProperties properties, Environment environment) {
    try {
      return new LeaseSettings(
          properties.leaseDuration(),
          properties.renewInterval(),
          properties.mysql().operationTimeout(),
          properties.drainTimeout(environment),
          properties.eligible(),
          properties.historyRetention());
    } catch (InvalidLeaseSettingException ex) {
      String name = ex.setting().equals("operation-timeout")
          ? "as.election.mysql.operation-timeout"
          : "as.election." + ex.setting();
      Object written = InvalidElectionPropertyFailureAnalyzer.asWritten(environment, name);
      throw new InvalidConfigurationPropertyValueException(
          name, written != null ? written : text(ex.value()), ex.rule(), ex);
    }
  }

  @Bean
  ElectionConnection electionConnection(
      ListableBeanFactory beanFactory,
      Environment environment,
      LeaseSettings settings,
      @ElectionDataSource ObjectProvider<DataSource> marked) {
    return new ElectionConnection(beanFactory, environment, settings.operationTimeout(), marked);
  }

  @Bean
  ElectionDatabase electionDatabase(ElectionConnection connection) {
    return connection.find();
  }

  /** After the application's own Flyway, Liquibase or scripts, which may insist on an empty database. */
  @Bean
  @DependsOnDatabaseInitialization
  LeaderElectionSchema leaderElectionSchema(
      ElectionDatabase database, LeaseSettings settings, ElectionProperties properties)
      throws LeaseStoreException {
    LeaderElectionSchema.Mode mode = switch (properties.mysql().schema()) {
      case MIGRATE -> LeaderElectionSchema.Mode.MIGRATE;
      case VALIDATE -> LeaderElectionSchema.Mode.VALIDATE;
      case NONE -> LeaderElectionSchema.Mode.NONE;
    };
    LeaderElectionSchema schema =
        new LeaderElectionSchema(database, mode, settings.operationTimeout());
    try {
      schema.ensure();
    } catch (LeaseStoreException ex) {
      if (properties.failFast()) {
        throw ex;
      }
      log.warn(
          "{} This node starts as a follower and joins the election as soon as the database answers; set as.election.fail-fast=true to end the start instead",
          ex.getMessage());
      log.debug("The tables of the election are not ensured yet", ex);
    }
    return schema;
  }

  /** Of both, only the lifecycle of the driver decides when they begin and end. */
  @Bean
  Elector elector(
      ElectionDatabase database,
      LeaderElectionSchema schema,
      LeaseSettings settings,
      ElectionProperties properties,
      Environment environment,
      TrackedLeaderWork work,
      ApplicationEventPublisher events) {
    LocalNode node = new LocalNode(environment, properties.nodeId());
    MysqlLeaseStore store = new MysqlLeaseStore(
        database,
        schema,
        settings.operationTimeout(),
        settings.renewInterval(),
        properties.mysql().handBackSignals());
    Elector elector = new Elector(
        store,
        settings,
        () -> node.lookedUp().id(),
        work,
        events::publishEvent,
        System::nanoTime,
        InstantSource.system());
    work.onEnd(elector::wakeUp);
    return elector;
  }

  /** Also for those who manage their transactions by hand. */
  @Bean
  @ConditionalOnMissingBean
  CommitFence electionCommitFence(
      LeaseSettings settings, ObjectProvider<ElectionDatabase> database) {
    // A test that replaces the elections has no database for them.
    ElectionDatabase known = database.getIfAvailable();
    return known != null
        ? new CommitFence(settings.renewInterval(), known)
        : new CommitFence(settings.renewInterval());
  }

  @Bean
  ElectionDriver mysqlElectionDriver(Elector elector, LeaseSettings settings) {
    return new Driver(elector, settings.leaseDuration());
  }

  /**
   * Transactions that commit only in the term in which they began. Asks for other beans no sooner than a
   * transaction needs them; {@link LeaderOnlyAutoConfiguration} installs it in each context.
   */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnElectionSetting("as.election.mysql.commit-fence")
  static class CommitFenceConfiguration {

    @Bean
    @Role(BeanDefinition.ROLE_INFRASTRUCTURE)
    static FencedCalls fencedCalls(
        ObjectProvider<CommitFence> fence, ObjectProvider<ElectionConnection> connection) {
      return new FencedCalls(SingletonSupplier.of(fence::getObject), connection::getObject);
    }
  }

  /** A default, as one would write it. */
  private static String text(Duration duration) {
    return DurationStyle.SIMPLE.print(
        duration, duration.toMillisPart() == 0 ? ChronoUnit.SECONDS : ChronoUnit.MILLIS);
  }

  private record Driver(Elector elector, Duration lease) implements ElectionDriver {

    @Override
    public String algorithm() {
      return Algorithm.MYSQL.toString();
    }

    @Override
    public ElectionService create(String serviceId) {
      return new MysqlElectionService(serviceId, this.elector);
    }

    /** What has lasted for longer than a lease; what is shorter costs nobody anything. */
    @Override
    public Optional<String> problem() {
      return this.elector.storeContact().flatMap(this::problem);
    }

    private Optional<String> problem(StoreContact contact) {
      if (contact.silence().compareTo(this.lease) > 0) {
        return Optional.of("No answer from the database for %d s. %s"
            .formatted(
                contact.silence().toSeconds(),
                contact.failure() != null ? contact.failure() : "A call to it has not come back."));
      }
      return contact.failing().compareTo(this.lease) > 0
          ? Optional.of("The database answers, but some calls have failed for %d s. %s"
              .formatted(contact.failing().toSeconds(), contact.failure()))
          : Optional.empty();
    }

    @Override
    public void start(Collection<ElectionService> services) {
      this.elector.start(services.stream()
          .filter(LeaseElectionService.class::isInstance)
          .map(LeaseElectionService.class::cast)
          .toList());
    }

    @Override
    public void stop() {
      this.elector.stop();
    }
  }
}
