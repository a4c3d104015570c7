package io.election.support;

import io.election.embedded.DirectoryLock;
import io.election.embedded.MariaDbPrograms;
import io.election.embedded.PrivateFolder;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;

/** An embedded MariaDB with grant tables and its own data; a user's JVMs share the programs. */
final class EmbeddedServer extends TestServer {

  private final MariaDbPrograms programs;
  private final Path folder;
  private @Nullable Process process;

  private EmbeddedServer(MariaDbPrograms programs, Path folder, int port) {
    super(port);
    this.programs = programs;
    this.folder = folder;
  }

  static TestServer launch() {
    try {
      return launch(MariaDbPrograms.CACHE, Files.createTempDirectory("election-test-"));
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  static TestServer launch(Path shared, Path folder) {
    try {
      PrivateFolder.create(shared); // programs are run from there
      PrivateFolder.create(folder);
      MariaDbPrograms programs = DirectoryLock.oneAtATime(shared, () -> {
        MariaDbPrograms unpacked = new MariaDbPrograms(shared);
        unpacked.unpack();
        unpacked.createData(folder.resolve("data"));
        return unpacked;
      });
      EmbeddedServer server = new EmbeddedServer(programs, folder, freePort());
      Runtime.getRuntime().addShutdownHook(new Thread(server::close, "election-test-cleanup"));
      server.start();
      return server;
    } catch (IOException ex) {
      throw new IllegalStateException("The embedded MariaDB could not be started", ex);
    }
  }

  @Override
  public Product product() {
    return Product.MARIADB;
  }

  @Override
  public void pause() {
    Signal.STOP.send(running().toHandle());
  }

  @Override
  public void resume() {
    Signal.CONT.send(running().toHandle());
  }

  @Override
  public void stop() {
    Process running = running();
    running.destroy();
    running.onExit().orTimeout(60, TimeUnit.SECONDS).join();
  }

  @Override
  public void kill() {
    running().destroyForcibly().onExit().orTimeout(60, TimeUnit.SECONDS).join();
  }

  @Override
  public void start() {
    try {
      this.process = this.programs.start(
          List.of(),
          port(),
          this.folder.resolve("data"),
          """
          CREATE USER 'root'@'127.0.0.1' IDENTIFIED BY '%s';
          GRANT ALL ON *.* TO 'root'@'127.0.0.1' WITH GRANT OPTION;
          """.formatted(ROOT_PASSWORD),
          this.folder.resolve("server.log"));
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
    awaitAnswer();
  }

  @Override
  public synchronized void close() {
    if (this.process != null && this.process.isAlive()) {
      resume();
      stop();
    }
    try {
      MariaDbPrograms.delete(this.folder);
    } catch (IOException ex) {
      throw new IllegalStateException("The data of the embedded MariaDB cannot be deleted", ex);
    }
  }

  private Process running() {
    if (this.process == null || !this.process.isAlive()) {
      throw new IllegalStateException("The embedded MariaDB is not running");
    }
    return this.process;
  }
}
