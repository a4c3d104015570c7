package io.election.autoconfigure.jdbc;

import io.election.ElectionSetupException;
import io.election.autoconfigure.ElectionDataSource;
import io.election.autoconfigure.commitfence.FencedDatabase;
import io.election.jdbc.ElectionDatabase;
import io.election.jdbc.ElectionDatabase.Login;
import io.election.jdbc.JdbcUrl;
import io.election.jdbc.UnpooledConnections;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.BeanFactoryUtils;
import org.springframework.beans.factory.ListableBeanFactory;
import org.springframework.beans.factory.ObjectProvider;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.jdbc.DataSourceBuilder;
import org.springframework.boot.jdbc.DataSourceUnwrapper;
import org.springframework.boot.jdbc.DatabaseDriver;
import org.springframework.boot.jdbc.UnsupportedDataSourcePropertyException;
import org.springframework.boot.jdbc.autoconfigure.DataSourceProperties;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;
import org.springframework.core.env.Environment;
import org.springframework.jdbc.datasource.SimpleDriverDataSource;

/**
 * Determines how the elector connects: through the {@link ElectionDataSource} if there is one,
 * otherwise with the settings of the application's own pool, but never through a connection from
 * that pool.
 */
final class ElectionDataSourceResolver implements FencedDatabase {

  /** Known to be neither MySQL nor MariaDB, whatever a wrapping driver adds. */
  private static final Set<DatabaseDriver> UNSUPPORTED = EnumSet.complementOf(EnumSet.of(
      DatabaseDriver.MYSQL,
      DatabaseDriver.MARIADB,
      DatabaseDriver.UNKNOWN,
      DatabaseDriver.TESTCONTAINERS,
      DatabaseDriver.AWS_WRAPPER));

  private static final Set<DatabaseDriver> EMBEDDED =
      EnumSet.of(DatabaseDriver.H2, DatabaseDriver.HSQLDB, DatabaseDriver.SQLITE);

  private static final String WITHOUT_DATABASE =
      "In tests, or for a single node, set as.election.enabled=false; for an election without a database, as.election.algorithm=ManualAllocation.";

  private final ListableBeanFactory beanFactory;

  private final Environment environment;

  private final Duration timeout;

  private final ObjectProvider<DataSource> marked;

  /**
   * Creates the resolver.
   *
   * @param beanFactory provides the beans to choose from
   * @param environment provides {@code spring.datasource} if no bean was created from it
   * @param timeout how long a new connection may wait for the network
   * @param marked the {@link ElectionDataSource}, if there is one
   */
  ElectionDataSourceResolver(
      ListableBeanFactory beanFactory,
      Environment environment,
      Duration timeout,
      ObjectProvider<DataSource> marked) {
    this.beanFactory = beanFactory;
    this.environment = environment;
    this.timeout = timeout;
    this.marked = marked;
  }

  /**
   * Chooses among the beans of the application.
   *
   * @throws ElectionSetupException if there is nothing to choose, if the choice is ambiguous, or if
   *     it leads to another kind of database
   */
  ElectionDatabase find() {
    DataSource own = this.marked.getIfAvailable();
    if (own == null) {
      return unpooled(logins());
    }
    HikariPool pool = HikariPool.of(own);
    // A pool logs an error for each of its connections that is kept and then aborted.
    return pool != null && pool.is(own) && pool.settingInsteadOfUrl() == null
        ? unpooled(pool::login, pool.place())
        : new ElectionDatabase(own, null, "the DataSource that is marked with @ElectionDataSource");
  }

  @Override
  public boolean isShared(DataSource dataSource) {
    DataSource own = this.marked.getIfAvailable();
    if (own != null
        && DataSourceUnwrapper.unwrapRoot(own) == DataSourceUnwrapper.unwrapRoot(dataSource)) {
      return true;
    }
    try {
      return target(dataSource).equals(own != null ? target(own) : new JdbcUrl(url()).target());
    } catch (ElectionSetupException ex) {
      return false; // one of them does not expose its URL
    }
  }

  private static String target(DataSource dataSource) {
    return new JdbcUrl(loginOf(dataSource).url()).target();
  }

  private String url() {
    HikariPool pool = pool();
    return pool != null ? pool.url() : logins().get().url();
  }

  private Supplier<Login> logins() {
    DataSource unique = unique();
    if (unique != null) {
      UncarriedSettings.refuseWrappers(unique);
    }
    HikariPool pool = pool();
    if (pool != null) {
      return pool::login;
    }
    JdbcConnectionDetails details =
        this.beanFactory.getBeanProvider(JdbcConnectionDetails.class).getIfUnique();
    Supplier<Login> logins = details != null ? () -> loginOf(details) : loginOfDataSource();
    String url = unique != null ? exposedUrl(unique) : null;
    if (unique != null && url != null) {
      requireSupported(url);
      UncarriedSettings.refuse(unique, this.environment);
    } else {
      UncarriedSettings.refuse(this.environment);
    }
    return logins;
  }

  private ElectionDatabase unpooled(Supplier<Login> logins) {
    HikariPool pool = pool();
    return unpooled(logins, pool != null ? pool.place() : logins.get());
  }

