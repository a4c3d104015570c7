package io.election.support.process;

import java.io.File;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.spi.ToolProvider;

/**
 * The classes of a program, parsed and verified once for all its processes, whose start takes a
 * third less processor time with them. It is the JVM's class-data sharing, with Spring's training
 * run.
 */
public final class ClassArchive {

  private final Path folder;

  private final Path archive;

  private ClassArchive() {
    try {
      this.folder = Files.createTempDirectory("election-classes-");
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
    this.folder.toFile().deleteOnExit();
    this.archive = file("classes.jsa");
  }

  /**
   * Returns the JVM options of a program, among them its class path. Without the archive, as where
   * no faults are played, a process loads its classes as usual.
   *
   * @param arguments those with which the program comes as far as its beans
   */
  public static List<String> train(String program, String... arguments) {
    // Each build starts too few processes to earn it.
    return System.getProperty("election.test.servers", "default").equals("default")
        ? List.of("--class-path=" + NodeProcess.classPath())
        : new ClassArchive().of(program, arguments);
  }

  private List<String> of(String program, String... arguments) {
    String classPath = "--class-path=" + jars();
    List<String> command = new ArrayList<>(NodeProcess.JVM);
    command.addAll(List.of(
        classPath,
        "-XX:ArchiveClassesAtExit=" + this.archive,
        "-Dspring.context.exit=onRefresh",
        program));
    command.addAll(List.of(arguments));
    try {
      Process training = new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(file("training.log").toFile())
          .start();
      if (!training.waitFor(1, TimeUnit.MINUTES)) {
        training.destroyForcibly();
      }
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(ex);
    }
    return List.of(classPath, "-XX:SharedArchiveFile=" + this.archive);
  }

  /** Returns the class path of this JVM with jars in place of folders, which archives do not support. */
  private String jars() {
    ToolProvider jar = ToolProvider.findFirst("jar").orElseThrow();
    List<String> entries = new ArrayList<>();
    for (String entry : NodeProcess.classPath().split(File.pathSeparator, -1)) {
      if (!Files.isDirectory(Path.of(entry))) {
        entries.add(entry);
        continue;
      }
      String packed = file("classes-" + entries.size() + ".jar").toString();
      if (jar.run(System.out, System.err, "c0f", packed, "-C", entry, ".") != 0) {
        throw new IllegalStateException("jar cannot pack " + entry);
      }
      entries.add(packed);
    }
    return String.join(File.pathSeparator, entries);
  }

  private Path file(String name) {
    Path file = this.folder.resolve(name);
    file.toFile().deleteOnExit();
    return file;
  }
}
