package io.election.autoconfigure.etcd;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.autoconfigure.KeyValueElectionContract;
import io.election.autoconfigure.TestCertificate;
import io.election.etcd.EtcdProcess;
import io.election.lease.LeaseStore;
import io.election.lease.MemoryLeaseStore;
import java.nio.file.Path;
import java.util.UUID;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The complete election in an application, on a real etcd. */
class EtcdElectionIT extends KeyValueElectionContract {

  private static final String PREFIX = "as.election.etcd.";

  EtcdElectionIT() {
    super("Etcd");
  }

  @Override
  protected String[] server() {
    return new String[] {
      PREFIX + "endpoints=" + EtcdProcess.shared().url(),
      PREFIX + "prefix=/test-" + UUID.randomUUID() + "/"
    };
  }

  @Override
  protected String[] nowhere() {
    return new String[] {
      PREFIX + "endpoints=http://127.0.0.1:1",
      PREFIX + "username=app",
      PREFIX + "password=" + PASSWORD
    };
  }

  @Test
  void userAndPasswordReachTheServer() {
    try (EtcdProcess secured = EtcdProcess.start()) {
      secured.ctl("user", "add", "root:" + PASSWORD);
      secured.ctl("user", "grant-role", "root", "root");
      secured.ctl("auth", "enable");
      node(
              "a",
              PREFIX + "endpoints=" + secured.url(),
              PREFIX + "username=root",
              PREFIX + "password=" + PASSWORD)
          .run((context) -> awaitLeader(context));
    }
  }

  @Test
  void certificatesOfABundleConnectToTheSecurePort(@TempDir Path folder) throws Exception {
    TestCertificate certificate = TestCertificate.create(folder);
    try (EtcdProcess secured =
        EtcdProcess.startSecure(certificate.certificate(), certificate.key())) {
      String secure = PREFIX + "endpoints=" + secured.secureUrl();
      String bundle = PREFIX + "ssl.bundle=ours";
      node("a", secure, bundle)
          .withPropertyValues(certificate.pem("ours"))
          .run((context) -> awaitLeader(context));
      node("b", secure, bundle)
          .withPropertyValues(certificate.jks("ours"))
          .run((context) -> awaitLeader(context));
      String needed = "as.election.fail-fast=true";
      assertThat(failure(secure, needed)).contains("unable to find valid certification path");
      assertThat(failure(secure.replace("https", "http"), needed)).contains("http or https");
      assertThat(failure(PREFIX + "endpoints=" + secured.url().replace("http", "https"), needed))
          .contains("http or https");
    }
  }

  @Test
  void missingEndpointsAreRefused() {
    assertThat(failure())
        .contains("as.election.etcd.endpoints is not set", "http://etcd-1:2379,http://etcd-2:2379");
  }

  @ParameterizedTest
  @ValueSource(strings = {"etcd-1:2379", "http://etcd-1:2379/v3", "http://a:2379,https://b:2379"})
  void malformedEndpointsAreRefused(String value) {
    assertThat(failure(PREFIX + "endpoints=" + value))
        .contains("as.election.etcd.endpoints is '" + value + "'")
        .contains("http://host:2379 or https://host:2379");
  }

  @Test
  void passwordInAnEndpointIsRefusedButNotShown() {
    assertThat(failure(PREFIX + "endpoints=http://app:" + PASSWORD + "@etcd-1:2379"))
        .contains("as.election.etcd.endpoints is 'http://…@etcd-1:2379'")
        .doesNotContain(PASSWORD);
  }

  @Test
  void wrongPrefixIsRefused() {
    assertThat(failure(PREFIX + "endpoints=http://etcd-1:2379", PREFIX + "prefix=/election"))
        .contains("as.election.etcd.prefix is '/election'", "does not end with '/'");
  }

  @Test
  void userWithoutPasswordIsRefused() {
    assertThat(failure(PREFIX + "endpoints=http://etcd-1:2379", PREFIX + "username=app"))
        .contains("as.election.etcd.password is not set")
        .contains("as.election.etcd.username is set");
  }

  @Test
  void bundleThatIsNotThereIsRefused() {
    assertThat(failure(PREFIX + "endpoints=https://etcd-1:2379", PREFIX + "ssl.bundle=etcd"))
        .contains("as.election.etcd.ssl.bundle is 'etcd'", "there is no such SSL bundle");
  }

  @Test
  void bundleBesidePlainEndpointsIsRefused() {
    assertThat(failure(PREFIX + "endpoints=http://etcd-1:2379", PREFIX + "ssl.bundle=etcd"))
        .contains("as.election.etcd.ssl.bundle is 'etcd'", "https://host:2379");
  }

  @Test
  void storeOfTheApplicationReplacesOurs() {
    MemoryLeaseStore own = new MemoryLeaseStore();
    node("a")
        .withBean("etcdLeaseStore", LeaseStore.class, () -> own)
        .run((context) -> assertThat(context.getBean(LeaseStore.class)).isSameAs(own));
  }
}
