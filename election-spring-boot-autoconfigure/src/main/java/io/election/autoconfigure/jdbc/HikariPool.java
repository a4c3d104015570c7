package io.election.autoconfigure.jdbc;

import com.zaxxer.hikari.HikariConfigMXBean;
import com.zaxxer.hikari.HikariCredentialsProvider;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.Credentials;
import io.election.ElectionSetupException;
import io.election.jdbc.ElectionDatabase.Login;
import io.election.jdbc.ElectionDatabase.Settings;
import java.util.LinkedHashMap;
import java.util.Map;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.jdbc.DataSourceUnwrapper;
import org.springframework.util.ClassUtils;

/**
 * What a HikariCP pool opens its connections with: all that decides where a connection leads, as
 * whom, how it is encrypted, and what it may do. The rest of the pool's settings concerns the pool.
 */
record HikariPool(HikariDataSource hikari) {

  private static final String PREFIX = "spring.datasource.hikari.";

  /** The pool behind a source; {@code null} if it is another one, or if HikariCP is missing. */
  static @Nullable HikariPool of(DataSource dataSource) {
    if (!ClassUtils.isPresent(
        "com.zaxxer.hikari.HikariDataSource", HikariPool.class.getClassLoader())) {
      return null;
    }
    HikariDataSource hikari =
        DataSourceUnwrapper.unwrap(dataSource, HikariConfigMXBean.class, HikariDataSource.class);
    return hikari != null ? new HikariPool(hikari) : null;
  }

  /** Whether the source is the pool itself, and no code of the application is between them. */
  boolean is(DataSource dataSource) {
    return this.hikari == dataSource
        && ClassUtils.getUserClass(dataSource) == HikariDataSource.class;
  }

  /** The setting by which the pool connects without a URL; {@code null} if there is none. */
  @Nullable
  String settingInsteadOfUrl() {
    if (this.hikari.getDataSource() != null) {
      return "data-source";
    }
    if (this.hikari.getDataSourceClassName() != null) {
      return "data-source-class-name";
    }
    return this.hikari.getJdbcUrl() == null && this.hikari.getDataSourceJNDI() != null
        ? "data-source-j-n-d-i"
        : null;
  }

  /** The URL of the pool's connections. */
  String url() {
    String url = this.hikari.getJdbcUrl();
    String setting = settingInsteadOfUrl();
    if (setting == null && url != null) {
      return url;
    }
    throw new ElectionSetupException(
        setting != null
            ? "The election needs a connection of its own, but the connection pool gets its connections by %s%s, which the election cannot do."
                .formatted(PREFIX, setting)
            : "The election needs a connection of its own, but the connection pool has no URL.",
        "Set spring.datasource.url instead, with driver properties below %sdata-source-properties; or mark a DataSource bean with @ElectionDataSource, beside @Bean."
            .formatted(PREFIX));
  }

  /** The current login. Asks the credentials provider, if there is one. */
  Login login() {
    HikariCredentialsProvider provider = this.hikari.getCredentialsProvider();
    Credentials credentials =
        provider != null ? provider.getCredentials() : this.hikari.getCredentials();
    return login(credentials.getUsername(), credentials.getPassword());
  }

  /** The login without credentials, for what needs to know the place alone. */
  Login place() {
    return login(null, null);
  }

  private Login login(@Nullable String username, @Nullable String password) {
    String url = url();
    return new Login(
        url,
        username,
        password,
        Drivers.of(this.hikari.getDriverClassName(), url),
        this.hikari.getCredentialsProvider() != null
            ? "the credentials provider of the connection pool"
            : "the connection pool",
        new Settings(
            driverProperties(),
            this.hikari.getCatalog(),
            this.hikari.getSchema(),
            this.hikari.getConnectionInitSql()));
  }

  private Map<String, String> driverProperties() {
    Map<String, String> properties = new LinkedHashMap<>();
    this.hikari
        .getDataSourceProperties()
        .forEach((name, value) -> properties.put(name.toString(), value.toString()));
    return properties;
  }
}
