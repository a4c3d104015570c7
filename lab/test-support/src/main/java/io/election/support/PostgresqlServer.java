package io.election.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.jspecify.annotations.Nullable;

/** A PostgreSQL with its own data, which must be closed and then deletes them. */
public final class PostgresqlServer extends TestServer {

  /** Ends what a JVM leaves that was killed: it is told so by the end of its input. */
  private static final String END_WITH_JVM =
      "read end; kill -STOP $0; pkill -KILL -P $0; kill -KILL $0; umount \"$1/wal\"; rm -rf \"$1\"";

  /** The settings, which {@code ALTER SYSTEM} can change. */
  private static final String SETTINGS = """
      listen_addresses = '127.0.0.1'
      unix_socket_directories = ''
      max_connections = 200
      max_prepared_transactions = 10
      shared_buffers = 32MB
      # the kill of a server loses nothing by it
      fsync = off
      # would start a process for each of hundreds of databases
      autovacuum = off
      # for standbys that are created or stopped meanwhile
      wal_keep_size = 256MB
      """;

  private final PostgresqlPrograms release;
  private final Path programs;
  private final Path folder;
  private final List<String> prefix;
  private @Nullable Process process;
  private @Nullable Process guard;

  private PostgresqlServer(PostgresqlPrograms release, Path folder, List<String> prefix)
      throws IOException {
    super(freePort());
    this.release = release;
    this.programs = release.folder();
    this.folder = folder;
    this.prefix = prefix;
    Runtime.getRuntime().addShutdownHook(new Thread(this::close, "election-test-cleanup"));
  }

  /**
   * Starts a server.
   *
   * @param prefix a program that starts it, with its arguments; none if it starts itself
   */
  public static PostgresqlServer launch(PostgresqlPrograms release, String... prefix) {
    PostgresqlServer server = create(release, List.of(prefix));
    server.initialize();
    return server;
  }

  /** Starts a server whose write-ahead log is on a small disk in memory. Only root can mount it. */
  public static PostgresqlServer startOnDisk(PostgresqlPrograms release, int megabytes) {
    PostgresqlServer server = create(release, List.of());
    Shell.run(
        server.folder,
        "mkdir wal && mount -t tmpfs -o mode=700,uid=%1$s,gid=%1$s,size=%2$sm tmpfs wal"
            .formatted(Unprivileged.NOBODY, megabytes));
    // Small segments: the server needs a new one soon.
    server.initialize("--waldir=" + server.disk(), "--wal-segsize=1");
    return server;
  }

