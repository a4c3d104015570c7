package io.election.jdbc;

import io.election.jdbc.OnEveryServer.Server;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.TestServer.Product;
import java.util.ArrayDeque;
import java.util.Deque;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.Parameter;

/** A test that runs on every server, with a new database that has all tables. */
abstract class ServerDatabase {

  @Parameter
  Server server;

  TestDatabase database;

  private final Deque<AutoCloseable> open = new ArrayDeque<>();

  final TestServer server() {
    return this.server.running();
  }

  final boolean isPostgresql() {
    return server().product() == Product.POSTGRESQL;
  }

  @BeforeEach
  void newDatabase() {
    this.database = server().newDatabase().withTables();
  }

  /** Closes an object after the test, before those that were opened earlier. */
  final <T extends AutoCloseable> T closing(T opened) {
    this.open.push(opened);
    return opened;
  }

  @AfterEach
  void closeAll() throws Exception {
    while (!this.open.isEmpty()) {
      this.open.pop().close();
    }
  }

  final boolean isConnected(String connectionId) {
    return server()
            .query("SELECT id FROM information_schema.processlist WHERE id = " + connectionId)
        != null;
  }
}
