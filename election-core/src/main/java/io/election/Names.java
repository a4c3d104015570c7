package io.election;

import java.text.Normalizer;
import org.jspecify.annotations.Nullable;

/** Validates and displays names of elections and nodes. All methods are thread-safe. */
public final class Names {

  /** The maximum length of a name, in characters. */
  public static final int MAX_LENGTH = 128;

  /**
   * The beginning of a leader id by which an operator says where an election has moved, for instance
   * {@code moved to Mysql}. No node takes such a record.
   */
  public static final String MOVED = "moved to ";

  private Names() {}

  /**
   * Checks a name.
   *
   * @param what the kind of name, as the message calls it
   * @param id the name
   * @return the name
   * @throws IllegalArgumentException if the name is empty or too long, contains control characters,
   *     is not in Unicode form NFC, or begins or ends with white space (which some collations
   *     ignore)
   */
  public static String requireUsable(String what, String id) {
    return require(what, id, problem(id));
  }

  /**
   * Checks the id of a node.
   *
   * @param what the kind of id, as the message calls it
   * @param id the id
   * @return the id
   * @throws IllegalArgumentException if it is no {@linkplain #requireUsable usable} name, or if it is
   *     a mark that an election has {@linkplain #MOVED moved}
   */
  public static String requireNodeId(String what, String id) {
    return require(what, id, nodeIdProblem(id));
  }

  private static String require(String what, String id, @Nullable String problem) {
    if (problem != null) {
      throw new IllegalArgumentException(what + " '" + printable(id) + "' " + problem);
    }
    return id;
  }

  /**
   * Returns what is wrong with the id of a node.
   *
   * @param id the id
   * @return the problem, like {@link #problem}; {@code null} if a node can have the id
   */
  public static @Nullable String nodeIdProblem(String id) {
    return isMoved(id)
        ? "must not begin with '%s': that marks an election that has moved to another store, and no node would take over from it"
            .formatted(MOVED.strip())
        : problem(id);
  }

  /**
   * Returns whether the leader id of a record is the mark of an operator that the election has moved,
   * even without saying where.
   *
   * @param leaderId the leader id as found
   */
  public static boolean isMoved(String leaderId) {
    return (leaderId + " ").startsWith(MOVED);
  }

  /**
   * Returns what is wrong with a name.
   *
   * @param id the name
   * @return the problem, as the end of a sentence that begins with the name; {@code null} if the
   *     name is valid
   */
  public static @Nullable String problem(String id) {
    if (id.isBlank()) {
      return "must not be empty";
    }
    if (id.length() > MAX_LENGTH) {
      return "has " + id.length() + " characters, but may have at most " + MAX_LENGTH;
    }
    if (id.codePoints().anyMatch(Names::isUnprintable)) {
      return "must not contain control characters";
    }
    if (!Normalizer.isNormalized(id, Normalizer.Form.NFC)) {
      return "must be in Unicode normalization form C (NFC): a different encoding of the same text would be another name";
    }
    if (!id.equals(id.strip())) {
      return "must not begin or end with white space";
    }
    return null;
  }

  /**
   * Makes an unchecked name safe to display. An operator, or anyone with access to the store, may
   * have written any text into a record.
   *
   * @param id the name as found
   * @return the name on one line: control characters and other invisible characters are replaced by
   *     their codes, and everything after {@link #MAX_LENGTH} characters is cut off
   */
  public static String printable(String id) {
    return printable(id, MAX_LENGTH);
  }

  /**
   * Makes an unchecked text safe to display.
   *
   * @param found the text as found
   * @param length the maximum number of its characters to display
   * @return the text on one line, escaped like {@link #printable(String)}
   */
  public static String printable(String found, int length) {
    StringBuilder text = new StringBuilder();
    found.codePoints().limit(length).forEach((c) -> {
      if (isUnprintable(c)) {
        text.append("\\u%04x".formatted(c));
      } else {
        text.appendCodePoint(c);
      }
    });
    return text.toString();
  }

  /**
   * Converts an unchecked name into a usable one.
   *
   * @param found the name as found
   * @param otherwise a usable name, returned if nothing is left of the one that was found
   * @return the name, {@linkplain #printable(String) escaped} and truncated
   */
  public static String usable(String found, String otherwise) {
    String text = printable(found.strip());
    int end = Math.min(text.length(), MAX_LENGTH);
    if (end < text.length() && Character.isHighSurrogate(text.charAt(end - 1))) {
      end--;
    }
    String usable = text.substring(0, end).strip();
    return usable.isEmpty() ? otherwise : usable;
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
