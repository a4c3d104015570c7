package io.election.mysql;

import io.election.mysql.OnEveryServer.Server;
import io.election.test.TestDatabase;
import io.election.test.TestServer;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.params.Parameter;

/**
 * Base class of tests that run on every server, with a new database and all tables for each test.
 */
abstract class ServerDatabase {

  @Parameter
  Server server;

  TestDatabase database;

  final TestServer server() {
    return this.server.running();
  }

  @BeforeEach
  void newDatabase() {
    this.database = Database.withTables(server().newDatabase());
  }
}
