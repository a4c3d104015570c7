package io.election.autoconfigure;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.Base64;

/** A certificate of 127.0.0.1 for servers and clients, which trust it, made by the JDK. */
public record TestCertificate(Path folder) {

  public static final String PASSWORD = "of-the-keys";

  public static TestCertificate create(Path folder) throws Exception {
    TestCertificate certificate = new TestCertificate(folder);
    Process keytool = new ProcessBuilder(
            Path.of(System.getProperty("java.home"), "bin", "keytool").toString(),
            "-genkeypair",
            "-alias",
            "election",
            "-keyalg",
            "RSA",
            "-keysize",
            "2048",
            "-dname",
            "CN=election",
            "-ext",
            "SAN=IP:127.0.0.1,DNS:localhost",
            "-ext",
            "EKU=serverAuth,clientAuth",
            "-storetype",
            "PKCS12",
            "-keystore",
            certificate.keyStore().toString(),
            "-storepass",
            PASSWORD)
        .redirectErrorStream(true)
        .start();
    String output = new String(keytool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
    assertThat(keytool.waitFor()).as(output).isZero();
    certificate.export();
    return certificate;
  }

  private void export() throws Exception {
    KeyStore store = KeyStore.getInstance("PKCS12");
    char[] password = PASSWORD.toCharArray();
    try (InputStream in = Files.newInputStream(keyStore())) {
      store.load(in, password);
    }
    Certificate certificate = store.getCertificate("election");
    write(certificate(), "CERTIFICATE", certificate.getEncoded());
    write(key(), "PRIVATE KEY", store.getKey("election", password).getEncoded());
    store.deleteEntry("election");
    store.setCertificateEntry("election", certificate);
    try (OutputStream out = Files.newOutputStream(trustStore())) {
      store.store(out, password);
    }
  }

  private static void write(Path file, String what, byte[] content) throws Exception {
    Files.writeString(
        file,
        "-----BEGIN %s-----%n%s%n-----END %s-----%n"
            .formatted(what, Base64.getMimeEncoder().encodeToString(content), what));
  }

  public Path keyStore() {
    return this.folder.resolve("election.p12");
  }

  public Path trustStore() {
    return this.folder.resolve("trusted.p12");
  }

  public Path certificate() {
    return this.folder.resolve("election.pem");
  }

  public Path key() {
    return this.folder.resolve("election.key");
  }

  /** The properties of a bundle of this name for a client that shows the certificate. */
  public String[] jks(String bundle) {
    String prefix = "spring.ssl.bundle.jks." + bundle + ".";
    return new String[] {
      prefix + "keystore.location=" + keyStore(),
      prefix + "keystore.password=" + PASSWORD,
      prefix + "truststore.location=" + trustStore(),
      prefix + "truststore.password=" + PASSWORD
    };
  }

  /** The same, of files that are no key stores. */
  public String[] pem(String bundle) {
    String prefix = "spring.ssl.bundle.pem." + bundle + ".";
    return new String[] {
      prefix + "keystore.certificate=" + certificate(),
      prefix + "keystore.private-key=" + key(),
      prefix + "truststore.certificate=" + certificate()
    };
  }
}
