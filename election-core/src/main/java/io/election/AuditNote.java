package io.election;

/**
 * The actor and the reason of a command to an election, as the log and the history show them.
 *
 * @param actor the actor; 1 to 128 characters
 * @param reason the reason given by the actor; at most {@value #MAX_REASON} characters, empty if none
 *     was given. Leading and trailing white space is removed
 */
public record AuditNote(String actor, String reason) {

  /** The maximum length of {@link #reason()}, in characters. */
  public static final int MAX_REASON = 255;

  /**
   * Checks that both values are safe to write to a log line.
   *
   * @throws IllegalArgumentException if one of them is too long or contains control characters or
   *     other invisible characters, or if {@code actor} is empty, is not in Unicode form NFC, or
   *     begins or ends with white space
   */
  public AuditNote {
    Names.requireUsable("actor", actor);
    reason = reason.strip();
    if (reason.length() > MAX_REASON) {
      throw new IllegalArgumentException("the reason has %s characters, but may have at most %s"
          .formatted(reason.length(), MAX_REASON));
    }
    if (!Names.printable(reason, reason.length()).equals(reason)) {
      throw new IllegalArgumentException("the reason '%s' must not contain control characters"
          .formatted(Names.printable(reason, MAX_REASON)));
    }
  }

  /** For instance {@code alice: a new version}. */
  @Override
  public String toString() {
    return this.reason.isEmpty() ? this.actor : this.actor + ": " + this.reason;
  }
}
