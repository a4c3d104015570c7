package io.election.autoconfigure.jdbc;

import static io.election.autoconfigure.MysqlNode.patiently;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.autoconfigure.MysqlNode;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.actuate.EndpointAccess;
import io.election.support.TestDatabase;
import io.micrometer.core.instrument.MeterRegistry;
import io.micrometer.core.instrument.simple.SimpleMeterRegistry;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.boot.actuate.info.Info;
import org.springframework.boot.actuate.info.InfoContributor;
import org.springframework.boot.health.contributor.Health;
import org.springframework.boot.health.contributor.HealthIndicator;
import org.springframework.boot.health.contributor.Status;
import org.springframework.boot.logging.LogLevel;
import org.springframework.boot.logging.LoggingSystem;
import org.springframework.boot.test.context.runner.ApplicationContextRunner;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;
import org.springframework.context.ApplicationContext;

/** A password in a JDBC URL is neither logged nor shown, in whichever form it is written. */
@ExtendWith(OutputCaptureExtension.class)
@Tag("faults")
class SecretsIT {

  private static final String SECRET = "Keep1this2to3yourself";

  private static final TestDatabase DATABASE = MysqlNode.newDatabase();

  private static final String USER = "secret_" + DATABASE.name();

  private final LoggingSystem logging = LoggingSystem.get(getClass().getClassLoader());

  private final ApplicationContextRunner application = MysqlNode.on(DATABASE)
      .withBean(SimpleMeterRegistry.class)
      .withPropertyValues("spring.datasource.username=", "spring.datasource.password=");

  @BeforeAll
  static void createUser() {
    DATABASE.newUser(USER, "ALL ON " + DATABASE.name() + ".*");
    DATABASE.execute("ALTER USER '" + USER + "'@'%' IDENTIFIED BY '" + SECRET + "'");
  }

  @BeforeEach
  void logMore() {
    this.logging.setLogLevel("io.election", LogLevel.TRACE);
    this.logging.setLogLevel("org.flywaydb", LogLevel.DEBUG);
  }

  @AfterEach
  void logLess() {
    this.logging.setLogLevel("io.election", LogLevel.DEBUG);
    this.logging.setLogLevel("org.flywaydb", null);
  }

  @Test
  void nodeThatLeadsTellsNoPassword(CapturedOutput output) {
    assertTellsNoPasswordAsLeader(urlsThatConnect().findFirst().orElseThrow(), output);
  }

  @ParameterizedTest
  @MethodSource("urlsThatConnect")
  @Tag("long")
  void nodeThatLeadsTellsNoPasswordHoweverItIsWritten(String url, CapturedOutput output) {
    assertTellsNoPasswordAsLeader(url, output);
  }

  private void assertTellsNoPasswordAsLeader(String url, CapturedOutput output) {
    this.application.withPropertyValues("spring.datasource.url=" + url).run((context) -> {
      MysqlNode.awaitLeader(context);
      assertThat(shown(context)).allSatisfy(SecretsIT::isFreeOfSecrets);
    });
    assertThat(output).contains("become leader by mysql");
    isFreeOfSecrets(output.getAll());
  }

  static Stream<String> urlsThatConnect() {
    String parameters = DATABASE.jdbcUrl("mysql", "").replaceFirst("^[^?]*", "");
    String host = DATABASE.jdbcUrl("mysql", "").replaceFirst("^jdbc:mysql://([^/]*)/.*", "$1");
    String port = host.replaceFirst("^.*:", "");
    String end = "/" + DATABASE.name() + parameters;
    String login = "user=" + USER + "&password=" + SECRET;
    String keys = "(host=127.0.0.1,port=" + port + ",user=" + USER + ",password=" + SECRET + ")";
    return Stream.of(
        "jdbc:mysql://" + USER + ":" + SECRET + "@" + host + end,
        "jdbc:mysql://" + USER + ":" + SECRET + "@[" + host + "," + host + "]" + end
            + "&failOverReadOnly=false",
        DATABASE.jdbcUrl("mysql", login),
        DATABASE.jdbcUrl("mysql", login + "&trustCertificateKeyStorePassword=" + SECRET),
        DATABASE.jdbcUrl("mariadb", login),
        "jdbc:mysql://" + keys + end,
        "jdbc:mysql://" + keys + "," + keys + end,
        "jdbc:mysql://" + keys + "," + keys + end + "&failOverReadOnly=false",
        "jdbc:mysql://address=(host=127.0.0.1)(port=" + port + ")(user=" + USER + ")(password="
            + SECRET + ")" + end);
  }

  static Stream<String> urlsThatDoNotConnect() {
    return Stream.of(
        DATABASE.jdbcUrl("mysql", "user=nobody&password=%s"),
        "jdbc:mysql://root:x@%s@127.0.0.1:1/app",
        "jdbc:mysql://(host=127.0.0.1,port=1,user=root,password=x)%s)/app",
        "jdbc:mariadb://127.0.0.1:1/app?password=%s");
  }