  private ElectionDatabase unpooled(Supplier<Login> logins, Login login) {
    requireSupported(login.url());
    if (login.driver() == null) {
      throw MissingDriverFailureAnalyzer.missingDriver(new JdbcUrl(login.url()).describe());
    }
    return UnpooledConnections.database(logins, login, this.timeout);
  }

  /** The application's pool, if it is HikariCP. */
  private @Nullable HikariPool pool() {
    DataSource dataSource = unique();
    return dataSource != null ? HikariPool.of(dataSource) : null;
  }

  private @Nullable DataSource unique() {
    return this.beanFactory.getBeanProvider(DataSource.class).getIfUnique();
  }

  private Supplier<Login> loginOfDataSource() {
    List<String> names = Arrays.asList(
        BeanFactoryUtils.beanNamesForTypeIncludingAncestors(this.beanFactory, DataSource.class));
    if (names.isEmpty()) {
      return this::loginOfProperties;
    }
    DataSource dataSource = unique();
    if (dataSource == null) {
      throw new ElectionSetupException(
          "as.election.algorithm=Mysql needs a database, but there are several DataSource beans and neither a primary one nor one for elections: "
              + String.join(", ", names) + ".",
          "Mark one of them with @ElectionDataSource, beside @Bean.");
    }
    return () -> loginOf(dataSource);
  }

  /**
   * Reads the properties directly, because with R2DBC Spring Boot creates no DataSource, whatever
   * the properties are.
   */
  private Login loginOfProperties() {
    DataSourceProperties properties = Binder.get(this.environment)
        .bind("spring.datasource", DataSourceProperties.class)
        .orElseGet(DataSourceProperties::new);
    String url = properties.getUrl();
    if (url == null || url.isBlank()) {
      throw new ElectionSetupException(
          "as.election.algorithm=Mysql needs a database, but there is neither a DataSource bean nor spring.datasource.url.",
          "Set spring.datasource.url to that of a MySQL or MariaDB database, with username and password; beside R2DBC too, where the election alone uses it. "
              + WITHOUT_DATABASE);
    }
    String driver = properties.getDriverClassName();
    return new Login(
        url,
        properties.getUsername(),
        properties.getPassword(),
        Drivers.of(driver != null ? driver : DatabaseDriver.fromJdbcUrl(url).getDriverClassName()),
        "spring.datasource");
  }

  private static @Nullable String exposedUrl(DataSource dataSource) {
    try {
      return loginOf(dataSource).url();
    } catch (ElectionSetupException ex) {
      return null;
    }
  }

  private static Login loginOf(DataSource dataSource) {
    try {
      SimpleDriverDataSource derived = DataSourceBuilder.derivedFrom(dataSource)
          .type(SimpleDriverDataSource.class)
          .build();
      String url = derived.getUrl();
      if (url != null) {
        return new Login(
            url,
            derived.getUsername(),
            derived.getPassword(),
            derived.getDriver(),
            "the settings of the connection pool");
      }
    } catch (UnsupportedDataSourcePropertyException ex) {
      throw unreadable(dataSource, ex);
    }
    throw unreadable(dataSource, null);
  }

  private static Login loginOf(JdbcConnectionDetails details) {
    return new Login(
        details.getJdbcUrl(),
        details.getUsername(),
        details.getPassword(),
        Drivers.of(details.getDriverClassName()),
        "spring.datasource or what replaces it (JdbcConnectionDetails)");
  }

  private static ElectionSetupException unreadable(
      DataSource dataSource, @Nullable Exception cause) {
    return new ElectionSetupException(
        "as.election.algorithm=Mysql needs a connection of its own, but the DataSource bean of type %s does not expose its URL, user and password."
            .formatted(dataSource.getClass().getName()),
        "Mark a DataSource bean with @ElectionDataSource, beside @Bean; the elector takes its connections from that.",
        cause);
  }

  private static void requireSupported(String url) {
    DatabaseDriver product =
        url.startsWith("jdbc:") ? DatabaseDriver.fromJdbcUrl(url) : DatabaseDriver.UNKNOWN;
    if (UNSUPPORTED.contains(product)) {
      throw new ElectionSetupException(
          "as.election.algorithm=Mysql needs MySQL or MariaDB, but the DataSource is "
              + product.getId() + " (" + new JdbcUrl(url).describe() + ").",
          remedy(product)
              + " If the election should use a different database than the application, define a DataSource bean with @ElectionDataSource and defaultCandidate = false.");
    }
  }

  /** An embedded database serves tests. With another one, several nodes may run, and one may lead. */
  private static String remedy(DatabaseDriver product) {
    return EMBEDDED.contains(product)
        ? "In tests, put @AutoConfigureElection of io.election:election-test on the test, or set as.election.enabled=false; for an election without a database, as.election.algorithm=ManualAllocation, Zookeeper or Etcd."
        : "Set as.election.algorithm=Zookeeper, Etcd or ManualAllocation. (as.election.enabled=false is no remedy where several nodes run: each would count as leader.)";
  }
}
