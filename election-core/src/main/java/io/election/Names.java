package io.election;

import java.text.Normalizer;
import org.jspecify.annotations.Nullable;

/** Names of elections and nodes, which a store must tell apart. */
public final class Names {

  /** The longest name, in characters. */
  public static final int MAX_LENGTH = 128;

  private Names() {}

  /**
   * Checks a name.
   *
   * @param what what it names, for the message
   * @param id the name
   * @return the name
   * @throws IllegalArgumentException if it is empty or too long, has control characters, is not spelled
   *     in Unicode's form NFC, or begins or ends with white space (which some collations ignore)
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
    if (id.codePoints().anyMatch(Names::isUnprintable)) {
      return "must not contain control characters";
    }
    if (!Normalizer.isNormalized(id, Normalizer.Form.NFC)) {
      return "must be spelled in Unicode's composed form (NFC): another spelling that looks the same would be another name";
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
    return printable(id, MAX_LENGTH);
  }

  /**
   * Spells a text that nobody has checked so that it can be shown.
   *
   * @param found the text as it was found
   * @param length how many of its characters are shown
   * @return the text on one line, as {@link #printable(String)} does it
   */
  public static String printable(String found, int length) {
    StringBuilder text = new StringBuilder();
    found.codePoints().limit(length).forEach(c -> {
      if (isUnprintable(c)) {
        text.append("\\u%04x".formatted(c));
      } else {
        text.appendCodePoint(c);
      }
    });
    return text.toString();
  }

  /**
   * Makes a name that can be used of one that nobody has checked.
   *
   * @param found the name as it was found
   * @param otherwise a usable name for the case that nothing is left of it
   * @return the name, {@linkplain #printable(String) spelled} so that it can be shown, and cut
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