  @ParameterizedTest
  @MethodSource("urlsThatDoNotConnect")
  void nodeThatCannotConnectTellsNoPassword(String url, CapturedOutput output) {
    assertTellsNoPasswordWithoutConnection(url, output);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "jdbc:mysql://root:%s@127.0.0.1:1/app",
        "jdbc:mysql://root:%s/x@127.0.0.1:1/app",
        "jdbc:mysql://root:x/%s@127.0.0.1:1/app",
        "jdbc:mysql://root:%s?x@127.0.0.1:1/app",
        "jdbc:mysql://root:%s#x@127.0.0.1:1/app",
        "jdbc:mysql://root:%s@x@127.0.0.1:1/app",
        "jdbc:mysql://root:%s:x@127.0.0.1:1/app",
        "jdbc:mysql://root:%%%s@127.0.0.1:1/app",
        "jdbc:mysql://root:%s",
        "jdbc:mysql://127.0.0.1:1/app?user=root&password=%s",
        "jdbc:mysql://127.0.0.1:1/app?password=%%%s",
        "jdbc:mysql://127.0.0.1:1/app?sslMode=VERIFY_CA&trustCertificateKeyStorePassword=%s",
        "jdbc:mysql://(host=127.0.0.1,port=1,user=root,password=%s)/app",
        "jdbc:mysql://(host=127.0.0.1,port=1,user=root,password=x@%s)/app",
        "jdbc:mysql://(host=127.0.0.1,port=1,user=root,password=x,%s)/app",
        "jdbc:mysql://(host=127.0.0.1,port=1,password=%1$s),(host=127.0.0.1,port=2,password=%1$s)/app",
        "jdbc:mysql://(host=127.0.0.1,port=1,password=%1$s),(host=127.0.0.1,port=2,password=%1$s)/app?failOverReadOnly=false",
        "jdbc:mysql://address=(host=127.0.0.1)(port=1)(password=%s)/app",
        "jdbc:mysql:replication://root:%s@127.0.0.1:1,127.0.0.1:2/app",
        "jdbc:mysql+srv://root:%s@host.invalid/app",
        "jdbc:mariadb://root:%s@127.0.0.1:1/app",
        "jdbc:mariadb://(host=127.0.0.1,port=1,password=%s)/app",
        "jdbc:mariadb://address=(host=127.0.0.1)(port=1)(password=%s)/app",
        "jdbc:mariadb:sequential://127.0.0.1:1,127.0.0.1:2/app?password=%s"
      })
  @Tag("long")
  void nodeThatCannotConnectTellsNoPasswordHoweverItIsWritten(String url, CapturedOutput output) {
    assertTellsNoPasswordWithoutConnection(url, output);
  }

  private void assertTellsNoPasswordWithoutConnection(String url, CapturedOutput output) {
    this.application
        .withPropertyValues(
            "spring.datasource.url=" + url.formatted(SECRET),
            "spring.datasource.driver-class-name="
                + (url.startsWith("jdbc:mysql")
                    ? "com.mysql.cj.jdbc.Driver"
                    : "org.mariadb.jdbc.Driver"),
            "as.election.lease-duration=600ms",
            "as.election.renew-interval=100ms",
            "as.election.operation-timeout=200ms")
        .run((context) -> {
          assertThat(context).hasNotFailed();
          patiently().until(() -> health(context).getStatus().equals(Status.DOWN));
          assertThat(shown(context)).allSatisfy(SecretsIT::isFreeOfSecrets);
        });
    assertThat(output).isNotEmpty();
    isFreeOfSecrets(output.getAll());
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "jdbc:oracle:thin:scott/%s@//127.0.0.1:1/app",
        "jdbc:oracle:thin:scott/%s?x@//127.0.0.1:1/app",
        "jdbc:redshift://127.0.0.1:1/app?password=%s",
        "jdbc:db2://127.0.0.1:1/app:password=%s;user=x",
        "jdbc:h2:mem:app;USER=sa;PASSWORD=%s@x",
        "jdbc:sqlserver://127.0.0.1;user=sa;password=%s@x"
      })
  void startThatIsRefusedTellsNoPassword(String url, CapturedOutput output) {
    assertThat(StartFailure.text(this.application.withPropertyValues(
            "spring.datasource.url=" + url.formatted(SECRET),
            "spring.datasource.driver-class-name=org.h2.Driver")))
        .contains("ZooKeeper or etcd, but the DataSource is ")
        .satisfies(SecretsIT::isFreeOfSecrets);
    isFreeOfSecrets(output.getAll());
  }

  private static List<String> shown(ApplicationContext context) {
    EndpointAccess endpoint = new EndpointAccess(context);
    Info.Builder info = new Info.Builder();
    context.getBean(InfoContributor.class).contribute(info);
    List<String> shown = new ArrayList<>(List.of(
        health(context).getDetails().toString(),
        info.build().toString(),
        endpoint.elections().toString(),
        String.valueOf(endpoint.election("orders")),
        String.valueOf(endpoint.forceElection("orders", "a test").getBody())));
    context
        .getBean(MeterRegistry.class)
        .getMeters()
        .forEach((meter) -> shown.add(meter.getId().toString()));
    return shown;
  }

  private static Health health(ApplicationContext context) {
    return context.getBean(HealthIndicator.class).health();
  }

  /** The text does not contain a part of the password either. */
  private static void isFreeOfSecrets(String text) {
    assertThat(text).doesNotContain("Keep1", "this2", "to3your", "3yourself");
  }
}
