package io.election.autoconfigure.zookeeper;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.autoconfigure.KeyValueElectionContract;
import io.election.autoconfigure.StartFailure;
import io.election.autoconfigure.TestCertificate;
import io.election.lease.LeaseStore;
import io.election.lease.MemoryLeaseStore;
import io.election.zookeeper.Zookeeper;
import java.io.IOException;
import java.nio.file.Path;
import java.util.UUID;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.imps.CuratorFrameworkState;
import org.apache.curator.retry.RetryOneTime;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The complete election in an application, on a real ZooKeeper. */
@SuppressWarnings("try") // a client's close() is interruptible
class ZookeeperElectionIT extends KeyValueElectionContract {

  private static final String PREFIX = "as.election.zookeeper.";

  private static Zookeeper zookeeper;

  ZookeeperElectionIT() {
    super("Zookeeper");
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

  @Override
  protected String[] nowhere() {
    return new String[] {
      PREFIX + "connect-string=127.0.0.1:1",
      PREFIX + "username=app",
      PREFIX + "password=" + PASSWORD
    };
  }

  @Test
  void withAUserTheNodesAreItsAlone() {
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

  @Test
  void bundleThatIsNotThereIsRefused() {
    assertThat(failure(PREFIX + "connect-string=zoo1:2182", PREFIX + "ssl.bundle=ours"))
        .contains("as.election.zookeeper.ssl.bundle is 'ours'", "there is no such SSL bundle");
  }

  @ParameterizedTest
  @ValueSource(strings = {"orders", "world:anyone:", "world:anyone:cdx"})
  void malformedRightsAreRefused(String acl) {
    assertThat(failure(PREFIX + "connect-string=zoo1:2181", PREFIX + "acl=" + acl))
        .contains("as.election.zookeeper.acl is '" + acl + "'", "scheme:id:permissions");
  }

  private static ZooKeeper stranger() throws IOException {
    return new ZooKeeper(zookeeper.connectString(), 40_000, (event) -> {});
  }

  @Test
  void missingConnectStringIsRefused() {
    assertThat(failure())
        .contains("as.election.zookeeper.connect-string is not set", "zoo1:2181,zoo2:2181");
    assertThat(failure(PREFIX + "connect-string="))
        .contains("as.election.zookeeper.connect-string is ''");
  }

  @ParameterizedTest
  @ValueSource(strings = {"zoo1:port", "zoo 1:2181", "http://zoo1:2181"})
  void malformedConnectStringIsRefused(String value) {
    assertThat(failure(PREFIX + "connect-string=" + value))
        .contains("as.election.zookeeper.connect-string is '" + value + "'")
        .contains("is malformed", "separated by commas");
  }

  @ParameterizedTest
  @CsvSource({"orders, must start with /", "/, its own nodes", "/zookeeper/orders, its own nodes"})
  void wrongRootIsRefused(String root, String problem) {
    assertThat(failure(at(root)))
        .contains("as.election.zookeeper.root is '" + root + "'")
        .contains(problem, "/soa/master/services");
  }

  @Test
  void userWithoutPasswordIsRefused() {
    assertThat(failure(PREFIX + "connect-string=zoo1:2181", PREFIX + "username=app"))
        .contains("as.election.zookeeper.password is not set")
        .contains("as.election.zookeeper.username is set");
    assertThat(failure(PREFIX + "connect-string=zoo1:2181", PREFIX + "password=" + PASSWORD))
        .contains("as.election.zookeeper.username is not set")
        .doesNotContain(PASSWORD);
  }

  @Test
  void storeOfTheApplicationReplacesOurs() {
    MemoryLeaseStore own = new MemoryLeaseStore();
    node("a")
        .withBean("zookeeperLeaseStore", LeaseStore.class, () -> own)
        .run((context) -> assertThat(context.getBean(LeaseStore.class)).isSameAs(own));
  }
}
