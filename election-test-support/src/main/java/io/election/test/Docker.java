package io.election.test;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
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
    String file = System.getProperty("election.test.answer");
    return file != null ? ask(Path.of(file), Docker::askAndTell) : askAndTell();
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

  /** Returns the answer in a file. If there is none, asks and writes it. */
  static String ask(Path file, Supplier<String> question) {
    try {
      Files.createDirectories(file.toAbsolutePath().getParent());
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
    try (FileChannel channel = FileChannel.open(
        file, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      channel.lock();
      byte[] known = Channels.newInputStream(channel).readAllBytes();
      // A process that was killed while it asked has written nothing.
      if (known.length > 0) {
        return new String(known, StandardCharsets.UTF_8);
      }
      String answer = question.get();
      channel.write(ByteBuffer.wrap(answer.getBytes(StandardCharsets.UTF_8)));
      return answer;
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
