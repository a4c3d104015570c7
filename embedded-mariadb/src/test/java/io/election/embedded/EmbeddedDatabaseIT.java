package io.election.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Real processes start, join and stop a real server. */
@EnabledIf(
    value = "io.election.embedded.MariaDbPrograms#existForThisPlatform",
    disabledReason = "there is no embedded MariaDB for this platform")
@TestMethodOrder(OrderAnnotation.class) // the first test unpacks the server for the others
class EmbeddedDatabaseIT {

  private static final Duration TIMEOUT = Duration.ofMinutes(2);

  @TempDir
  static Path directory;

  private final List<Node> nodes = new ArrayList<>();

  @AfterEach
  void killAll() {
    nodes.forEach(Node::kill);
    servers().forEach(EmbeddedDatabaseIT::kill);
  }

  @Test
  @Order(1)
  void nodesThatStartAtOnceUnpackOnceAndShareOneServer() throws IOException {
    // left by a process that was killed while it unpacked the server
    Path unfinished = directory.resolve("mariadb-11.4.5.unfinished/bin");
    Files.createDirectories(unfinished);
    Files.writeString(unfinished.resolve("mariadbd"), "half a serv");

    Node a = startNode();
    Node b = startNode();
    Node c = startNode();

    assertThat(a.url()).isEqualTo(b.url()).isEqualTo(c.url());
    assertThat(servers()).hasSize(1);
    assertThat(nodes).filteredOn(node -> node.said("unpacking mariadb")).hasSize(1);
    assertThat(nodes).filteredOn(node -> node.said("started MariaDB")).hasSize(1);
    assertThat(nodes).filteredOn(node -> node.said("joined MariaDB")).hasSize(2);
  }

  @Test
  void theServerSurvivesTheNodeThatStartedItAndEndsWithTheLast() {
    Node starter = startNode();
    String url = starter.url();
    ProcessHandle server = server();
    Node second = startNode();
    second.url();
    Node third = startNode();
    third.url();

    starter.kill();
    assertThat(answers(url)).isTrue();

    second.leave();
    assertThat(answers(url)).isTrue();
    assertThat(servers()).containsExactly(server);

    third.leave();
    assertThat(servers()).isEmpty();
  }

  @Test
  void aServerThatOutlivedAllNodesIsJoinedAndStoppedByTheNext() {
    Node killed = startNode();
    String url = killed.url();
    ProcessHandle server = server();
    killed.kill();
    assertThat(answers(url)).isTrue();

    Node next = startNode();
    assertThat(next.url()).isEqualTo(url);
    assertThat(servers()).containsExactly(server);

    next.leave();
    assertThat(servers()).isEmpty();
  }

  @Test
  void aServerThatDiedIsStartedAnewWithItsDataWhereTheSurvivorsLookForIt() throws SQLException {
    Node survivor = startNode();
    String url = survivor.url();
    try (Connection connection = connect(url)) {
      connection.createStatement().execute("CREATE OR REPLACE TABLE kept (id int)");
    }
    kill(server());
    assertThat(answers(url)).isFalse();

    Node next = startNode();
    assertThat(next.url()).isEqualTo(url);
    try (Connection connection = connect(url);
        ResultSet tables = connection.createStatement().executeQuery("SHOW TABLES LIKE 'kept'")) {
      assertThat(tables.next()).isTrue();
    }

    next.leave();
    assertThat(answers(url)).isTrue();
    survivor.leave();
    assertThat(servers()).isEmpty();
  }

  @Test
  void theContextsOfOneProcessAreCountedEach() throws IOException {
    EmbeddedDatabase first = EmbeddedDatabase.join(directory);
    EmbeddedDatabase second = EmbeddedDatabase.join(directory);

    first.close();
    first.close();
    assertThat(answers(second.getJdbcUrl())).isTrue();

    second.close();
    assertThat(servers()).isEmpty();
  }

  private Node startNode() {
    Node node = new Node(nodes.size());
    nodes.add(node);
    return node;
  }

  private static ProcessHandle server() {
    assertThat(servers()).hasSize(1);
    return servers().get(0);
  }

  private static List<ProcessHandle> servers() {
    return ProcessHandle.allProcesses()
        .filter(process ->
            process.info().command().filter(EmbeddedDatabaseIT::isOurs).isPresent())
        .toList();
  }

  private static boolean isOurs(String command) {
    return Path.of(command).startsWith(directory.resolve("mariadb-11.4.5"));
  }

  private static void kill(ProcessHandle process) {
    process.destroyForcibly();
    await().atMost(TIMEOUT).until(() -> !servers().contains(process));
  }

  private static boolean answers(String url) {
    try (Connection connection = connect(url)) {
      return connection.isValid(5);
    } catch (SQLException ex) {
      return false;
    }
  }

  private static Connection connect(String url) throws SQLException {
    return DriverManager.getConnection(url, MariaDbServer.USER, MariaDbServer.PASSWORD);
  }

  /** A JVM that runs {@link DatabaseNode}. */
  private static final class Node {

    private final Path output;

    private final Process process;

    Node(int number) {
      try {
        this.output = Files.createTempFile(directory, "node-" + number + "-", ".txt");
        this.process = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                DatabaseNode.class.getName(),
                directory.toString())
            .redirectErrorStream(true)
            .redirectOutput(output.toFile())
            .start();
      } catch (IOException ex) {
        throw new UncheckedIOException(ex);
      }
    }

    /** Waits until the node has joined. Returns its URL. */
    String url() {
      await()
          .atMost(TIMEOUT)
          .failFast(
              "the node ended", () -> assertThat(process.isAlive()).as(text()).isTrue())
          .until(() -> said(DatabaseNode.JOINED));
      return line(DatabaseNode.JOINED).orElseThrow().substring(DatabaseNode.JOINED.length());
    }

    boolean said(String what) {
      return text().contains(what);
    }

    void leave() {
      try {
        process.getOutputStream().close();
      } catch (IOException ex) {
        throw new UncheckedIOException(ex);
      }
      await().atMost(TIMEOUT).until(() -> !process.isAlive());
      assertThat(process.exitValue()).as(text()).isZero();
    }

    void kill() {
      process.destroyForcibly().onExit().join();
    }

    private Optional<String> line(String start) {
      return text().lines().filter(line -> line.startsWith(start)).findFirst();
    }

    private String text() {
      try {
        return Files.readString(output);
      } catch (IOException ex) {
        throw new UncheckedIOException(ex);
      }
    }
  }
}
