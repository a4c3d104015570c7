package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import com.github.dockerjava.api.DockerClient;
import com.github.dockerjava.api.exception.ConflictException;
import com.github.dockerjava.api.exception.DockerException;
import com.github.dockerjava.api.model.ContainerNetwork;
import com.github.dockerjava.api.model.Network.Ipam;
import io.election.support.DatabaseImage;
import io.election.support.TestServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;
import org.testcontainers.containers.Network;
import org.testcontainers.images.builder.Transferable;
import org.testcontainers.lifecycle.Startables;
import org.testcontainers.mysql.MySQLContainer;

/** Servers in containers, ready to become a replication set. */
final class ReplicationSet implements AutoCloseable {

  static final String PASSWORD = "secret";

  /** With the certificates that servers make for themselves. */
  static final Tls TLS = new Tls(Tls.Mode.REQUIRED, null);

  static String url(String host, int port) {
    return "jdbc:mysql://%s:%d/?connectTimeout=1000&allowPublicKeyRetrieval=true"
        .formatted(host, port);
  }

  /** A server. */
  static final class Server implements AutoCloseable {

    final String name;
    private final String address;
    private final Network network;
    private final MySQLContainer container;

    private Server(
        String name, int number, Network network, String address, Consumer<MySQLContainer> change) {
      this.name = name;
      this.address = address;
      this.network = network;
      this.container = DatabaseImage.MYSQL_9_7
          .mysql()
          .withNetwork(network)
          .withCreateContainerCmdModifier((command) -> command.withIpv4Address(address))
          .withUsername("app")
          .withPassword(PASSWORD)
          .withDatabaseName("orders")
          .withCommand(Stream.concat(
                  options(),
                  Stream.of(
                      "--server-id=" + number,
                      "--super-read-only=OFF", // until it has users
                      "--innodb-buffer-pool-size=64M",
                      // The limit for native AIO is shared by all servers.
                      "--innodb-use-native-aio=OFF"))
              .toArray(String[]::new));
      change.accept(this.container);
    }

    /** Returns the options that the documentation shows. */
    private static Stream<String> options() {
      try {
        return Files.readAllLines(Path.of("..", "example", "my.cnf")).stream()
            .filter((line) -> line.matches("\\w+=.*"))
            .map((line) -> "--" + line);
      } catch (IOException ex) {
        throw new UncheckedIOException(ex);
      }
    }

    /**
     * Returns the address at which servers, agents and clients reach the server whenever it runs.
     */
    String host() {
      return this.address;
    }

    String containerId() {
      return this.container.getContainerId();
    }

    String url() {
      return ReplicationSet.url(host(), 3306);
    }

