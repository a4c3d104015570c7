package io.election.support;

import io.election.embedded.MariaDbPrograms;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Programs that refuse to run as root: they run as the user {@code nobody} if this process is root. */
final class Unprivileged {

  static final int NOBODY = 65534;

  static final boolean IS_ROOT = "root".equals(System.getProperty("user.name"));

  private Unprivileged() {}

  /** Creates a temporary folder that belongs to the user of the programs. */
  static Path newFolder() throws IOException {
    return own(Files.createTempDirectory("election-test-"));
  }

  /** Hands a file or folder to the user of the programs. */
  static Path own(Path path) throws IOException {
    if (IS_ROOT) {
      Files.setAttribute(path, "unix:uid", NOBODY);
      Files.setAttribute(path, "unix:gid", NOBODY);
    }
    return path;
  }

  /** Starts a program in a folder, to whose file {@code log} it writes. */
  static Process start(Path folder, List<String> program) {
    List<String> command = new ArrayList<>();
    if (IS_ROOT) {
      command.addAll(
          List.of("setpriv", "--reuid=" + NOBODY, "--regid=" + NOBODY, "--clear-groups"));
    }
    command.addAll(program);
    try {
      return new ProcessBuilder(command)
          .directory(folder.toFile())
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.appendTo(folder.resolve("log").toFile()))
          .start();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** Runs a program to its end. */
  static void run(Path folder, List<String> program) {
    if (start(folder, program).onExit().join().exitValue() != 0) {
      throw new IllegalStateException(program + " failed: " + log(folder));
    }
  }

  /** What its programs have said. */
  static String log(Path folder) {
    try {
      return Files.readString(folder.resolve("log"));
    } catch (IOException ex) {
      return ex.toString();
    }
  }

  static void delete(Path folder) {
    try {
      MariaDbPrograms.delete(folder);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
