package io.election.autoconfigure.jdbc;

import static java.util.Map.entry;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariCredentialsProvider;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.util.Credentials;
import io.election.ElectionSetupException;
import io.election.jdbc.ElectionDatabase.Login;
import java.beans.Introspector;
import java.beans.PropertyDescriptor;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.springframework.jdbc.datasource.SimpleDriverDataSource;

/** The election's connections are opened as the pool's, in every setting of HikariCP. */
class HikariPoolTest {

  private static final String URL = "jdbc:mysql://host/app";

  private enum Judgement {
    CARRIED_OVER,
    REFUSED,
    /** Concerns how the pool keeps, tests, counts or hands out connections. */
    OF_THE_POOL,
    /** Set by the election itself in each of its sessions, to what its protocol needs. */
    SET_BY_THE_ELECTION
  }

  private static final Map<String, Judgement> SETTINGS = new TreeMap<>(Map.ofEntries(
      entry("jdbcUrl", Judgement.CARRIED_OVER),
      entry("driverClassName", Judgement.CARRIED_OVER),
      entry("dataSourceProperties", Judgement.CARRIED_OVER),
      entry("username", Judgement.CARRIED_OVER),
      entry("password", Judgement.CARRIED_OVER),
      entry("credentials", Judgement.CARRIED_OVER),
      entry("credentialsProvider", Judgement.CARRIED_OVER),
      entry("credentialsProviderClassName", Judgement.CARRIED_OVER),
      entry("catalog", Judgement.CARRIED_OVER),
      entry("schema", Judgement.CARRIED_OVER),
      entry("connectionInitSql", Judgement.CARRIED_OVER),
      entry("dataSource", Judgement.REFUSED),
      entry("dataSourceClassName", Judgement.REFUSED),
      entry("dataSourceJNDI", Judgement.REFUSED),
      entry("autoCommit", Judgement.SET_BY_THE_ELECTION),
      entry("readOnly", Judgement.SET_BY_THE_ELECTION),
      entry("transactionIsolation", Judgement.SET_BY_THE_ELECTION),
      entry("connectionTimeout", Judgement.SET_BY_THE_ELECTION),
      entry("validationTimeout", Judgement.OF_THE_POOL),
      entry("idleTimeout", Judgement.OF_THE_POOL),
      entry("leakDetectionThreshold", Judgement.OF_THE_POOL),
      entry("maxLifetime", Judgement.OF_THE_POOL),
      entry("keepaliveTime", Judgement.OF_THE_POOL),
      entry("maximumPoolSize", Judgement.OF_THE_POOL),
      entry("minimumIdle", Judgement.OF_THE_POOL),
      entry("initializationFailTimeout", Judgement.OF_THE_POOL),
      entry("connectionTestQuery", Judgement.OF_THE_POOL),
      entry("exceptionOverride", Judgement.OF_THE_POOL),
      entry("exceptionOverrideClassName", Judgement.OF_THE_POOL),
      entry("isolateInternalQueries", Judgement.OF_THE_POOL),
      entry("registerMbeans", Judgement.OF_THE_POOL),
      entry("allowPoolSuspension", Judgement.OF_THE_POOL),
      entry("poolName", Judgement.OF_THE_POOL),
      entry("threadFactory", Judgement.OF_THE_POOL),
      entry("scheduledExecutor", Judgement.OF_THE_POOL),
      entry("metricsTrackerFactory", Judgement.OF_THE_POOL),
      entry("metricRegistry", Judgement.OF_THE_POOL),
      entry("healthCheckRegistry", Judgement.OF_THE_POOL),
      entry("healthCheckProperties", Judgement.OF_THE_POOL)));

  private final HikariDataSource pool = new HikariDataSource();

  /** A setting that HikariCP adds fails this test until it is judged. */
  @Test
  void everySettingOfHikariIsJudged() throws Exception {
    Set<String> found = Arrays.stream(
            Introspector.getBeanInfo(HikariConfig.class).getPropertyDescriptors())
        .filter((property) -> property.getWriteMethod() != null)
        .map(PropertyDescriptor::getName)
        .collect(Collectors.toSet());
    assertThat(SETTINGS.keySet()).isEqualTo(found);
  }

  static Stream<String> carriedOver() {
    return named(Judgement.CARRIED_OVER);
  }

