package io.election.autoconfigure.etcd;

import static io.election.autoconfigure.MysqlNode.awaitLeader;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.autoconfigure.KeyValueElectionContract;
import io.election.autoconfigure.TestCertificate;
import io.election.etcd.EtcdProcess;
import java.nio.file.Path;
import java.util.UUID;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** The complete election in an application, on a real etcd. */
@Tag("faults")
class EtcdElectionIT extends KeyValueElectionContract {

  private static final String PREFIX = "as.election.etcd.";

  EtcdElectionIT() {
    super("Etcd", "endpoints=http://127.0.0.1:1");
  }

  @Override
  protected String[] server() {
    return new String[] {
      PREFIX + "endpoints=" + EtcdProcess.shared().url(),
      PREFIX + "prefix=/test-" + UUID.randomUUID() + "/"
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

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "| endpoints is not set; http://etcd-1:2379,http://etcd-2:2379",
        "endpoints=etcd-1:2379 | endpoints is 'etcd-1:2379'; http://host:2379 or https://host:2379",
        "endpoints=http://etcd-1:2379/v3 | endpoints is 'http://etcd-1:2379/v3'; http://host:2379 or https://host:2379",
        "endpoints=http://a:2379,https://b:2379 | endpoints is 'http://a:2379,https://b:2379'; http://host:2379 or https://host:2379",
        "endpoints=http://app:" + PASSWORD + "@etcd-1:2379 | endpoints is 'http://…@etcd-1:2379'",
        "endpoints=http://etcd-1:2379; prefix=/election | prefix is '/election'; does not end with '/'",
        "endpoints=http://etcd-1:2379; username=app | password is not set; as.election.etcd.username is set",
        "endpoints=https://etcd-1:2379; ssl.bundle=etcd | ssl.bundle is 'etcd'; there is no such SSL bundle",
        "endpoints=http://etcd-1:2379; ssl.bundle=etcd | ssl.bundle is 'etcd'; https://host:2379"
      })
  void unusableSettingsAreRefused(@Nullable String settings, String texts) {
    assertRefused(settings, texts);
  }
}
