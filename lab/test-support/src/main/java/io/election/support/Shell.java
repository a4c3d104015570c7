package io.election.support;

import static java.nio.charset.StandardCharsets.UTF_8;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Path;

/** Runs commands as the user of this process. */
public final class Shell {

  private Shell() {}

  /**
   * Runs a script to its end, or to the first command that fails.
   *
   * @param folder where it runs
   * @throws IllegalStateException if it fails, with its output
   */
  public static void run(Path folder, String script) {
    try {
      Process shell = new ProcessBuilder("sh", "-ec", script)
          .directory(folder.toFile())
          .redirectErrorStream(true)
          .start();
      String output = new String(shell.getInputStream().readAllBytes(), UTF_8);
      if (shell.onExit().join().exitValue() != 0) {
        throw new IllegalStateException(script + ": " + output);
      }
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
