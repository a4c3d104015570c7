package io.election.benchmarks.sidebyside;

import io.election.support.PgBouncer;
import io.election.support.PostgresqlPrograms;
import io.election.support.PostgresqlServer;
import io.election.support.TestDatabase;
import java.net.URI;
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
    server.execute("ALTER SYSTEM SET fsync = on", "SELECT pg_reload_conf()");
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
