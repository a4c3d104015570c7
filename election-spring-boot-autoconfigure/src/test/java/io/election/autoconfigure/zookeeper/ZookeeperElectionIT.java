package io.election.autoconfigure.zookeeper;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static io.election.autoconfigure.MysqlNode.patiently;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.ElectionService;
import io.election.autoconfigure.KeyValueElectionContract;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.TestCertificate;
import io.election.store.LeaseStore;
import io.election.zookeeper.Zookeeper;
import io.election.zookeeper.ZookeeperFence;
import io.election.zookeeper.ZookeeperLeaseStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import java.util.UUID;
import javax.security.auth.login.AppConfigurationEntry;
import javax.security.auth.login.AppConfigurationEntry.LoginModuleControlFlag;
import javax.security.auth.login.Configuration;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.server.auth.DigestLoginModule;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.boot.test.system.CapturedOutput;

/** The complete election in an application, on a real ZooKeeper. */
@SuppressWarnings("try") // a client's close() is interruptible
@Tag("faults")
class ZookeeperElectionIT extends KeyValueElectionContract {

  private static final String PREFIX = "as.election.zookeeper.";

  private static Zookeeper zookeeper;

  ZookeeperElectionIT() {
    super("Zookeeper", "connect-string=127.0.0.1:1");
  }

  @BeforeAll
  static void start() {
    zookeeper = Zookeeper.start();
  }

  @AfterAll
  static void stop() {
    zookeeper.close();
  }

  private static String[] at(String root) {
    return new String[] {
      PREFIX + "connect-string=" + zookeeper.connectString(), PREFIX + "root=" + root
    };
  }

  @Override
  protected String[] server() {
    return at("/test-" + UUID.randomUUID());
  }

  @Test
  void withoutAUserAWarningSaysThatEveryClientCanChangeTheLeaders(CapturedOutput output) {
    node("a", at("/open")).run((context) -> {
      awaitLeader(context);
      assertThat(output)
          .containsOnlyOnce(
              "Every client of ZooKeeper can change the leaders: the nodes below /open");
    });
  }

  @Test
  void withAUserTheNodesAreItsAlone(CapturedOutput output) {
    node("a", at("/secured"))
        .withPropertyValues(PREFIX + "username=app", PREFIX + "password=" + PASSWORD)
        .run((context) -> {
          awaitLeader(context);
          try (ZooKeeper stranger = stranger()) {
            assertThatThrownBy(() -> stranger.getData("/secured/orders", false, null))
                .isInstanceOf(KeeperException.NoAuthException.class);
            stranger.addAuthInfo("digest", ("app:" + PASSWORD).getBytes(UTF_8));
            assertThat(stranger.getData("/secured/orders", false, null)).isNotEmpty();
          }
          assertThat(output).doesNotContain("can change the leaders");
        });
  }

  @Test
  void nodesAreMadeWithTheRightsThatAreSet() throws Exception {
    node("a", at("/shown"))
        .withPropertyValues(
            PREFIX + "username=app",
            PREFIX + "password=" + PASSWORD,
            PREFIX + "acl=auth::cdrwa, world:anyone:r")
        .run((context) -> {
          awaitLeader(context);
          try (ZooKeeper stranger = stranger()) {
            assertThat(stranger.getData("/shown/orders", false, null)).isNotEmpty();
            assertThatThrownBy(() -> stranger.delete("/shown/orders", -1))
                .isInstanceOf(KeeperException.NoAuthException.class);
          }
        });
  }

  @Test
  void aCuratorOfTheApplicationLendsItsServersAndItsNamespace() {
    CuratorFramework curator = CuratorFrameworkFactory.builder()
        .connectString(zookeeper.connectString())
        .namespace("applications/lent")
        .retryPolicy(new RetryOneTime(1))
        .build();
    node("a").withBean(CuratorFramework.class, () -> curator).run((context) -> {
      awaitLeader(context);
      assertThat(curator.getState()).as("never started").isEqualTo(CuratorFrameworkState.LATENT);
      try (ZooKeeper stranger = stranger()) {
        assertThat(stranger.exists("/applications/lent/election/orders", false)).isNotNull();
      }
    });
  }

  @Test
  void certificatesOfABundleConnectToTheSecurePort(@TempDir Path folder) throws Exception {
    TestCertificate certificate = TestCertificate.create(folder);
    try (Zookeeper secured = Zookeeper.startSecure(
        certificate.keyStore(), certificate.trustStore(), TestCertificate.PASSWORD)) {
      String secure = PREFIX + "connect-string=" + secured.secureConnectString();
      String bundle = PREFIX + "ssl.bundle=ours";
      node("a", secure, bundle)
          .withPropertyValues(certificate.jks("ours"))
          .run((context) -> awaitLeader(context));
      node("b", secure, bundle)
          .withPropertyValues(certificate.pem("ours"))
          .run((context) -> awaitLeader(context));
      String needed = "as.election.fail-fast=true";
      assertThat(failure(secure, needed)).contains("do both use TLS or not");
      String plain = PREFIX + "connect-string=" + secured.connectString();
      assertThat(StartFailure.text(
              node("d", plain, bundle, needed).withPropertyValues(certificate.jks("ours"))))
          .contains("do both use TLS or not");
    }
  }

