package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.support.TestDataSource;
import io.election.support.TestDatabase;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLSocket;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** A client refuses the certificate of its server. */
@Tag("long")
class CertificateIT {

  private static final String PASSWORD = "of-the-keys";

  @TempDir
  private static Path folder;

  private final TestDatabase database = TestDatabase.newDatabase().withTables();

  /** Creates an authority and a request, both of one key. */
  @BeforeAll
  static void createAuthority() throws Exception {
    keytool("-genkeypair", "-keyalg", "RSA", "-dname", "CN=authority", "-ext", "bc:c");
    keytool("-certreq", "-file", folder.resolve("request").toString());
    KeyStore trusted = KeyStore.getInstance("PKCS12");
    trusted.load(null, null);
    trusted.setCertificateEntry("authority", authority().getCertificate("mykey"));
    try (OutputStream out = Files.newOutputStream(folder.resolve("trusted"))) {
      trusted.store(out, PASSWORD.toCharArray());
    }
  }

  private static void keytool(String... arguments) throws Exception {
    List<String> command = new ArrayList<>();
    command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
    command.addAll(List.of(arguments));
    command.addAll(List.of(
        "-storetype",
        "PKCS12",
        "-storepass",
        PASSWORD,
        "-keystore",
        folder.resolve("authority").toString()));
    Process keytool = new ProcessBuilder(command).redirectErrorStream(true).start();
    String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(keytool.waitFor()).as(output).isZero();
  }

  private static KeyStore authority() throws Exception {
    return KeyStore.getInstance(folder.resolve("authority").toFile(), PASSWORD.toCharArray());
  }

  @ParameterizedTest
  @CsvSource({
    "mysql, -10d, NotAfter",
    "mysql, +10d, NotBefore",
    "mariadb, -10d, NotAfter",
    "mariadb, +10d, NotBefore"
  })
  void datesOfTheCertificateAreToldWithTheClock(String driver, String begin, String cause)
      throws Exception {
    Path file = folder.resolve("certificate" + begin);
    keytool(
        "-gencert",
        "-infile",
        folder.resolve("request").toString(),
        "-outfile",
        file.toString(),
        "-dname",
        "CN=server",
        "-startdate",
        begin,
        "-validity",
        "5");
    Certificate issued;
    try (InputStream in = Files.newInputStream(file)) {
      issued = CertificateFactory.getInstance("X.509").generateCertificate(in);
    }
    String trust = driver.equals("mysql")
        ? "sslMode=VERIFY_CA&trustCertificateKeyStoreType=PKCS12&trustCertificateKeyStorePassword=%s&trustCertificateKeyStoreUrl=file:%s"
        : "sslMode=verify-ca&trustStoreType=PKCS12&trustStorePassword=%s&trustStore=file:%s";
    assertIsRefused(
        driver,
        trust.formatted(PASSWORD, folder.resolve("trusted")),
        "By this node's clock the certificate of ",
        cause,
        issued,
        authority().getCertificate("mykey"));
  }

  @Test
  void aCertificateThatIsNotTrustedIsTold() throws Exception {
    assertIsRefused(
        "mysql",
        "sslMode=VERIFY_CA",
        "This node does not trust the certificate of ",
        "Path does not chain",
        authority().getCertificate("mykey"));
  }

  private void assertIsRefused(
      String driver, String parameters, String problem, String cause, Certificate... chain)
      throws Exception {
    try (Front front = new Front(chain)) {
      String place = "127.0.0.1:" + front.socket.getLocalPort() + "/" + this.database.name();
      String url = "jdbc:" + driver + "://" + place + "?" + parameters;
      try (JdbcLeaseStore store = Database.store(
          new TestDataSource(url, this.database.username(), this.database.password()), url)) {
        for (int i = 0; i < 3; i++) {
          assertThatThrownBy(() -> store.read(Set.of("jobs")))
              .hasMessageContaining(problem + place)
              .hasMessageContaining(cause);
        }
      }
      assertThat(front.connections).hasValue(1);
    }
  }

  /** Begins the encryption of connections to the server, with a certificate of its own. */
  private final class Front implements AutoCloseable {

    final ServerSocket socket = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
    final AtomicInteger connections = new AtomicInteger();
    private final SSLContext encryption = SSLContext.getInstance("TLS");

    Front(Certificate... chain) throws Exception {
      KeyStore keys = KeyStore.getInstance("PKCS12");
      keys.load(null, null);
      char[] password = PASSWORD.toCharArray();
      keys.setKeyEntry("server", authority().getKey("mykey", password), password, chain);
      KeyManagerFactory factory = KeyManagerFactory.getInstance("PKIX");
      factory.init(keys, password);
      this.encryption.init(factory.getKeyManagers(), null, null);
      Thread accepting = new Thread(this::accept, "front");
      accepting.setDaemon(true);
      accepting.start();
    }

    private void accept() {
      while (!this.socket.isClosed()) {
        try (Socket client = this.socket.accept();
            Socket server = new Socket(
                InetAddress.getLoopbackAddress(),
                CertificateIT.this.database.server().port())) {
          this.connections.incrementAndGet();
          client.getOutputStream().write(offerEncryption(packet(server)));
          packet(client);
          SSLSocket encrypted =
              (SSLSocket) this.encryption.getSocketFactory().createSocket(client, null, true);
          encrypted.setUseClientMode(false);
          encrypted.startHandshake();
        } catch (IOException ex) {
          // The client has refused the certificate.
        }
      }
    }

    /** Reads a packet with its header: three bytes of length, and a number. */
    private static byte[] packet(Socket from) throws IOException {
      DataInputStream in = new DataInputStream(from.getInputStream());
      byte[] header = in.readNBytes(4);
      int length = (header[0] & 255) | (header[1] & 255) << 8 | (header[2] & 255) << 16;
      byte[] packet = new byte[4 + length];
      System.arraycopy(header, 0, packet, 0, 4);
      in.readFully(packet, 4, length);
      return packet;
    }

    /** Sets the flag in a greeting, whose version ends with a zero. */
    private static byte[] offerEncryption(byte[] greeting) {
      int end = 5;
      while (greeting[end] != 0) {
        end++;
      }
      greeting[end + 15] |= 8;
      return greeting;
    }

    @Override
    public void close() throws IOException {
      this.socket.close();
    }
  }
}
