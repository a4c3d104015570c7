package io.election.embedded;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The MariaDB server in a directory: starts it, finds it again, and stops it. Not thread-safe:
 * callers must not run at the same time, in this process or another.
 */
final class MariaDbServer {

  static final String USER = "sample";

  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private static final Logger log = LoggerFactory.getLogger(MariaDbServer.class);

  private final Path directory;
  private final MariaDbPrograms programs;
  private final Path portFile;
  private final Path processFile;
  private final Path passwordFile;
  private final String password;
  private final Path output;

  MariaDbServer(Path directory) throws IOException {
    this.directory = directory;
    this.programs = new MariaDbPrograms(directory);
    this.portFile = directory.resolve("port");
    this.processFile = directory.resolve("process");
    this.passwordFile = directory.resolve("password");
    if (Files.notExists(passwordFile)) {
      PrivateFolder.write(passwordFile, MariaDbPrograms.newPassword());
    }
    this.password = Files.readString(passwordFile);
    this.output = directory.resolve("server.log");
  }

  /** The password of {@link #USER}, in a file for the user of this machine, and for all nodes. */
  String password() {
    return password;
  }

  static String jdbcUrl(int port) {
    return "jdbc:mysql://127.0.0.1:" + port + "/sample";
  }

  /** Ensures that the server runs and answers, if it runs on this machine; returns its port. */
  int ensureRunning() throws IOException {
    programs.unpack();
    int port = lastPort();
    if (process().isPresent() && !answers(port)) {
      log.info(
          "MariaDB runs but does not answer, waiting for it at most {} s", PATIENCE.toSeconds());
    }
    if (waitUntil(() -> process().isEmpty() || answers(port)) && process().isPresent()) {
      tell("joined", port);
      return port;
    }
    kill(port);
    // Reuses the port if possible, so that nodes that outlived their server find the next one.
    return start(isFree(port) ? port : anyFreePort());
  }

  /** Asks the server to end and waits until it has ended. Kills it if that takes too long. */
  void stop() throws IOException {
    process().ifPresent(ProcessHandle::destroy);
    if (!waitUntil(() -> process().isEmpty())) {
      kill(lastPort());
    }
  }

  private int start(int port) throws IOException {
    PrivateFolder.write(portFile, Integer.toString(port));
    String accounts = """
        CREATE DATABASE IF NOT EXISTS sample;
        CREATE OR REPLACE USER '%1$s'@'127.0.0.1' IDENTIFIED BY '%2$s';
        GRANT ALL ON sample.* TO '%1$s'@'127.0.0.1';
        """.formatted(USER, password);
    Path data = programs.base().resolve("data");
    Process process =
        programs.start(ownSession(), port, data, accounts, output, "--max-connections=500");
    PrivateFolder.write(processFile, Long.toString(process.pid()));
    if (!waitUntil(() -> !process.isAlive() || answers(port)) || !process.isAlive()) {
      process.destroyForcibly();
      throw new EmbeddedDatabaseUnavailableException(
          "It was started and does not answer. The end of %s:%n%s%nDelete %s to start over."
              .formatted(output, lastLines(output), directory),
          null);
    }
    tell("started", port);
    return port;
  }

  /** Shields the server, if possible, from signals to the processes of a terminal. */
  private static List<String> ownSession() {
    return Stream.of("/usr/bin/setsid", "/bin/setsid")
        .filter((file) -> Files.isExecutable(Path.of(file)))
        .limit(1)
        .toList();
  }

  /** The running server, whichever process started it. Other servers run the same programs. */
  private Optional<ProcessHandle> process() {
    Optional<String> executable = Optional.of(programs.executable());
    return lastProcess()
        .flatMap(ProcessHandle::of)
        .filter((process) -> process.info().command().equals(executable));
  }

  private Optional<Long> lastProcess() {
    try {
      return Optional.of(Long.valueOf(Files.readString(processFile)));
    } catch (NoSuchFileException ex) {
      return Optional.empty();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  private void kill(int port) {
    process().ifPresent((process) -> {
      log.warn("MariaDB does not answer, killing its process {}", process.pid());
      process.destroyForcibly();
      waitUntil(() -> process().isEmpty() && isFree(port)); // its files close after it is gone
    });
  }

  private int lastPort() throws IOException {
    return Files.exists(portFile) ? Integer.parseInt(Files.readString(portFile)) : anyFreePort();
  }

  private static boolean isFree(int port) {
    try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
      return socket.isBound();
    } catch (IOException ex) {
      return false;
    }
  }

  static int anyFreePort() throws IOException {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    }
  }

  private boolean answers(int port) {
    String url = jdbcUrl(port) + "?connectTimeout=1000&socketTimeout=1000";
    try (Connection connection = DriverManager.getConnection(url, USER, password)) {
      return connection.isValid(1);
    } catch (SQLException ex) {
      log.debug("no answer from {}", url, ex);
      return false;
    }
  }

  private void tell(String what, int port) {
    log.info(
        "{} MariaDB: {}, user {}, password in {}, process {}",
        what,
        jdbcUrl(port),
        USER,
        passwordFile,
        process().map(ProcessHandle::pid).orElse(0L));
  }

  private static String lastLines(Path file) throws IOException {
    List<String> lines = Files.readAllLines(file);
    return String.join("\n", lines.subList(Math.max(0, lines.size() - 10), lines.size()));
  }

  /** Waits at most as long as a server may take to recover from a crash. */
  private static boolean waitUntil(BooleanSupplier condition) {
    long begin = System.nanoTime();
    while (!condition.getAsBoolean()) {
      if (System.nanoTime() - begin > PATIENCE.toNanos()) {
        return false;
      }
      try {
        Thread.sleep(50);
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
        throw new EmbeddedDatabaseUnavailableException("The wait for it was interrupted.", ex);
      }
    }
    return true;
  }
}
