package io.election.mysql.failover.agent;

import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.bind.DefaultValue;
import org.springframework.boot.ssl.pem.PemSslStoreBundle;
import org.springframework.boot.ssl.pem.PemSslStoreDetails;

/**
 * Settings of connections from this server and its agent to other servers.
 *
 * @param mode Whether TLS is required, and whether the certificate of the other server is verified.
 * @param ca PEM file with the certificates of the authorities. The agent and its server read it.
 */
record Tls(@DefaultValue("required") Mode mode, @Nullable Path ca) {

  enum Mode {
    /** No TLS. Passwords are encrypted by a public key that the other server sends. */
    OFF,
    /** TLS with whatever certificate the other server has. */
    REQUIRED,
    /** TLS with a certificate that names the other server's host and is of an authority. */
    VERIFY
  }

  private static final String STORE_PASSWORD = "certificates";

  /** The authorities as the driver reads them, by their file. */
  private static final Map<Path, String> STORES = new ConcurrentHashMap<>();

  /** Returns the properties of the driver. */
  Map<String, String> ofDriver() {
    return switch (this.mode) {
      case OFF -> Map.of("sslMode", "DISABLED", "allowPublicKeyRetrieval", "true");
      case REQUIRED -> Map.of("sslMode", "REQUIRED");
      case VERIFY ->
        Map.of(
            "sslMode",
            "VERIFY_IDENTITY",
            "trustCertificateKeyStoreUrl",
            STORES.computeIfAbsent(authorities(), Tls::store),
            "trustCertificateKeyStoreType",
            "PKCS12",
            "trustCertificateKeyStorePassword",
            STORE_PASSWORD);
    };
  }

  String ofReplication() {
    return "SOURCE_SSL = %s, SOURCE_SSL_CA = '%s', SOURCE_SSL_VERIFY_SERVER_CERT = %s, GET_SOURCE_PUBLIC_KEY = %s"
        .formatted(
            this.mode == Mode.OFF ? 0 : 1,
            ofServer(),
            this.mode == Mode.VERIFY ? 1 : 0,
            this.mode == Mode.OFF ? 1 : 0);
  }

  /** Returns the end of a statement that clones a server. */
  String ofClone() {
    return this.mode == Mode.OFF ? "REQUIRE NO SSL" : "REQUIRE SSL";
  }

  /** Returns the file with the authorities, for a server; empty if it verifies nothing. */
  String ofServer() {
    return this.mode == Mode.VERIFY ? ServerConnection.literal(authorities().toString()) : "";
  }

  private Path authorities() {
    return Objects.requireNonNull(this.ca);
  }

  private static String store(Path ca) {
    try {
      PemSslStoreDetails certificates =
          PemSslStoreDetails.forCertificate(ca.toUri().toString());
      KeyStore store = new PemSslStoreBundle(null, certificates).getTrustStore();
      Path file = Files.createTempFile("authorities", ".p12");
      file.toFile().deleteOnExit();
      try (OutputStream out = Files.newOutputStream(file)) {
        Objects.requireNonNull(store).store(out, STORE_PASSWORD.toCharArray());
      }
      return file.toUri().toString();
    } catch (IOException | GeneralSecurityException ex) {
      throw new IllegalStateException("as.failover.tls.ca cannot be used: " + ex, ex);
    }
  }
}
