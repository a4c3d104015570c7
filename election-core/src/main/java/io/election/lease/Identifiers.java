package io.election.lease;

import org.jspecify.annotations.Nullable;

/** Names of elections and nodes, which a store must tell apart. */
public final class Identifiers {

  /** The longest name, in characters. */
  public static final int MAX_LENGTH = 128;

  private Identifiers() {}

  /**
   * Checks a name.
   *
   * @param what what it names, for the message
   * @param id the name
   * @return the name
   * @throws IllegalArgumentException if it is empty or too long, has control characters, or begins or
   *     ends with white space (which some collations ignore)
   */
  public static String requireUsable(String what, String id) {
    String problem = problem(id);
    if (problem != null) {
      throw new IllegalArgumentException(what + " '" + printable(id) + "' " + problem);
    }
    return id;
  }

  /**
   * Tells what is wrong with a name.
   *
   * @param id the name
   * @return what is wrong, as the end of a sentence that begins with the name; {@code null} if
   *     nothing
   */
  public static @Nullable String problem(String id) {
    if (id.isBlank()) {
      return "must not be empty";
    }
    if (id.length() > MAX_LENGTH) {
      return "has " + id.length() + " characters, but may have at most " + MAX_LENGTH;
    }
    if (id.codePoints().anyMatch(Identifiers::isUnprintable)) {
      return "must not contain control characters";
    }
    if (!id.equals(id.strip())) {
      return "must not begin or end with white space";
    }
    return null;
  }

  /**
   * Spells a name that nobody has checked so that it can be shown: an operator, or somebody with
   * access to the store, may have written anything into a record.
   *
   * @param id the name as it was found
   * @return the name on one line: control characters and others that do not show are spelled by
   *     their codes, and what is longer than {@link #MAX_LENGTH} is cut
   */
  public static String printable(String id) {
    StringBuilder text = new StringBuilder();
    id.codePoints().limit(MAX_LENGTH).forEach(c -> {
      if (isUnprintable(c)) {
        text.append("\\u%04x".formatted(c));
      } else {
        text.appendCodePoint(c);
      }
    });
    return text.toString();
  }

  private static boolean isUnprintable(int c) {
    int type = Character.getType(c);
    return Character.isISOControl(c)
        || type == Character.FORMAT
        || type == Character.SURROGATE
        || type == Character.LINE_SEPARATOR
        || type == Character.PARAGRAPH_SEPARATOR
        || type == Character.UNASSIGNED;
  }
}
