package io.election.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.ElectionSetupException;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.File;
import java.nio.file.Path;
import java.security.Key;
import java.security.KeyPairGenerator;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.Collections;
import java.util.Map;
import org.junit.jupiter.api.Test;

class KeyFilesTest {

  private static final String CERTIFICATE = """
      -----BEGIN CERTIFICATE-----
      MIIBfTCCASOgAwIBAgIURXZXTnO1JE6QSGQ00N5qpIhwBPkwCgYIKoZIzj0EAwIw
      EzERMA8GA1UEAwwIZWxlY3Rpb24wIBcNMjYxMTI4MTM0OTQxWhgPMjEyNjExMDQx
      MzQ5NDFaMBMxETAPBgNVBAMMCGVsZWN0aW9uMFkwEwYHKoZIzj0CAQYIKoZIzj0D
      AQcDQgAE4Ji2HjMUz0V/yMFMYj92DyiJmijC5MOeBeISkUBPLUIkFuTSPU9pUhuy
      3NBKqZmaWEotPkELQSvah5hk07lYxaNTMFEwHQYDVR0OBBYEFKkZHk1aUTjXZKva
      CicOpDaqZIIfMB8GA1UdIwQYMBaAFKkZHk1aUTjXZKvaCicOpDaqZIIfMA8GA1Ud
      EwEB/wQFMAMBAf8wCgYIKoZIzj0EAwIDSAAwRQIgXhF5TCwKbTwdA6euHXPwxZ+J
      uw2AAzdtRsy9RzBYMNMCIQDjenKpdEfHLifVq/mY9SPyqM48ISP1NHx54up0WGce
      ZA==
      -----END CERTIFICATE-----
      """;

  private final Certificate certificate;
  private final Key key;

  KeyFilesTest() throws Exception {
    this.certificate = CertificateFactory.getInstance("X.509")
        .generateCertificate(new ByteArrayInputStream(CERTIFICATE.getBytes(UTF_8)));
    this.key = KeyPairGenerator.getInstance("EC").generateKeyPair().getPrivate();
  }

  /** Has a key, and the certificate of somebody else. */
  private KeyStore store(String keyPassword) throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    store.load(null, null);
    store.setKeyEntry(
        "ours", this.key, keyPassword.toCharArray(), new Certificate[] {this.certificate});
    store.setCertificateEntry("theirs", this.certificate);
    return store;
  }

  private static char[] password(Map<String, String> properties, String store) {
    return properties.get("zookeeper.ssl." + store + ".password").toCharArray();
  }

  private static KeyStore read(Map<String, String> properties, String store) throws Exception {
    assertThat(properties).containsEntry("zookeeper.ssl." + store + ".type", "PKCS12");
    return KeyStore.getInstance(
        new File(properties.get("zookeeper.ssl." + store + ".location")),
        password(properties, store));
  }

  @Test
  void keysAreCopiedUnderAnotherPasswordWithoutTheCertificatesOfOthers() throws Exception {
    for (String keyPassword : new String[] {"of the key", null}) {
      String opens = keyPassword != null ? keyPassword : "";

      Map<String, String> properties = KeyFiles.write(store(opens), keyPassword, null);

      KeyStore copy = read(properties, "keyStore");
      assertThat(Collections.list(copy.aliases())).containsExactly("ours");
      assertThat(copy.getKey("ours", password(properties, "keyStore"))).isEqualTo(this.key);
      assertThat(copy.getCertificateChain("ours")).containsExactly(this.certificate);
      assertThat(properties)
          .containsEntry("zookeeper.client.secure", "true")
          .containsEntry("zookeeper.clientCnxnSocket", "org.apache.zookeeper.ClientCnxnSocketNetty")
          .doesNotContainKey("zookeeper.ssl.trustStore.location");
    }
  }

  @Test
  void certificatesThatAreTrustedAreCopiedWithoutKeys() throws Exception {
    Map<String, String> properties = KeyFiles.write(null, null, store("of the key"));

    KeyStore copy = read(properties, "trustStore");
    assertThat(Collections.list(copy.aliases()))
        .containsExactlyInAnyOrder("ours", "theirs")
        .allSatisfy((alias) -> {
          assertThat(copy.isCertificateEntry(alias)).isTrue();
          assertThat(copy.getCertificate(alias)).isEqualTo(this.certificate);
        });
    assertThat(properties).doesNotContainKey("zookeeper.ssl.keyStore.location");
  }

  @Test
  void aKeyThatItsPasswordDoesNotOpenIsToldWithARemedy() throws Exception {
    KeyStore keys = store("of the key");

    assertThatThrownBy(() -> KeyFiles.write(keys, "wrong", null))
        .isInstanceOf(ElectionSetupException.class)
        .hasMessageContaining("The certificates for ZooKeeper cannot be used: ")
        .hasMessageContaining("the password of the key");
  }

  @Test
  void nothingStaysBehindWhenTheJvmEnds() throws Exception {
    Process process = Zookeeper.launch(Writer.class);
    try (BufferedReader output = process.inputReader()) {
      Path file = Path.of(output.readLine());
      assertThat(file).exists();
      process.outputWriter().append('\n').flush();
      process.waitFor();

      assertThat(file.getParent()).doesNotExist();
    } finally {
      process.destroyForcibly();
    }
  }

  /** Prints the place of a file, and ends when it is told to. */
  static final class Writer {

    private Writer() {}

    public static void main(String[] arguments) throws Exception {
      KeyStore store = new KeyFilesTest().store("");
      System.out.println(KeyFiles.write(store, null, store).get("zookeeper.ssl.keyStore.location"));
      System.in.read();
    }
  }
}
