package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.ReplicationSet.Server;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A client that writes continuously to one server or to the source, and records what was
 * acknowledged.
 */
final class Writer implements AutoCloseable {

  private static final Duration RETRY = Duration.ofMillis(30);

  private static final AtomicInteger CONNECTIONS = new AtomicInteger();

  /**
   * An acknowledged transaction.
   *
   * @param connection the number of the connection, among those of all writers; no connection
   *     outlives a demotion of its server
   * @param began when it was sent, by the monotonic clock
   * @param at when the answer was received, by the same clock
   */
  record Written(long id, String server, int connection, long began, long at) {}

  private final List<Written> written = new ArrayList<>();

  /** The server to write to. */
  private record Address(String name, String url) {}

  private final Supplier<Optional<Address>> address;
  private final Duration pause;
  private final String user;
  private final Thread thread = new Thread(this::run, "writer");
  private long id;
  private volatile boolean ended;

  /** Creates a writer that begins at once, and never pauses. */
  Writer(Supplier<Optional<Server>> server, long firstId) {
    this(server, firstId, Duration.ZERO);
  }

  /** Creates a writer that begins at once, and pauses after each transaction. */
  Writer(Supplier<Optional<Server>> server, long firstId, Duration pause) {
    this(
        firstId,
        pause,
        "app",
        () -> server.get().map((each) -> new Address(each.name, each.url())));
  }

  private Writer(long firstId, Duration pause, String user, Supplier<Optional<Address>> address) {
    this.user = user;
    this.address = address;
    this.id = firstId;
    this.pause = pause;
    this.thread.start();
  }

  /** Creates a writer that knows only one address, behind which the server may change. */
  static Writer through(String url, long firstId, Duration pause) {
    return new Writer(firstId, pause, "app", () -> Optional.of(new Address(url, url)));
  }

  /** Creates a writer that no setting of a server keeps out. */
  static Writer administrator(Server server, long firstId, Duration pause) {
    return new Writer(
        firstId, pause, "root", () -> Optional.of(new Address(server.name, server.url())));
  }

  private void run() {
    @Nullable Connection connection = null;
    int number = 0;
    String server = "";
    while (!this.ended) {
      try {
        if (connection == null) {
          Optional<Address> found = this.address.get();
          if (found.isEmpty()) {
            LockSupport.parkNanos(RETRY.toNanos());
            continue;
          }
          server = found.get().name();
          number = CONNECTIONS.incrementAndGet();
          connection = DriverManager.getConnection(
              found.get().url() + "&socketTimeout=2000", this.user, ReplicationSet.PASSWORD);
        }
        this.id++;
        long began = System.nanoTime();
        try (Statement statement = connection.createStatement()) {
          statement.execute("INSERT INTO orders.written VALUES (" + this.id + ")");
        }
        add(new Written(this.id, server, number, began, System.nanoTime()));
        LockSupport.parkNanos(this.pause.toNanos());
      } catch (SQLException ex) {
        close(connection);
        connection = null; // a new connection, perhaps to another server
        LockSupport.parkNanos(RETRY.toNanos());
      }
    }
    close(connection);
  }

  private static void close(@Nullable Connection connection) {
    if (connection != null) {
      try {
        connection.close();
      } catch (SQLException ex) {
        // It is given up.
      }
    }
  }

  private synchronized void add(Written written) {
    this.written.add(written);
  }

  /** Returns what was acknowledged until now, in order. */
  synchronized List<Written> written() {
    return List.copyOf(this.written);
  }

  synchronized int count() {
    return this.written.size();
  }

  synchronized String lastServer() {
    return this.written.get(this.written.size() - 1).server();
  }

  @Override
  public void close() {
    this.ended = true;
    try {
      this.thread.join();
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }
}