  /** As docs/zookeeper.md describes it. */
  @Test
  void aBeanConnectsBySasl(@TempDir Path folder, CapturedOutput output) throws Exception {
    Path jaas = Files.writeString(
        folder.resolve("jaas.conf"),
        "Server { %s required user_orders=\"%s\"; };"
            .formatted(DigestLoginModule.class.getName(), PASSWORD));
    try (Zookeeper server = Zookeeper.startWithSasl(jaas)) {
      LoginSections.use("ElectionClient", PASSWORD);
      node("a")
          .withBean("zookeeperLeaseStore", LeaseStore.class, () -> bySasl(server))
          .run((context) -> {
            awaitLeader(context);
            assertThat(context).doesNotHaveBean(ZookeeperFence.class);
            try (ZooKeeper stranger = client(server)) {
              assertThatThrownBy(() -> stranger.getData("/election/orders", false, null))
                  .isInstanceOf(KeeperException.NoAuthException.class);
            }
          });

      LoginSections.use("ElectionClient", "wrong");
      node("b")
          .withBean("zookeeperLeaseStore", LeaseStore.class, () -> bySasl(server))
          .run((context) -> {
            patiently().until(() -> output.getAll().contains("could not authenticate"));
            assertThat(context.getBean(ElectionService.class).isLeader()).isFalse();
          });
    } finally {
      Configuration.setConfiguration(null);
    }
  }

  private static LeaseStore bySasl(Zookeeper server) {
    return ZookeeperLeaseStore.builder(server.connectString())
        .property("zookeeper.sasl.clientconfig", "ElectionClient")
        .property("zookeeper.fips-mode", "false")
        .acl("sasl:orders:cdrwa")
        .build();
  }

  /** The only section of the login configuration of this JVM, as a file of JAAS would have it. */
  private static final class LoginSections extends Configuration {

    private final String section;

    private final String password;

    private LoginSections(String section, String password) {
      this.section = section;
      this.password = password;
    }

    static void use(String section, String password) {
      Configuration.setConfiguration(new LoginSections(section, password));
    }

    @Override
    public AppConfigurationEntry @Nullable [] getAppConfigurationEntry(String name) {
      return name.equals(this.section)
          ? new AppConfigurationEntry[] {
            new AppConfigurationEntry(
                DigestLoginModule.class.getName(),
                LoginModuleControlFlag.REQUIRED,
                Map.of("username", "orders", "password", this.password))
          }
          : null;
    }
  }

  private static ZooKeeper stranger() throws IOException {
    return client(zookeeper);
  }

  private static ZooKeeper client(Zookeeper server) throws IOException {
    return new ZooKeeper(server.connectString(), 40_000, (event) -> {});
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "| connect-string is not set; zoo1:2181,zoo2:2181",
        "connect-string= | connect-string is ''",
        "connect-string=zoo1:port | connect-string is 'zoo1:port'; is malformed; separated by commas",
        "connect-string=zoo 1:2181 | connect-string is 'zoo 1:2181'; is malformed; separated by commas",
        "connect-string=http://zoo1:2181 | connect-string is 'http://zoo1:2181'; is malformed; separated by commas",
        "connect-string=zoo1:2181; root=orders | root is 'orders'; must start with /; /soa/master/services",
        "connect-string=zoo1:2181; root=/ | root is '/'; its own nodes; /soa/master/services",
        "connect-string=zoo1:2181; root=/zookeeper/orders | root is '/zookeeper/orders'; its own nodes; /soa/master/services",
        "connect-string=zoo1:2181; acl=orders | acl is 'orders'; scheme:id:permissions",
        "connect-string=zoo1:2181; acl=world:anyone: | acl is 'world:anyone:'; scheme:id:permissions",
        "connect-string=zoo1:2181; acl=world:anyone:cdx | acl is 'world:anyone:cdx'; scheme:id:permissions",
        "connect-string=zoo1:2181; acl=world:anyone:r | acl is 'world:anyone:r'; cdrw (create, delete, read, write)",
        "connect-string=zoo1:2181; username=app | password is not set; as.election.zookeeper.username is set",
        "connect-string=zoo1:2181; password=" + PASSWORD + " | username is not set",
        "connect-string=zoo1:2182; ssl.bundle=ours | ssl.bundle is 'ours'; there is no such SSL bundle"
      })
  void unusableSettingsAreRefused(@Nullable String settings, String texts) {
    assertRefused(settings, texts);
  }
}
