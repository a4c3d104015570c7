package io.election.benchmarks.sidebyside;

import io.election.support.PgBouncer;
import io.election.support.PostgresqlPrograms;
import io.election.support.PostgresqlServer;
import io.election.support.TestDatabase;
import java.net.URI;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;

/** The tests' PostgreSQL, which writes to its disk as in production. */
record PostgresqlDatabase(PostgresqlServer server, Optional<PgBouncer> pooler) implements Server {

  static Server launch() {
    return new PostgresqlDatabase(start(), Optional.empty());
  }

  static Server launchPooled() {
    PostgresqlServer server = start();
    return new PostgresqlDatabase(server, Optional.of(PgBouncer.to(server)));
  }

  private static PostgresqlServer start() {
    PostgresqlServer server = PostgresqlServer.launch(PostgresqlPrograms.V18);
    server.execute(
        "ALTER SYSTEM SET fsync = on",
        "ALTER SYSTEM SET autovacuum = on",
        "ALTER SYSTEM SET max_connections = 1200");
    server.stop();
    server.start();
    return server;
  }

  @Override
  public String version() {
    String version = this.server.product() + " " + this.server.version();
    return this.pooler.isEmpty() ? version : version + " behind PgBouncer";
  }

  @Override
  public Place newPlace() {
    TestDatabase database = this.server.newDatabase();
    String url = this.pooler.map((pooler) -> pooler.jdbcUrl(database)).orElseGet(database::jdbcUrl);
    int port = URI.create(url.substring("jdbc:".length())).getPort();
    return new Place(port, url, database.username(), database.password());
  }

  @Override
  public Map<String, Double> counters() {
    String counts = Objects.requireNonNull(this.server.query("""
        SELECT sum(xact_commit + xact_rollback) || ' ' || sum(sessions) FROM pg_stat_database
        """));
    String[] each = counts.split(" ");
    return Map.of("Transactions", Double.valueOf(each[0]), "Connections", Double.valueOf(each[1]));
  }

  @Override
  public void pause() {
    this.server.pause();
  }

  @Override
  public void resume() {
    this.server.resume();
  }

  @Override
  public void close() {
    this.pooler.ifPresent(PgBouncer::close);
    this.server.close();
  }
}
