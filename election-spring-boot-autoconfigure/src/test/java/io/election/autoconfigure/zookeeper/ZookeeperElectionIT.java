package io.election.autoconfigure.zookeeper;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.autoconfigure.KeyValueElectionContract;
import io.election.lease.LeaseStore;
import io.election.lease.MemoryLeaseStore;
import io.election.zookeeper.Zookeeper;
import java.util.UUID;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The complete election in an application, on a real ZooKeeper. */
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
  @SuppressWarnings("try") // close() is interruptible
  void withAUserTheNodesAreItsAlone() {
    node("a", at("/secured"))
        .withPropertyValues(PREFIX + "username=app", PREFIX + "password=" + PASSWORD)
        .run((context) -> {
          awaitLeader(context);
          try (ZooKeeper stranger =
              new ZooKeeper(zookeeper.connectString(), 40_000, (event) -> {})) {
            assertThatThrownBy(() -> stranger.getData("/secured/orders", false, null))
                .isInstanceOf(KeeperException.NoAuthException.class);
            stranger.addAuthInfo("digest", ("app:" + PASSWORD).getBytes(UTF_8));
            assertThat(stranger.getData("/secured/orders", false, null)).isNotEmpty();
          }
        });
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
