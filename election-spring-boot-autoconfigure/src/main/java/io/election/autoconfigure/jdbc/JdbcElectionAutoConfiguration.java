package io.election.autoconfigure.jdbc;

import io.election.ElectionService;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.ElectionDataSource;
import io.election.autoconfigure.settings.ConditionalOnElectionAlgorithm;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.autoconfigure.settings.StoreSettings;
import io.election.jdbc.CommitFence;
import io.election.jdbc.ElectionDatabase;
import io.election.jdbc.JdbcLeaseStore;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import javax.sql.DataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.core.env.Environment;

/** Auto-configuration of the lease in MySQL or MariaDB. */
@AutoConfiguration(
    before = ElectionAutoConfiguration.class,
    afterName = {
      "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
      "org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration",
      "org.springframework.boot.liquibase.autoconfigure.LiquibaseAutoConfiguration"
    })
@ConditionalOnClass({JdbcLeaseStore.class, JdbcConnectionDetails.class})
@ConditionalOnElectionAlgorithm("Mysql")
@ConditionalOnMissingBean(ElectionService.class)
@EnableConfigurationProperties(ElectionProperties.class)
public final class JdbcElectionAutoConfiguration {

  private static final Logger log = LoggerFactory.getLogger(JdbcElectionAutoConfiguration.class);

  JdbcElectionAutoConfiguration() {}

  @Bean
  ElectionDataSourceResolver electionDataSourceResolver(
      ListableBeanFactory beanFactory,
      Environment environment,
      LeaseSettings settings,
      @ElectionDataSource ObjectProvider<DataSource> marked) {
    return new ElectionDataSourceResolver(
        beanFactory, environment, StoreSettings.operationTimeout(settings, environment), marked);
  }

  @Bean
  ElectionDatabase electionDatabase(ElectionDataSourceResolver connection) {
    return connection.find();
  }

  /**
   * Creates the tables after the application's own Flyway, Liquibase or scripts, which may require
   * an empty database.
   */
  @Bean
  @DependsOnDatabaseInitialization
  LeaseStore mysqlLeaseStore(
      ElectionDatabase database,
      LeaseSettings settings,
      ElectionProperties properties,
      Environment environment)
      throws LeaseStoreException {
    JdbcLeaseStore.SchemaMode mode = switch (properties.mysql().schema()) {
      case MIGRATE -> JdbcLeaseStore.SchemaMode.MIGRATE;
      case VALIDATE -> JdbcLeaseStore.SchemaMode.VALIDATE;
      case NONE -> JdbcLeaseStore.SchemaMode.NONE;
    };
    JdbcLeaseStore store = new JdbcLeaseStore(
        database,
        mode,
        StoreSettings.operationTimeout(settings, environment),
        settings.renewInterval(),
        properties.mysql().handBackSignals());
    try {
      store.ensureTables();
    } catch (LeaseStoreException ex) {
      if (properties.failFast()) {
        throw ex;
      }
      log.warn(
          "{} This node starts as a follower and joins the election as soon as the database answers; set as.election.fail-fast=true to end the start instead",
          ex.getMessage());
      log.debug("The tables of the election are not ready yet", ex);
    }
    return store;
  }

  /** The fence, also for applications that manage their transactions by hand. */
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
}
