package io.election;

/**
 * Who asked for something to be done about an election, and why: for the log and the history.
 *
 * @param by who asked; 1 to 128 characters
 * @param note why, in the words of who asked; up to 255 characters, empty if nothing was said. White
 *     space at its ends is removed
 */
public record Instruction(String by, String note) {

  /** The longest note, in characters. */
  public static final int MAX_NOTE = 255;

  /**
   * Checks that neither can spoil a line of a log.
   *
   * @throws IllegalArgumentException if one of them is too long, or has control characters or others
   *     that do not show, or nobody asked
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
