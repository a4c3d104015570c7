package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.ReplicationSet.Server;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/** A client that writes to the source all the time and records what was acknowledged. */
final class Writer implements AutoCloseable {

  /**
   * An acknowledged transaction.
   *
   * @param at when the answer came, by the monotonic clock
   */
  record Written(long id, String server, long at) {}

  final List<Written> written = new CopyOnWriteArrayList<>();

  private final Supplier<Optional<Server>> source;
  private final AtomicLong next;
  private final Thread thread = new Thread(this::run, "writer");
  private volatile boolean ended;

  Writer(Supplier<Optional<Server>> source, long firstId) {
    this.source = source;
    this.next = new AtomicLong(firstId);
    this.thread.start();
  }

  private void run() {
    @Nullable Connection connection = null;
    String server = "";
    while (!this.ended) {
      try {
        if (connection == null) {
          Optional<Server> found = this.source.get();
          if (found.isEmpty()) {
            Thread.onSpinWait();
            continue;
          }
          server = found.get().name;
          connection = DriverManager.getConnection(
              found.get().url() + "&socketTimeout=2000", "app", ReplicationSet.PASSWORD);
        }
        long id = this.next.incrementAndGet();
        try (Statement statement = connection.createStatement()) {
          statement.execute("INSERT INTO orders.written VALUES (" + id + ")");
        }
        this.written.add(new Written(id, server, System.nanoTime()));
      } catch (SQLException ex) {
        connection = null; // a new connection, perhaps to another server
      }
    }
  }

  String lastServer() {
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