    /** Returns the server as its agent manages it. */
    MysqlServer managed() {
      return new MysqlServer(url(), "root", PASSWORD, TLS, System::nanoTime);
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

    /** Returns the ids of the writers' transactions that the server has. */
    Set<Long> ids() throws SQLException {
      Set<Long> ids = new HashSet<>();
      try (Connection connection = connect();
          Statement statement = connection.createStatement();
          ResultSet row = statement.executeQuery("SELECT id FROM orders.written")) {
        while (row.next()) {
          ids.add(row.getLong(1));
        }
      }
      return ids;
    }

    boolean isRunning() {
      return Boolean.TRUE.equals(
          docker().inspectContainerCmd(containerId()).exec().getState().getRunning());
    }

    private DockerClient docker() {
      return this.container.getDockerClient();
    }

    void kill() {
      try {
        docker().killContainerCmd(containerId()).exec();
      } catch (ConflictException ex) {
        // Its guard has shut it down.
      }
    }

    void pause() {
      docker().pauseContainerCmd(containerId()).exec();
    }

    void resume() {
      docker().unpauseContainerCmd(containerId()).exec();
    }

    void startAgain() {
      docker().startContainerCmd(containerId()).exec();
    }

    /** Cuts the server off from all servers, agents and clients. */
    void unplug() {
      docker()
          .disconnectFromNetworkCmd()
          .withNetworkId(this.network.getId())
          .withContainerId(containerId())
          .withForce(true)
          .exec();
    }

    void plugIn() {
      docker()
          .connectToNetworkCmd()
          .withNetworkId(this.network.getId())
          .withContainerId(containerId())
          .withContainerNetwork(new ContainerNetwork()
              .withIpamConfig(new ContainerNetwork.Ipam().withIpv4Address(this.address)))
          .exec();
    }

    /**
     * Drops all packets between this server and another one, until this server shuts down or
     * {@link #reachAll} is called.
     *
     * @return whether this is possible on this machine
     */
    boolean cutOffFrom(Server other) {
      return filter("-A", "INPUT", "-s", other.address, "-j", "DROP")
          && filter("-A", "OUTPUT", "-d", other.address, "-j", "DROP");
    }

    void reachAll() {
      filter("-F");
    }

    /** Changes the packet filter of the network namespace, and returns whether that is possible. */
    private boolean filter(String... change) {
      Long process =
          docker().inspectContainerCmd(containerId()).exec().getState().getPidLong();
      List<String> command = new ArrayList<>(
          List.of("nsenter", "--target", String.valueOf(process), "--net", "iptables", "-w"));
      command.addAll(List.of(change));
      try {
        return new ProcessBuilder(command).inheritIO().start().waitFor() == 0;
      } catch (IOException ex) {
        return false;
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
        throw new IllegalStateException(ex);
      }
    }

    /** Changes the UUID of the server at its next start. */
    void changeUuid(String uuid) {
      put("/var/lib/mysql/auto.cnf", "[auto]\nserver-uuid=%s\n".formatted(uuid));
    }

    /** Runs a command on the server's machine. */
    void run(String... command) throws Exception {
      assertThat(this.container.execInContainer(command).getExitCode()).isZero();
    }

    /** Writes a file of the server's machine. */
    void put(String path, String text) {
      this.container.copyFileToContainer(Transferable.of(text), path);
    }

    /** Returns what the server has written to its error log. */
    String log() {
      return this.container.getLogs();
    }

    @Override
    public void close() {
      this.container.close();
    }
  }

  final Map<String, Server> servers = new LinkedHashMap<>();

  private final Network network;

  ReplicationSet(String... names) throws SQLException {
    this((container) -> {}, names);
  }

  /** Creates servers, each of which is changed before it starts. */
  ReplicationSet(Consumer<MySQLContainer> change, String... names) throws SQLException {
    Assumptions.assumeTrue(TestServer.hasDocker(), "no Docker");
    Map.Entry<String, Network> network = newNetwork();
    this.network = network.getValue();
    for (String name : names) {
      int number = this.servers.size() + 1;
      this.servers.put(
          name, new Server(name, number, this.network, network.getKey() + (10 + number), change));
    }
    Startables.deepStart(this.servers.values().stream().map((server) -> server.container))
        .join();
    for (Server server : this.servers.values()) {
      server.execute(
          "SET SESSION sql_log_bin = 0",
          "CREATE USER IF NOT EXISTS 'replica'@'%' IDENTIFIED BY '" + PASSWORD + "'",
          "GRANT REPLICATION SLAVE, BACKUP_ADMIN ON *.* TO 'replica'@'%'",
          "GRANT ALL ON orders.* TO 'app'@'%'",
          "CREATE TABLE orders.written (id bigint PRIMARY KEY)",
          "RESET BINARY LOGS AND GTIDS",
          // The server is also read-only after a restart.
          "SET PERSIST super_read_only = ON");
    }
  }

  /**
   * Creates a network in which each server has a fixed address. In other networks, a container that
   * starts may get the address of one that is down.
   *
   * @return the prefix of the network's addresses, and the network
   */
  private static Map.Entry<String, Network> newNetwork() {
    for (int attempt = 1; ; attempt++) {
      String prefix = "10.%d.%d."
          .formatted(
              ThreadLocalRandom.current().nextInt(100, 250),
              ThreadLocalRandom.current().nextInt(256));
      Network network = Network.builder()
          .createNetworkCmdModifier((command) -> command.withIpam(
              new Ipam().withConfig(new Ipam.Config().withSubnet(prefix + "0/24"))))
          .build();
      try {
        network.getId();
        return Map.entry(prefix, network);
      } catch (DockerException ex) {
        if (attempt == 5) {
          throw ex; // another network with these addresses is not the cause
        }
      }
    }
  }

  Server get(String name) {
    return Objects.requireNonNull(this.servers.get(name));
  }

  @Override
  public void close() {
    this.servers.values().forEach(Server::close);
    this.network.close();
  }
}
