package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.ReplicationSet.Server;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;

/**
 * Samples a server every 10 ms, and records when it was writable for administrators. A server that
 * does not answer counts as not writable.
 */
final class Sampler implements AutoCloseable {

  private static final Duration INTERVAL = Duration.ofMillis(10);

  /**
   * Consecutive samples in which the server was writable, by the monotonic clock. Each sample read
   * from the server, or wrote to it, between its beginning and its end.
   *
   * @param firstBegan when the first of them began
   * @param firstEnded when the first of them ended
   * @param lastBegan when the last of them began
   * @param lastEnded when the last of them ended
   */
  record Writable(String server, long firstBegan, long firstEnded, long lastBegan, long lastEnded) {

    /** Returns whether both servers were certainly writable at the same instant. */
    boolean overlaps(Writable other) {
      long from = Math.max(this.firstEnded, other.firstEnded);
      long to = Math.min(this.lastBegan, other.lastBegan);
      return from < to || surrounds(other) || other.surrounds(this);
    }

    /** Returns these samples and later ones. */
    Writable until(Writable later) {
      return new Writable(
          this.server, this.firstBegan, this.firstEnded, later.lastBegan, later.lastEnded);
    }

    private boolean surrounds(Writable other) {
      return this.firstEnded <= other.firstBegan && other.firstEnded <= this.lastBegan;
    }
  }

  private final Server server;
  private final List<Writable> writable = new ArrayList<>();
  private final Thread thread = new Thread(this::run, "sampler");
  private volatile boolean ended;

  Sampler(Server server) {
    this.server = server;
    this.thread.start();
  }

  private void run() {
    @Nullable Connection connection = null;
    boolean before = false;
    while (!this.ended) {
      long began = System.nanoTime();
      try {
        if (connection == null) {
          connection = DriverManager.getConnection(
              this.server.url() + "&socketTimeout=1000", "root", ReplicationSet.PASSWORD);
          began = System.nanoTime();
        }
        boolean writable = inspect(connection);
        if (writable) {
          add(before, began, System.nanoTime());
        }
        before = writable;
      } catch (SQLException ex) {
        before = false;
        close(connection);
        connection = null;
      }
      LockSupport.parkNanos(began + INTERVAL.toNanos() - System.nanoTime());
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

  private static boolean inspect(Connection connection) throws SQLException {
    try (Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery("SELECT @@GLOBAL.super_read_only")) {
      row.next();
      return !row.getBoolean(1);
    }
  }

  private synchronized void add(boolean continues, long began, long ended) {
    Writable sample = new Writable(this.server.name, began, ended, began, ended);
    this.writable.add(
        continues ? this.writable.remove(this.writable.size() - 1).until(sample) : sample);
  }

  /** Returns when the server was writable, until now. */
  synchronized List<Writable> writable() {
    return List.copyOf(this.writable);
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