  private static PostgresqlServer create(PostgresqlPrograms release, List<String> prefix) {
    try {
      return new PostgresqlServer(release, Unprivileged.newFolder(), prefix);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  private void initialize(String... options) {
    write("password", ROOT_PASSWORD);
    List<String> command = new ArrayList<>(List.of(
        this.programs.resolve("initdb").toString(),
        "--pgdata=data",
        "--username=root",
        "--pwfile=password",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--no-sync"));
    // Each connection would compute thousands of hashes, at both ends.
    String login = this.release == PostgresqlPrograms.V15 ? "" : "scram_iterations=1\n";
    if (!login.isEmpty()) {
      command.addAll(List.of("--set", login.strip()));
    }
    command.addAll(List.of(options));
    Unprivileged.run(this.folder, command);
    write("data/postgresql.conf", SETTINGS + login);
    start();
  }

  private Path disk() {
    return this.folder.resolve("wal");
  }

  /** Starts a standby, which applies what this server writes and is read-only until promoted. */
  public PostgresqlServer startStandby() {
    PostgresqlServer standby = create(this.release, this.prefix);
    try (Connection connection = connectAsRoot()) {
      query(connection, "SELECT pg_backup_start('standby', true)");
      copyTo(standby);
      String label = query(connection, "SELECT labelfile FROM pg_backup_stop(false)");
      standby.write("data/backup_label", Objects.requireNonNull(label));
    } catch (SQLException ex) {
      throw new IllegalStateException(ex);
    }
    standby.write("data/standby.signal", "");
    standby.write("data/postgresql.auto.conf", """
        primary_conninfo = 'host=127.0.0.1 port=%s user=root password=%s'
        """.formatted(port(), ROOT_PASSWORD));
    standby.start();
    return standby;
  }

  /** Starts another server on a copy of the data of this one, which must be stopped. */
  public PostgresqlServer startCopy() {
    PostgresqlServer copy = create(this.release, this.prefix);
    copyTo(copy);
    copy.start();
    return copy;
  }

  /** Stops this server, and starts it again on the data of another one, which must be stopped. */
  public void putBack(PostgresqlServer backup) {
    stop();
    Shell.run(this.folder, "rm -rf data");
    backup.copyTo(this);
    start();
  }

  private void copyTo(PostgresqlServer other) {
    // A running server changes and deletes files meanwhile, of which tar warns.
    Unprivileged.run(
        other.folder,
        List.of(
            "sh",
            "-c",
            "mkdir -m 700 data; tar -C \"$0\" --exclude=./postmaster.* -cf - . | tar -C data -xf -",
            this.folder.resolve("data").toString()));
  }

  private void write(String file, String text) {
    try {
      Unprivileged.own(Files.writeString(this.folder.resolve(file), text));
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** Waits until this standby has applied all that another server has written. */
  public void awaitDataOf(PostgresqlServer primary) {
    String written = primary.query("SELECT pg_current_wal_flush_lsn()");
    Awaitility.await("the standby has what the primary has")
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(20))
        .until(
            () -> "t".equals(query("SELECT pg_last_wal_replay_lsn() >= '%s'".formatted(written))));
  }

  /** Makes this standby a primary on a timeline of its own, whatever the state of the other. */
  public void promote() {
    if (!"t".equals(query("SELECT pg_promote()"))) {
      throw new IllegalStateException("The standby was not promoted in time");
    }
  }

  /** Restarts as a standby without a primary, which is read-only until it is promoted. */
  public void becomeStandby() {
    stop();
    write("data/standby.signal", "");
    start();
  }

  /** The server ends itself once it needs another file for its log. */
  @Override
  public void fillDisk() {
    Shell.run(this.folder, "! dd if=/dev/zero of=wal/ballast bs=4k");
    Awaitility.await("the server ends")
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(20))
        .until(() -> {
          try (Connection connection = connectAsRoot()) {
            query(connection, "SELECT pg_current_xact_id()"); // writes
            query(connection, "SELECT pg_switch_wal()");
          } catch (SQLException ex) {
            // it ends or recovers
          }
          return !running().isAlive();
        });
    awaitEnd();
  }

  @Override
  public void freeDisk() {
    Shell.run(this.folder, "rm wal/ballast");
    start();
  }

  @Override
  public Product product() {
    return Product.POSTGRESQL;
  }

  /** Freezes the server with all its connections, and accepts no more. */
  @Override
  public void pause() {
    stopped();
  }

  /** Freezes all processes of the server and returns those that serve connections or disks. */
  private List<ProcessHandle> stopped() {
    ProcessHandle postmaster = running().toHandle();
    Signal.STOP.send(postmaster); // first: it starts the others
    List<ProcessHandle> children = postmaster.children().toList();
    children.forEach(Signal.STOP::send);
    return children;
  }

  @Override
  public void resume() {
    ProcessHandle postmaster = running().toHandle();
    postmaster.children().forEach(Signal.CONT::send);
    Signal.CONT.send(postmaster);
  }

  /** Stops the server at once, and with it all connections. */
  @Override
  public void stop() {
    Signal.INT.send(running().toHandle());
    awaitEnd();
  }

  @Override
  public void kill() {
    List<ProcessHandle> children = stopped();
    children.forEach(Signal.KILL::send);
    running().destroyForcibly();
    awaitEnd();
    // Nobody may reap them, so their ids may stay.
    Awaitility.await("all processes of the server have ended")
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(10))
        .until(() -> children.stream()
            .noneMatch((child) -> Files.exists(Path.of("/proc/" + child.pid() + "/exe"))));
  }

  private void awaitEnd() {
    running().onExit().orTimeout(60, TimeUnit.SECONDS).join();
    if (this.guard != null) {
      this.guard.destroy();
    }
  }

  @Override
  public void start() {
    List<String> command = new ArrayList<>(this.prefix);
    command.addAll(
        List.of(this.programs.resolve("postgres").toString(), "-D", "data", "--port=" + port()));
    this.process = Unprivileged.start(this.folder, command);
    try {
      this.guard = new ProcessBuilder(
              "sh", "-c", END_WITH_JVM, "" + this.process.pid(), this.folder.toString())
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.DISCARD)
          .start();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
    try {
      awaitAnswer();
    } catch (ConditionTimeoutException ex) {
      throw new IllegalStateException(Unprivileged.log(this.folder), ex);
    }
  }

  @Override
  public synchronized void close() {
    if (this.process != null && this.process.isAlive()) {
      resume();
      stop();
    }
    if (Files.exists(disk())) {
      Shell.run(this.folder, "umount wal");
    }
    Unprivileged.delete(this.folder);
  }

  private Process running() {
    if (this.process == null) {
      throw new IllegalStateException("The server was never started");
    }
    return this.process;
  }
}
