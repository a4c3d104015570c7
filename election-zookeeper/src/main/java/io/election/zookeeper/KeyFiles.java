package io.election.zookeeper;

import io.election.ElectionSetupException;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.util.Collections;
import java.util.HashMap;
import java.util.Map;
import java.util.UUID;
import org.apache.zookeeper.ClientCnxnSocketNetty;
import org.apache.zookeeper.client.ZKClientConfig;
import org.jspecify.annotations.Nullable;

/** Files with certificates. ZooKeeper's client reads them from nowhere else. */
final class KeyFiles {

  private static final String TYPE = "PKCS12";

  private KeyFiles() {}

  /**
   * Copies certificates to files, which are deleted when the JVM ends.
   *
   * @return the properties by which ZooKeeper's client uses them
   * @throws ElectionSetupException if the keys cannot be read
   */
  static Map<String, String> write(
      @Nullable KeyStore keys, @Nullable String keyPassword, @Nullable KeyStore trusted) {
    Map<String, String> properties = new HashMap<>();
    properties.put(ZKClientConfig.SECURE_CLIENT, "true");
    properties.put(
        ZKClientConfig.ZOOKEEPER_CLIENT_CNXN_SOCKET, ClientCnxnSocketNetty.class.getName());
    String password = UUID.randomUUID().toString();
    try {
      // The JVM deletes the folder last, since it was the first to be named.
      Path folder = Files.createTempDirectory("election-zookeeper-");
      folder.toFile().deleteOnExit();
      if (keys != null) {
        Path file = folder.resolve("keys.p12");
        write(keys(keys, keyPassword, password), password, file);
        name(properties, "keyStore", file, password);
      }
      if (trusted != null) {
        Path file = folder.resolve("trusted.p12");
        write(certificates(trusted), password, file);
        name(properties, "trustStore", file, password);
      }
    } catch (IOException | GeneralSecurityException ex) {
      throw new ElectionSetupException(
          "The certificates for ZooKeeper cannot be used: %s.".formatted(ex.getMessage()),
          "Check the key store, the trust store, and the password of the key",
          ex);
    }
    return properties;
  }

  private static void name(
      Map<String, String> properties, String store, Path file, String password) {
    properties.put("zookeeper.ssl." + store + ".location", file.toString());
    properties.put("zookeeper.ssl." + store + ".password", password);
    properties.put("zookeeper.ssl." + store + ".type", TYPE);
  }

  private static KeyStore keys(KeyStore from, @Nullable String keyPassword, String password)
      throws IOException, GeneralSecurityException {
    KeyStore copy = empty();
    char[] opens = keyPassword != null ? keyPassword.toCharArray() : new char[0];
    for (String alias : Collections.list(from.aliases())) {
      if (from.isKeyEntry(alias)) {
        copy.setKeyEntry(
            alias,
            from.getKey(alias, opens),
            password.toCharArray(),
            from.getCertificateChain(alias));
      }
    }
    return copy;
  }

  /** Java trusts the certificates of keys too, which stay behind. */
  private static KeyStore certificates(KeyStore from) throws IOException, GeneralSecurityException {
    KeyStore copy = empty();
    for (String alias : Collections.list(from.aliases())) {
      copy.setCertificateEntry(alias, from.getCertificate(alias));
    }
    return copy;
  }

  private static KeyStore empty() throws IOException, GeneralSecurityException {
    KeyStore store = KeyStore.getInstance(TYPE);
    store.load(null, null);
    return store;
  }

  private static void write(KeyStore store, String password, Path file)
      throws IOException, GeneralSecurityException {
    try (OutputStream out = Files.newOutputStream(file)) {
      store.store(out, password.toCharArray());
    }
    file.toFile().deleteOnExit();
  }
}
