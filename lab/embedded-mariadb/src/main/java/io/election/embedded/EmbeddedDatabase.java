package io.election.embedded;

import java.io.IOException;
import java.nio.file.Path;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.jdbc.autoconfigure.JdbcConnectionDetails;

/**
 * A real MariaDB that all nodes of one user on one machine share, so that the sample needs only a
 * JDK.
 *
 * <p>The first node starts the server, later nodes join it, and the last node to {@linkplain
 * #close() leave} stops it. No node owns the server: it is a separate process. The operating system
 * tracks which nodes use it, so a killed node is forgotten at once. If the last node is killed, the
 * server continues to run and the next node joins it.
 *
 * <p>The directory contains the file {@code lock}, which a joining or leaving node locks
 * exclusively, the file {@code nodes}, on which each live node holds a {@linkplain Presence shared
 * lock}, and the {@linkplain MariaDbServer server} with its data.
 */
public final class EmbeddedDatabase implements JdbcConnectionDetails, AutoCloseable {

  private static final Logger log = LoggerFactory.getLogger(EmbeddedDatabase.class);

  private final Path directory;
  private final MariaDbServer server;
  private final int port;
  private boolean closed;

  private EmbeddedDatabase(Path directory) throws IOException {
    this.directory = directory;
    this.server = new MariaDbServer(directory);
    Presence.enter(directory);
    try {
      this.port = server.ensureRunning();
    } catch (IOException | RuntimeException ex) {
      Presence.leave(directory);
      throw ex;
    }
  }

  /** Joins the database in a directory of about 500 MB, and starts it if it is not running. */
  public static EmbeddedDatabase join(Path directory) {
    Path absolute = directory.toAbsolutePath().normalize();
    try {
      PrivateFolder.create(absolute);
      return DirectoryLock.oneAtATime(absolute, () -> new EmbeddedDatabase(absolute));
    } catch (IOException ex) {
      throw new EmbeddedDatabaseUnavailableException(
          "It fails in %s, which sample.database.directory can change: %s".formatted(absolute, ex),
          ex);
    }
  }

  @Override
  public String getJdbcUrl() {
    return MariaDbServer.jdbcUrl(port);
  }

  @Override
  public String getUsername() {
    return MariaDbServer.USER;
  }

  @Override
  public String getPassword() {
    return server.password();
  }

  @Override
  public void close() throws IOException {
    DirectoryLock.oneAtATime(directory, () -> {
      if (!closed) {
        closed = true;
        if (Presence.leave(directory)) {
          server.stop();
          log.info(
              "stopped MariaDB, since this was the last node; {} stay in {}, which may be deleted",
              MariaDbPrograms.size(directory),
              directory);
        } else {
          log.info("MariaDB keeps running for the other nodes");
        }
      }
      return this;
    });
  }
}
