package io.election.mysql;

import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.HexFormat;

/** Short names, of harmless characters, for what may be long and hold any. */
final class Digest {

  private Digest() {}

  /** 32 hexadecimal digits; equal for equal texts alone. */
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
