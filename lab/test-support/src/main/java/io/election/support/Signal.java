package io.election.support;

import java.io.IOException;
import java.io.UncheckedIOException;

/** A signal to a process. */
public enum Signal {
  KILL,
  TERM,
  INT,
  STOP,
  CONT,
  USR1,
  USR2;

  /** Sends the signal. A process that has ended ignores it. */
  public void send(ProcessHandle process) {
    try {
      int exit = new ProcessBuilder("kill", "-" + name(), Long.toString(process.pid()))
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .start()
          .onExit()
          .join()
          .exitValue();
      if (exit != 0 && process.isAlive()) {
        throw new IllegalStateException("kill -" + name() + " ended with " + exit);
      }
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
