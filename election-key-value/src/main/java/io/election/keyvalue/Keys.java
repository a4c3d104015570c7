package io.election.keyvalue;

import java.nio.charset.StandardCharsets;

/**
 * The keys of records, terms, heartbeats and members. Names are encoded so that no two of them give
 * one key, and {@code AccountService:1.0.0} stays as it is.
 */
final class Keys {

  static final String IDENTITY = "~identity";

  static final String MEMBERS = "~members";

  static final String SEEN = "~seen";

  static final String HEARTBEATS = "~heartbeats";

  private static final String TERMS = "~terms";

  private static final int TERM_LENGTH = 19;

  private Keys() {}

  static String record(String serviceId) {
    return encode(serviceId);
  }

  static String terms(String serviceId) {
    return TERMS + "/" + encode(serviceId);
  }

  /** Terms have names of one length, so that their order is that of the numbers. */
  static String term(String serviceId, long term) {
    String digits = Long.toString(term);
    return terms(serviceId) + "/" + "0".repeat(Math.max(TERM_LENGTH - digits.length(), 0)) + digits;
  }

  /** Returns whether a key below those of terms is that of a term. */
  static boolean isTerm(String key) {
    String name = name(key);
    boolean digits = name.length() == TERM_LENGTH;
    for (int i = 0; digits && i < TERM_LENGTH; i++) {
      digits = name.charAt(i) >= '0' && name.charAt(i) <= '9';
    }
    return digits;
  }

  static String heartbeat(String token) {
    return HEARTBEATS + "/" + encode(token);
  }

  static String member(String nodeId) {
    return MEMBERS + "/" + encode(nodeId);
  }

  static String seen(String nodeId) {
    return SEEN + "/" + encode(nodeId);
  }

  /** Returns the last segment of a key. */
  static String name(String key) {
    return key.substring(key.lastIndexOf('/') + 1);
  }

  static String encode(String name) {
    boolean plain = true;
    boolean dots = true;
    for (int i = 0; i < name.length(); i++) {
      plain &= isPlain(name.charAt(i));
      dots &= name.charAt(i) == '.';
    }
    if (plain && !dots) {
      // Most names, and several times in each poll.
      return name;
    }
    boolean escapes = dots;
    StringBuilder key = new StringBuilder();
    name.codePoints().forEach((c) -> {
      if (isPlain(c) && !escapes) {
        key.appendCodePoint(c);
      } else {
        for (byte b : Character.toString(c).getBytes(StandardCharsets.UTF_8)) {
          key.append("%%%02X".formatted(b));
        }
      }
    });
    return key.toString();
  }

  private static boolean isPlain(int c) {
    return c < 0x80
        ? Character.isLetterOrDigit(c) || "-_.:".indexOf(c) >= 0
        : Character.isBmpCodePoint(c) && Character.isLetterOrDigit(c);
  }
}
