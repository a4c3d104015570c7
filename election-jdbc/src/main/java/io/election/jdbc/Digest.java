package io.election.jdbc;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Maps texts of any length and content to short names of safe characters. */
final class Digest {

  private Digest() {}

  /** Returns 32 hexadecimal digits, which are equal only for equal texts. */
  static String of(String text) {
    try {
      byte[] digest =
          MessageDigest.getInstance("SHA-256").digest(text.getBytes(StandardCharsets.UTF_8));
      return HexFormat.of().formatHex(digest, 0, 16);
    } catch (NoSuchAlgorithmException ex) {
      throw new IllegalStateException("Every Java platform has SHA-256", ex);
    }
  }
}
