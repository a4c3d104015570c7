package io.election.autoconfigure.jdbc;

import io.election.ElectionSetupException;
import io.election.autoconfigure.ElectionDataSource;
import io.election.jdbc.ElectionDatabase;
import io.election.jdbc.ElectionDatabase.Login;
import io.election.jdbc.ElectionDatabase.Settings;
import io.election.jdbc.JdbcUrl;
import io.election.jdbc.UnpooledConnections;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Optional;
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
 * that pool. If the configuration names the product, an {@link ElectionDataSource} of the other
 * product is left to the other part of a list, whether or not the list names that now: so a move
 * changes the database of no part.
 */
final class ElectionDataSourceResolver {

  private static final String OTHER_STORES =
      "as.election.algorithm=Zookeeper, Etcd or ManualAllocation";

  private static final String OTHER_DATABASE =
      "If the election should use a different database than the application, define a DataSource bean with @ElectionDataSource and defaultCandidate = false.";

  private final ListableBeanFactory beanFactory;

  private final Environment environment;

  private final Duration timeout;

  private final ObjectProvider<DataSource> marked;

  private final @Nullable DatabaseProduct named;

  /**
   * Creates the resolver.
   *
   * @param beanFactory provides the beans to choose from
   * @param environment provides {@code spring.datasource} if no bean was created from it
   * @param timeout how long a new connection may wait for the network
   * @param marked the {@link ElectionDataSource}, if there is one, or one of each product
   * @param named the product that the configuration names; {@code null} if the URL decides
   */
  ElectionDataSourceResolver(
      ListableBeanFactory beanFactory,
      Environment environment,
      Duration timeout,
      ObjectProvider<DataSource> marked,
      @Nullable DatabaseProduct named) {
    this.beanFactory = beanFactory;
    this.environment = environment;
    this.timeout = timeout;
    this.marked = marked;
    this.named = named;
  }

  /**
   * Chooses among the beans of the application.
   *
   * @throws ElectionSetupException if there is nothing to choose, if the choice is ambiguous, or if
   *     it leads to another kind of database
   */
  Found find() {
    DataSource own = marked();
    if (own == null) {
      return unpooled(logins());
    }
    HikariPool pool = HikariPool.of(own);
    // A pool logs an error for each of its connections that is kept and then aborted.
    if (pool != null && pool.is(own) && pool.settingInsteadOfUrl() == null) {
      return unpooled(pool::login, pool.place());
    }
    String url = exposedUrl(own);
    return new Found(
        new ElectionDatabase(own, url, "the DataSource that is marked with @ElectionDataSource"),
        url);
  }

  private @Nullable DataSource marked() {
    List<DataSource> fitting = this.marked.stream()
        .filter((dataSource) -> fits(exposedUrl(dataSource)))
        .toList();
    return fitting.size() > 1 || this.named == null
        ? this.marked.getIfAvailable()
        : fitting.stream().findFirst().orElse(null);
  }

  private boolean fits(@Nullable String url) {
    DatabaseProduct product = url != null ? DatabaseProduct.of(url) : null;
    return this.named == null || product == null || product == this.named;
  }

  /**
   * Returns whether connections of a source certainly lead to this database: it is the source of the
   * election itself, or has the same URL. Its parameters count, since they may choose the server.
   */
  boolean isShared(DataSource dataSource) {
    DataSource own = marked();
    if (own != null
        && DataSourceUnwrapper.unwrapRoot(own) == DataSourceUnwrapper.unwrapRoot(dataSource)) {
      return true;
    }
    try {
      return target(loginOf(dataSource).url())
          .equals(target(own != null ? loginOf(own).url() : url()));
    } catch (ElectionSetupException ex) {
      return false; // one of them does not expose its URL
    }
  }

  private static List<Object> target(String url) {
    return List.of(Optional.ofNullable(DatabaseProduct.of(url)), new JdbcUrl(url).target());
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

  private Found unpooled(Supplier<Login> logins) {
    HikariPool pool = pool();
    return unpooled(logins, pool != null ? pool.place() : logins.get());
  }

  private Found unpooled(Supplier<Login> logins, Login login) {
    requireSupported(login.url());
    if (login.driver() == null) {
      throw MissingDriverFailureAnalyzer.missingDriver(new JdbcUrl(login.url()).describe());
    }
    return new Found(UnpooledConnections.database(logins, login, this.timeout), login.url());
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
          "The election needs a database, but there are several DataSource beans and neither a primary one nor one for elections: "
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
          "The election needs a database, but there is neither a DataSource bean nor spring.datasource.url.",
          "Set spring.datasource.url to that of a MySQL, MariaDB or PostgreSQL database, with username and password; beside R2DBC too, where the election alone uses it. For an election without a database, set %s. In tests, put @AutoConfigureElection of io.election:election-test on the test."
              .formatted(OTHER_STORES));
    }
    String driver = properties.getDriverClassName();
    return new Login(
        url,
        properties.getUsername(),
        properties.getPassword(),
        Drivers.of(driver != null ? driver : DatabaseDriver.fromJdbcUrl(url).getDriverClassName()),
        "spring.datasource",
        Settings.NONE);
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
            "the settings of the connection pool",
            Settings.NONE);
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
        "spring.datasource or what replaces it (JdbcConnectionDetails)",
        Settings.NONE);
  }

  private static ElectionSetupException unreadable(
      DataSource dataSource, @Nullable Exception cause) {
    return new ElectionSetupException(
        "The election needs a connection of its own, but the DataSource bean of type %s does not expose its URL, user and password."
            .formatted(dataSource.getClass().getName()),
        "Mark a DataSource bean with @ElectionDataSource, beside @Bean; the elector takes its connections from that.",
        cause);
  }

  private void requireSupported(String url) {
    String found = "the DataSource is %s (%s)."
        .formatted(DatabaseProduct.driver(url).getId(), new JdbcUrl(url).describe());
    if (DatabaseProduct.isOther(url)) {
      throw new ElectionSetupException(
          "The election needs MySQL, MariaDB, PostgreSQL, ZooKeeper or etcd, but " + found,
          "Set spring.datasource.url to that of a MySQL, MariaDB or PostgreSQL database, or set %s. In tests, put @AutoConfigureElection of io.election:election-test on the test. %s"
              .formatted(OTHER_STORES, OTHER_DATABASE));
    }
    DatabaseProduct product = DatabaseProduct.of(url);
    if (this.named != null && product != null && product != this.named) {
      throw otherThanNamed(this.named, product, found);
    }
  }

  static ElectionSetupException otherThanNamed(
      DatabaseProduct named, DatabaseProduct product, String found) {
    return new ElectionSetupException(
        "%s of as.election.algorithm needs %s, but %s"
            .formatted(named.algorithm(), named.label(), found),
        "Set as.election.algorithm=%s, or remove it, so that the URL decides; or set spring.datasource.url to that of %s. %s"
            .formatted(product.algorithm(), named.label(), OTHER_DATABASE));
  }

  /**
   * The database of the election.
   *
   * @param url its URL; {@code null} if its source does not expose it
   */
  record Found(ElectionDatabase database, @Nullable String url) {}
}
