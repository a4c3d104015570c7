package io.election.support;

import io.election.embedded.DirectoryLock;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Supplier;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.images.RemoteDockerImage;
import org.testcontainers.utility.DockerImageName;

/**
 * Whether the tests use the Docker engine of this machine: it answers, and it has the image of the
 * default server or can pull it. One process of a build asks and prints what the tests run on; the
 * others read its answer. The time that asking takes is limited by the settings of Testcontainers in
 * the build.
 */
final class Docker {

  /** The server of the tests that name no other. */
  static final DatabaseImage DEFAULT_SERVER = DatabaseImage.MYSQL_9_7;

  private static final String WORKS = "Docker, " + DEFAULT_SERVER.imageName();

  /** Asked when it is first needed. */
  private static final class Answer {

    static final String SERVER = find();
  }

  private Docker() {}

  static boolean works() {
    return Answer.SERVER.equals(WORKS);
  }

  private static String find() {
    // Not set outside the build, where each process asks for itself.
    String folder = System.getProperty("election.test.answer");
    return folder != null ? ask(Path.of(folder), Docker::askAndTell) : askAndTell();
  }

  private static String askAndTell() {
    String server = ask();
    System.out.println("Tests run on: " + server);
    return server;
  }

  private static String ask() {
    String embedded = "an embedded MariaDB, because ";
    if ("false".equals(System.getProperty("election.test.docker"))) {
      return embedded + "election.test.docker=false";
    }
    if (!DockerClientFactory.instance().isDockerAvailable()) {
      return embedded + "no Docker engine answers";
    }
    String image = DEFAULT_SERVER.imageName();
    try {
      new RemoteDockerImage(DockerImageName.parse(image)).get();
      return WORKS;
    } catch (RuntimeException ex) {
      return embedded + "Docker has no image " + image + " and cannot pull it";
    }
  }

  /** Returns the answer in a folder. If there is none, asks and writes it. */
  static String ask(Path folder, Supplier<String> question) {
    try {
      return DirectoryLock.oneAtATime(Files.createDirectories(folder), () -> {
        Path file = folder.resolve("answer");
        // A process that was killed while it asked has written nothing.
        String known = Files.exists(file) ? Files.readString(file) : "";
        if (!known.isEmpty()) {
          return known;
        }
        String answer = question.get();
        Files.writeString(file, answer);
        return answer;
      });
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
