package io.election.benchmarks.servers;

import java.io.IOException;
import java.io.UncheckedIOException;

/** A signal to a process. */
public enum Signal {
  /** Ends it at once. */
  KILL,
  /** Asks it to end. */
  TERM,
  /** Pauses it. */
  STOP,
  /** Lets it go on. */
  CONT;

  /**
   * Sends the signal.
   *
   * @param process to whom
   */
  public void send(Process process) {
    try {
      new ProcessBuilder("kill", "-" + name(), Long.toString(process.pid()))
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .start()
          .waitFor();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }
}
