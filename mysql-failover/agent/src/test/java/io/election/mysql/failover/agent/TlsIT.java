package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.election.mysql.failover.agent.ReplicationSet.Server;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.Key;
import java.security.KeyStore;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Base64;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.context.properties.bind.Binder;
import org.springframework.boot.context.properties.source.MapConfigurationPropertySource;

/** Queries, replication and clones send credentials to the right server alone. */
@Tag("faults")
@Tag("failover")
class TlsIT {

  private static final String PASSWORD = "of-the-keys";

  @TempDir
  private Path folder;

  private ReplicationSet set;
  private Server source;
  private Server replica;

  @BeforeEach
  void startServers() throws SQLException {
    this.set = new ReplicationSet("a", "b");
    this.source = this.set.get("a");
    this.replica = this.set.get("b");
  }

  @AfterEach
  void stopServers() {
    this.set.close();
  }

  private AgentProperties properties(String mode, Path ca) {
    Map<String, String> properties =
        AgentProcess.arguments(this.replica, this.set.servers.values(), "tls", "").stream()
            .map((argument) -> argument.substring(2).split("=", 2))
            .collect(Collectors.toMap((pair) -> pair[0], (pair) -> pair[1]));
    properties.put("as.failover.tls.mode", mode);
    if (ca != null) {
      properties.put("as.failover.tls.ca", ca.toString());
    }
    return new Binder(new MapConfigurationPropertySource(properties))
        .bind("as.failover", AgentProperties.class)
        .get();
  }

  /** Returns the file of a certificate that signs itself, on both machines, after giving it to the source. */
  private Path certify(String name) throws Exception {
    Path store = this.folder.resolve(name.replaceAll("\\W", "-"));
    Process keytool = new ProcessBuilder(List.of(
            Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
            "-genkeypair",
            "-keyalg",
            "RSA",
            "-dname",
            "CN=server",
            "-ext",
            "SAN=" + name,
            "-storetype",
            "PKCS12",
            "-storepass",
            PASSWORD,
            "-keystore",
            store.toString()))
        .redirectErrorStream(true)
        .start();
    String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(keytool.waitFor()).as(output).isZero();
    KeyStore keys = KeyStore.getInstance(store.toFile(), PASSWORD.toCharArray());
    Key key = keys.getKey("mykey", PASSWORD.toCharArray());
    String certificate = pem("CERTIFICATE", keys.getCertificate("mykey").getEncoded());
    Path file = Files.writeString(this.folder.resolve(store + ".pem"), certificate);
    this.replica.put(file.toString(), certificate);
    this.source.put("/etc/server.pem", certificate);
    this.source.put("/etc/server-key.pem", pem("PRIVATE KEY", key.getEncoded()));
    this.source.execute(
        "SET GLOBAL ssl_cert = '/etc/server.pem'",
        "SET GLOBAL ssl_key = '/etc/server-key.pem'",
        "ALTER INSTANCE RELOAD TLS");
    return file;
  }

  private static String pem(String kind, byte[] content) {
    return "-----BEGIN %1$s-----%n%2$s%n-----END %1$s-----%n"
        .formatted(kind, Base64.getMimeEncoder().encodeToString(content));
  }

  private MysqlServer replica(AgentProperties properties) {
    return new MysqlServer(
        properties.url(),
        properties.username(),
        properties.password(),
        properties.tls(),
        System::nanoTime);
  }

  private static void follow(MysqlServer server, AgentProperties properties) throws SQLException {
    server
        .replication()
        .follow(
            properties.address("a"),
            properties.replicationUsername(),
            properties.replicationPassword());
  }

  private void assertReplicates(AgentProperties properties, String columns) throws SQLException {
    Peer.inspect(properties.address("a"), properties);
    try (MysqlServer server = replica(properties)) {
      follow(server, properties);
      await()
          .atMost(Duration.ofSeconds(20))
          .until(() -> server.state().receiver().connected());
    }
    assertThat(this.replica.query("""
            SELECT CONCAT_WS(',', ssl_allowed, ssl_verify_server_certificate, ssl_ca_file, get_public_key)
            FROM performance_schema.replication_connection_configuration
            """)).isEqualTo(columns);
  }

  private void assertRefused(AgentProperties properties) throws SQLException {
    assertThatThrownBy(() -> Peer.inspect(properties.address("a"), properties))
        .isInstanceOf(SQLException.class);
    try (MysqlServer server = replica(properties)) {
      follow(server, properties);
      await()
          .atMost(Duration.ofSeconds(20))
          .untilAsserted(() -> assertThat(
                  this.replica.query(
                      "SELECT last_error_message FROM performance_schema.replication_connection_status"))
              .contains("SSL connection error"));
      assertThat(server.state().receiver().connected()).isFalse();
    }
  }

  private void rebuild(AgentProperties properties) throws SQLException {
    try (MysqlServer server = replica(properties)) {
      server
          .replication()
          .rebuild(
              properties.address("a"),
              properties.replicationUsername(),
              properties.replicationPassword());
    }
  }

  @Test
  void verificationTakesTheServerThatTheCertificateNames() throws Exception {
    Path right = certify("IP:" + this.source.host());
    AgentProperties verify = properties("verify", right);
    assertReplicates(verify, "YES,YES,%s,NO".formatted(right));

    AgentProperties wrongName = properties("verify", certify("DNS:elsewhere"));
    assertRefused(wrongName);
    assertRefused(verify); // another authority
    assertThatThrownBy(() -> rebuild(verify)).hasMessageContaining("SSL");
    assertReplicates(properties("required", null), "YES,NO,,NO");

    AgentProperties again = properties("verify", certify("DNS:a,IP:" + this.source.host()));
    this.source.execute(
        "SET GLOBAL super_read_only = OFF", "INSERT INTO orders.written VALUES (7)");
    assertThatThrownBy(() -> rebuild(again)).isInstanceOf(SQLException.class);
    await().atMost(Duration.ofSeconds(60)).until(() -> !this.replica.isRunning());
    this.replica.startAgain();
    await()
        .atMost(Duration.ofSeconds(60))
        .ignoreExceptions()
        .untilAsserted(() -> assertThat(this.replica.ids()).contains(7L));
  }

  @Test
  void aServerWithoutTlsIsRefused() throws Exception {
    this.source.execute(
        "SET GLOBAL ssl_cert = '/none'", "ALTER INSTANCE RELOAD TLS NO ROLLBACK ON ERROR");
    AgentProperties required = properties("required", null);
    assertRefused(required);
    assertThatThrownBy(() -> rebuild(required)).hasMessageContaining("SSL");
  }

  @Test
  @Tag("long")
  void aPublicKeyIsTakenIfThatWasAskedFor() throws Exception {
    assertReplicates(properties("off", null), "NO,NO,,YES");
    this.replica.execute("FLUSH PRIVILEGES"); // forgets the passwords that need no key
    String plain = "jdbc:mysql://%s:3306/?sslMode=DISABLED".formatted(this.replica.host());
    try (MysqlServer server = new MysqlServer(
        plain, "root", ReplicationSet.PASSWORD, ReplicationSet.TLS, System::nanoTime)) {
      assertThatThrownBy(server::state).hasMessageContaining("Public Key Retrieval is not allowed");
    }
  }
}
