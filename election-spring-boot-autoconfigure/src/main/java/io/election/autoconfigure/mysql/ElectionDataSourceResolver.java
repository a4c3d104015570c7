package io.election.autoconfigure.mysql;

import com.zaxxer.hikari.HikariConfigMXBean;
import com.zaxxer.hikari.HikariCredentialsProvider;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.Credentials;
import io.election.ElectionSetupException;
import io.election.autoconfigure.ElectionDataSource;
import io.election.mysql.ElectionDatabase;
import io.election.mysql.ElectionDatabase.Login;
import java.sql.Driver;
import java.time.Duration;
import java.util.Arrays;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.BeanUtils;
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
import org.springframework.util.ClassUtils;

/**
 * Determines how the elector connects: through the {@link ElectionDataSource} if there is one,
 * otherwise with the settings of the application's own pool, but never through a connection from
 * that pool.
 */
final class ElectionDataSourceResolver {

  /** Known to be neither MySQL nor MariaDB, whatever a wrapping driver adds. */
  private static final Set<DatabaseDriver> UNSUPPORTED = EnumSet.complementOf(EnumSet.of(
      DatabaseDriver.MYSQL,
      DatabaseDriver.MARIADB,
      DatabaseDriver.UNKNOWN,
      DatabaseDriver.TESTCONTAINERS,
      DatabaseDriver.AWS_WRAPPER));

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
    return own != null
        ? new ElectionDatabase(own, null, "the DataSource that is marked with @ElectionDataSource")
        : unpooled(logins());
  }

  /**
   * Returns whether connections of a source lead to the election's database: it is the same source,
   * or has the same URL up to the question mark.
   */
  boolean isShared(DataSource dataSource) {
    DataSource own = this.marked.getIfAvailable();
    if (own != null
        && DataSourceUnwrapper.unwrapRoot(own) == DataSourceUnwrapper.unwrapRoot(dataSource)) {
      return true;
    }
    try {
      return place(dataSource)
          .equals(own != null ? place(own) : place(logins().get().url()));
    } catch (ElectionSetupException ex) {
      return false; // one of them does not expose its URL
    }
  }

  private static String place(DataSource dataSource) {
    return place(loginOf(dataSource).url());
  }

  private static String place(String url) {
    return url.replaceFirst("[?;].*$", "")
        .replaceFirst("//[^/]*@", "//")
        .replaceFirst("^jdbc:[^/]*//", "");
  }

  private Supplier<Login> logins() {
    JdbcConnectionDetails details =
        this.beanFactory.getBeanProvider(JdbcConnectionDetails.class).getIfUnique();
    return details != null ? () -> loginOf(details) : loginOfDataSource();
  }

  private ElectionDatabase unpooled(Supplier<Login> logins) {
    Login login = logins.get();
    requireSupported(login.url());
    if (login.driver() == null) {
      throw MissingDriverFailureAnalyzer.missingDriver(ElectionDatabase.describe(login.url()));
    }
    Pool pool = pool(login.url());
    return pool == null
        ? ElectionDatabase.unpooled(logins, login, this.timeout)
        : ElectionDatabase.unpooled(
            () -> pool.credentialsFor(logins.get()), pool.named(login), this.timeout);
  }

  /** The pool that leads to the same place, if its credentials may differ from those of its URL. */
  private @Nullable Pool pool(String url) {
    DataSource dataSource =
        ClassUtils.isPresent("com.zaxxer.hikari.HikariDataSource", getClass().getClassLoader())
            ? this.beanFactory.getBeanProvider(DataSource.class).getIfUnique()
            : null;
    return dataSource != null ? Pool.of(dataSource, url) : null;
  }

  private Supplier<Login> loginOfDataSource() {
    List<String> names = Arrays.asList(
        BeanFactoryUtils.beanNamesForTypeIncludingAncestors(this.beanFactory, DataSource.class));
    if (names.isEmpty()) {
      return this::loginOfProperties;
    }
    DataSource dataSource = this.beanFactory.getBeanProvider(DataSource.class).getIfUnique();
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
        driver(driver != null ? driver : DatabaseDriver.fromJdbcUrl(url).getDriverClassName()),
        "spring.datasource");
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
        driver(details.getDriverClassName()),
        "spring.datasource or what replaces it (JdbcConnectionDetails)");
  }

  private static @Nullable Driver driver(@Nullable String className) {
    ClassLoader classLoader = ClassUtils.getDefaultClassLoader();
    return className != null && ClassUtils.isPresent(className, classLoader)
        ? (Driver) BeanUtils.instantiateClass(ClassUtils.resolveClassName(className, classLoader))
        : null;
  }

  private static ElectionSetupException unreadable(
      DataSource dataSource, @Nullable Exception cause) {
    return new ElectionSetupException(
        "as.election.algorithm=Mysql needs a connection of its own, but the DataSource bean of type %s does not expose its URL, user and password."
            .formatted(dataSource.getClass().getName()),
        "Mark a DataSource bean with @ElectionDataSource, beside @Bean; the elector takes its one connection from that.",
        cause);
  }

  private static void requireSupported(String url) {
    DatabaseDriver product =
        url.startsWith("jdbc:") ? DatabaseDriver.fromJdbcUrl(url) : DatabaseDriver.UNKNOWN;
    if (UNSUPPORTED.contains(product)) {
      throw new ElectionSetupException(
          "as.election.algorithm=Mysql needs MySQL or MariaDB, but the DataSource is "
              + product.getId() + " (" + ElectionDatabase.describe(url) + ").",
          WITHOUT_DATABASE
              + " If the election should use a different database than the application, define a DataSource bean with @ElectionDataSource and defaultCandidate = false.");
    }
  }

  /**
   * A HikariCP pool, whose credentials come from its own settings or from a provider, or are set at
   * run time.
   */
  private record Pool(HikariDataSource hikari) {

    static @Nullable Pool of(DataSource dataSource, String url) {
      HikariDataSource hikari =
          DataSourceUnwrapper.unwrap(dataSource, HikariConfigMXBean.class, HikariDataSource.class);
      return hikari != null && url.equals(hikari.getJdbcUrl()) ? new Pool(hikari) : null;
    }

    /** Adds the credentials that the pool uses for each new connection. */
    Login credentialsFor(Login login) {
      HikariCredentialsProvider provider = this.hikari.getCredentialsProvider();
      Credentials credentials =
          provider != null ? provider.getCredentials() : this.hikari.getCredentials();
      return new Login(
          login.url(),
          credentials.getUsername(),
          credentials.getPassword(),
          login.driver(),
          login.source());
    }

    /** The login with this pool as the source of its credentials. */
    Login named(Login login) {
      return new Login(
          login.url(),
          login.username(),
          login.password(),
          login.driver(),
          this.hikari.getCredentialsProvider() != null
              ? "the credentials provider of the connection pool"
              : "the connection pool");
    }
  }
}