  @ParameterizedTest
  @MethodSource("carriedOver")
  void settingIsCarriedOver(String name) {
    this.pool.setJdbcUrl(URL);
    Login before = login();
    set(name);
    assertThat(login()).as(name).isNotEqualTo(before);
  }

  static Stream<String> refused() {
    return named(Judgement.REFUSED);
  }

  @ParameterizedTest
  @MethodSource("refused")
  void settingIsRefused(String name) {
    if (!name.equals("dataSourceJNDI")) {
      this.pool.setJdbcUrl(URL);
    }
    set(name);
    assertThatThrownBy(this::login)
        .isInstanceOf(ElectionSetupException.class)
        .hasMessageContaining("spring.datasource.hikari.data-source");
  }

  static Stream<String> withoutEffect() {
    return Stream.concat(
        named(Judgement.OF_THE_POOL).filter((name) -> !isAnObject(name)),
        named(Judgement.SET_BY_THE_ELECTION));
  }

  @ParameterizedTest
  @MethodSource("withoutEffect")
  void settingChangesNothing(String name) {
    this.pool.setJdbcUrl(URL);
    Login before = login();
    set(name);
    assertThat(login()).as(name).isEqualTo(before);
  }

  /** Like HikariCP, where a provider comes before what is set. */
  @Test
  void credentialsProviderComesFirst() {
    this.pool.setJdbcUrl(URL);
    this.pool.setUsername("set");
    this.pool.setCredentialsProvider(() -> Credentials.of("provided", "secret"));
    assertThat(login().username()).isEqualTo("provided");
    assertThat(login().toString() + login().settings()).doesNotContain("secret");
  }

  private Login login() {
    Login login = new HikariPool(this.pool).login();
    // Drivers have no equality.
    return new Login(
        login.url() + login.driver().getClass(),
        login.username(),
        login.password(),
        null,
        login.source(),
        login.settings());
  }

  private static Stream<String> named(Judgement judgement) {
    return SETTINGS.entrySet().stream()
        .filter((setting) -> setting.getValue() == judgement)
        .map(Map.Entry::getKey);
  }

  private static boolean isAnObject(String name) {
    return Set.of(
            "exceptionOverride",
            "exceptionOverrideClassName",
            "threadFactory",
            "scheduledExecutor",
            "metricsTrackerFactory",
            "metricRegistry",
            "healthCheckRegistry")
        .contains(name);
  }

  private void set(String name) {
    Properties properties = new Properties();
    properties.setProperty("sslMode", "VERIFY_IDENTITY");
    switch (name) {
      case "dataSource" -> this.pool.setDataSource(new SimpleDriverDataSource());
      case "dataSourceProperties" -> this.pool.setDataSourceProperties(properties);
      case "healthCheckProperties" -> this.pool.setHealthCheckProperties(properties);
      case "credentials" -> this.pool.setCredentials(Credentials.of("user", "password"));
      case "credentialsProvider" ->
        this.pool.setCredentialsProvider(() -> Credentials.of("user", "password"));
      case "credentialsProviderClassName" ->
        this.pool.setCredentialsProviderClassName(Provider.class.getName());
      case "driverClassName" -> this.pool.setDriverClassName("org.mariadb.jdbc.Driver");
      case "jdbcUrl" -> this.pool.setJdbcUrl("jdbc:mysql://other/app");
      case "transactionIsolation" -> this.pool.setTransactionIsolation("TRANSACTION_SERIALIZABLE");
      default -> setPlain(name);
    }
  }

  private void setPlain(String name) {
    try {
      for (PropertyDescriptor property :
          Introspector.getBeanInfo(HikariConfig.class).getPropertyDescriptors()) {
        if (property.getName().equals(name)) {
          Class<?> type = property.getPropertyType();
          Object value = type == String.class ? "any" : type == boolean.class ? true : 10_000;
          if (type == long.class) {
            value = 60_000L;
          }
          property.getWriteMethod().invoke(this.pool, value);
        }
      }
    } catch (ReflectiveOperationException | java.beans.IntrospectionException ex) {
      throw new IllegalStateException(name, ex);
    }
  }

  public static final class Provider implements HikariCredentialsProvider {

    @Override
    public Credentials getCredentials() {
      return Credentials.of("user", "password");
    }
  }
}
