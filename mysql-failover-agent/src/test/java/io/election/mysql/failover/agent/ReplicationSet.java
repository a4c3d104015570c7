package io.election.mysql.failover.agent;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Objects;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.DockerClientFactory;
import org.testcontainers.mysql.MySQLContainer;

/** Servers in containers, ready to become a replication set. */
final class ReplicationSet implements AutoCloseable {

  static final String PASSWORD = "secret";

  /** A server. */
  static final class Server implements AutoCloseable {

    final String name;
    private final MySQLContainer container;

    private Server(String name, int number) {
      this.name = name;
      this.container = new MySQLContainer("mysql:9.7")
          .withUsername("app")
          .withPassword(PASSWORD)
          .withDatabaseName("orders")
          .withCommand(
              "--server-id=" + number,
              "--gtid-mode=ON",
              "--enforce-gtid-consistency=ON",
              "--innodb-buffer-pool-size=64M",
              "--skip-replica-start=ON",
              "--relay-log-recovery=ON",
              "--plugin-load-add=semisync_source.so",
              "--plugin-load-add=semisync_replica.so",
              "--loose-rpl-semi-sync-replica-enabled=ON");
      this.container.start();
    }

    /** The address by which servers, agents and clients reach the server. */
    String host() {
      return this.container.getContainerInfo().getNetworkSettings().getNetworks().values().stream()
          .map((network) -> network.getIpAddress())
          .filter(Objects::nonNull)
          .findFirst()
          .orElseThrow();
    }

    String url() {
      return "jdbc:mysql://%s:3306/?connectTimeout=1000&allowPublicKeyRetrieval=true"
          .formatted(host());
    }

    Connection connect() throws SQLException {
      return DriverManager.getConnection(url(), "root", PASSWORD);
    }

    void execute(String... statements) throws SQLException {
      try (Connection connection = connect();
          Statement statement = connection.createStatement()) {
        for (String sql : statements) {
          statement.execute(sql);
        }
      }
    }

    String query(String sql) throws SQLException {
      try (Connection connection = connect();
          Statement statement = connection.createStatement();
          ResultSet row = statement.executeQuery(sql)) {
        row.next();
        return row.getString(1);
      }
    }

    boolean isRunning() {
      return Boolean.TRUE.equals(docker().getState().getRunning());
    }

    private com.github.dockerjava.api.command.InspectContainerResponse docker() {
      return this.container
          .getDockerClient()
          .inspectContainerCmd(this.container.getContainerId())
          .exec();
    }

    void kill() {
      this.container
          .getDockerClient()
          .killContainerCmd(this.container.getContainerId())
          .exec();
    }

    void pause() {
      this.container
          .getDockerClient()
          .pauseContainerCmd(this.container.getContainerId())
          .exec();
    }

    void resume() {
      this.container
          .getDockerClient()
          .unpauseContainerCmd(this.container.getContainerId())
          .exec();
    }

    void startAgain() {
      this.container
          .getDockerClient()
          .startContainerCmd(this.container.getContainerId())
          .exec();
    }

    @Override
    public void close() {
      this.container.close();
    }
  }

  final Map<String, Server> servers = new LinkedHashMap<>();

  ReplicationSet(String... names) throws SQLException {
    Assumptions.assumeTrue(DockerClientFactory.instance().isDockerAvailable(), "no Docker");
    for (String name : names) {
      this.servers.put(name, new Server(name, this.servers.size() + 1));
    }
    for (Server server : this.servers.values()) {
      server.execute(
          "SET SESSION sql_log_bin = 0",
          "CREATE USER IF NOT EXISTS 'replica'@'%' IDENTIFIED BY '" + PASSWORD + "'",
          "GRANT REPLICATION SLAVE, BACKUP_ADMIN ON *.* TO 'replica'@'%'",
          "INSTALL PLUGIN clone SONAME 'mysql_clone.so'",
          "GRANT ALL ON orders.* TO 'app'@'%'",
          "CREATE TABLE orders.written (id bigint PRIMARY KEY)",
          "RESET BINARY LOGS AND GTIDS",
          "SET GLOBAL super_read_only = ON");
    }
  }

  Server get(String name) {
    return Objects.requireNonNull(this.servers.get(name));
  }

  @Override
  public void close() {
    this.servers.values().forEach(Server::close);
  }
}
