package io.election.autoconfigure.jdbc;

import io.election.ElectionService;
import io.election.autoconfigure.ElectionAutoConfiguration;
import io.election.autoconfigure.ElectionDataSource;
import io.election.autoconfigure.settings.ConditionalOnElectionAlgorithm;
import io.election.autoconfigure.settings.ElectionAlgorithm;
import io.election.autoconfigure.settings.ElectionProperties;
import io.election.autoconfigure.settings.StoreSettings;
import io.election.jdbc.CommitFence;
import io.election.jdbc.JdbcLeaseStore;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import java.time.Duration;
import javax.sql.DataSource;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.autoconfigure.AutoConfiguration;
import org.springframework.boot.autoconfigure.condition.ConditionalOnClass;
import org.springframework.boot.autoconfigure.condition.ConditionalOnMissingBean;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.boot.sql.init.dependency.DependsOnDatabaseInitialization;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.core.env.Environment;

/** Auto-configuration of the lease in MySQL, MariaDB or PostgreSQL. */
@AutoConfiguration(
    before = ElectionAutoConfiguration.class,
    afterName = {
      "org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration",
      "org.springframework.boot.flyway.autoconfigure.FlywayAutoConfiguration",
      "org.springframework.boot.liquibase.autoconfigure.LiquibaseAutoConfiguration"
    })
@ConditionalOnClass({JdbcLeaseStore.class, JdbcConnectionDetails.class})
@ConditionalOnElectionAlgorithm({ElectionAlgorithm.MYSQL, ElectionAlgorithm.POSTGRESQL})
@ConditionalOnMissingBean(ElectionService.class)
@EnableConfigurationProperties(ElectionProperties.class)
public final class JdbcElectionAutoConfiguration {

  JdbcElectionAutoConfiguration() {}

  @Bean
  ElectionDatabases electionDatabases(
      ListableBeanFactory beanFactory,
      Environment environment,
      LeaseSettings settings,
      ElectionProperties properties,
      @ElectionDataSource ObjectProvider<DataSource> marked) {
    Duration timeout = StoreSettings.operationTimeout(settings, environment);
    return new ElectionDatabases(
        environment,
        (named) -> new StoreDatabase(
            new ElectionDataSourceResolver(beanFactory, environment, timeout, marked, named),
            named,
            settings,
            properties,
            environment));
  }

  /**
   * The fence, also for applications that manage their transactions by hand. With a list of two
   * stores in databases it is that of MySQL or MariaDB. The transactions of Spring's managers are
   * fenced in both.
   */
  @Bean
  @ConditionalOnMissingBean
  CommitFence electionCommitFence(
      LeaseSettings settings, ObjectProvider<ElectionDatabases> databases) {
    // A test that replaces the elections has no database for them.
    ElectionDatabases known = databases.getIfAvailable();
    return known != null ? known.first().fence() : new CommitFence(settings.renewInterval(), null);
  }

  /**
   * The stores create their tables after the application's own Flyway, Liquibase or scripts, which
   * may require an empty database.
   */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnElectionAlgorithm(ElectionAlgorithm.MYSQL)
  static class Mysql {

    @Bean
    @DependsOnDatabaseInitialization
    LeaseStore mysqlLeaseStore(ElectionDatabases databases) throws LeaseStoreException {
      return databases.store(DatabaseProduct.MYSQL);
    }
  }

  /** See {@link Mysql}. */
  @Configuration(proxyBeanMethods = false)
  @ConditionalOnElectionAlgorithm(ElectionAlgorithm.POSTGRESQL)
  static class Postgresql {

    @Bean
    @DependsOnDatabaseInitialization
    LeaseStore postgresqlLeaseStore(ElectionDatabases databases) throws LeaseStoreException {
      return databases.store(DatabaseProduct.POSTGRESQL);
    }
  }
}
