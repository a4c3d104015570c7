package io.election.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;

/**
 * A PgBouncer in transaction mode before a PostgreSQL, for all its users and databases. It must be
 * closed. A test is skipped where the program is missing.
 */
public final class PgBouncer implements AutoCloseable {

  private final int port = TestServer.freePort();
  private final Path folder;
  private @Nullable Process process;

  private PgBouncer(Path folder) {
    this.folder = folder;
    Runtime.getRuntime().addShutdownHook(new Thread(this::close, "election-test-cleanup"));
  }

  /** Starts one before a server. */
  public static PgBouncer to(PostgresqlServer server) {
    Tool.PGBOUNCER.assumeWorks();
    try {
      PgBouncer bouncer = new PgBouncer(Unprivileged.newFolder());
      bouncer.write("users", "\"root\" \"%s\"".formatted(TestServer.ROOT_PASSWORD));
      bouncer.write("settings", """
          [databases]
          * = host=127.0.0.1 port=%s
          [pgbouncer]
          listen_addr = 127.0.0.1
          listen_port = %s
          unix_socket_dir =
          pool_mode = transaction
          auth_type = scram-sha-256
          auth_file = users
          auth_user = root
          ; what every client of JDBC needs, and the schema of its URL
          ignore_startup_parameters = extra_float_digits,search_path
          """.formatted(server.port(), bouncer.port));
      bouncer.start();
      return bouncer;
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  private void write(String file, String text) throws IOException {
    Unprivileged.own(Files.writeString(this.folder.resolve(file), text));
  }

  /** The source of connections through it of a user of a database. */
  public TestDataSource dataSourceOf(TestDatabase database, String user) {
    return new TestDataSource(jdbcUrl(database), user, database.password());
  }

  /** The URL of a database through it, without credentials but with parameters. */
  public String jdbcUrl(TestDatabase database) {
    return TestServer.url("postgresql", "127.0.0.1:" + this.port, database.name());
  }

  /** Freezes it: it accepts connections but never answers. */
  public void pause() {
    Signal.STOP.send(running().toHandle());
  }

  public void resume() {
    Signal.CONT.send(running().toHandle());
  }

  /** Lets its clients wait, as {@code PAUSE} at its console does. */
  public void hold() {
    Signal.USR1.send(running().toHandle());
  }

  public void release() {
    Signal.USR2.send(running().toHandle());
  }

  /** Stops it at once, and with it all connections. */
  public void stop() {
    running().destroy();
    awaitEnd();
  }

  public void kill() {
    running().destroyForcibly();
    awaitEnd();
  }

  private void awaitEnd() {
    running().onExit().orTimeout(60, TimeUnit.SECONDS).join();
  }

  /** Starts it, on the same port after {@link #stop()} or {@link #kill()}. */
  public void start() {
    String program = Tool.PGBOUNCER.path().orElseThrow().toString();
    this.process = Unprivileged.start(this.folder, List.of(program, "settings"));
    Awaitility.await("PgBouncer listens")
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(20))
        .ignoreExceptions()
        .until(() -> {
          new Socket(InetAddress.getLoopbackAddress(), this.port).close();
          return true;
        });
  }

  @Override
  public synchronized void close() {
    if (this.process != null && this.process.isAlive()) {
      kill();
    }
    Unprivileged.delete(this.folder);
  }

  private Process running() {
    if (this.process == null) {
      throw new IllegalStateException("PgBouncer was never started");
    }
    return this.process;
  }
}
