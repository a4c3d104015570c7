package io.election;

/**
 * The actor and the reason of a command to an election, as the log and the history show them.
 *
 * @param by the actor; 1 to 128 characters
 * @param note the reason given by the actor; at most {@value #MAX_NOTE} characters, empty if none
 *     was given. Leading and trailing white space is removed
 */
public record Instruction(String by, String note) {

  /** The maximum length of {@link #note()}, in characters. */
  public static final int MAX_NOTE = 255;

  /**
   * Checks that both values are safe to write to a log line.
   *
   * @throws IllegalArgumentException if one of them is too long or contains control characters or
   *     other invisible characters, or if {@code by} is empty, is not in Unicode form NFC, or
   *     begins or ends with white space
   */
  public Instruction {
    Names.requireUsable("who asks", by);
    note = note.strip();
    if (note.length() > MAX_NOTE) {
      throw new IllegalArgumentException("the reason has %d characters, but may have at most %d"
          .formatted(note.length(), MAX_NOTE));
    }
    if (!Names.printable(note, note.length()).equals(note)) {
      throw new IllegalArgumentException("the reason '%s' must not contain control characters"
          .formatted(Names.printable(note, MAX_NOTE)));
    }
  }

  /** For instance {@code alice: a new version}. */
  @Override
  public String toString() {
    return this.note.isEmpty() ? this.by : this.by + ": " + this.note;
  }
}
