package io.election.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import java.io.File;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.condition.EnabledIf;
import org.junit.jupiter.api.io.TempDir;

/** Real processes start, join and stop a real server. */
@EnabledIf(
    value = "io.election.embedded.MariaDbPrograms#existForThisPlatform",
    disabledReason = "there is no embedded MariaDB for this platform")
@TestMethodOrder(OrderAnnotation.class) // the first test unpacks the server for the others
@Tag("faults")
class EmbeddedDatabaseIT {

  private static final Duration TIMEOUT = Duration.ofMinutes(2);

  private static final String JOINED = "answering at ";

  @TempDir
  static Path directory;

  private final List<Node> nodes = new ArrayList<>();

  /** A node reduced to its use of the database. Joins at once, and leaves when its input ends. */
  public static void main(String[] args) throws IOException {
    try (EmbeddedDatabase database = EmbeddedDatabase.join(Path.of(args[0]))) {
      System.out.println(JOINED + database.getJdbcUrl());
      System.in.read();
    }
  }

  @AfterEach
  void killAll() {
    nodes.forEach(Node::kill);
    servers().forEach(EmbeddedDatabaseIT::kill);
  }

  @Test
  @Order(1)
  void nodesThatStartAtOnceUnpackOnceAndShareOneServer() throws Exception {
    // left by a process that was killed while it unpacked the server
    Path unfinished = directory.resolve("mariadb-11.4.5.unfinished/bin");
    Files.createDirectories(unfinished);
    Files.writeString(unfinished.resolve("mariadbd"), "half a serv");

    Node a = startNode();
    Node b = startNode();
    Node c = startNode();

    assertThat(a.url()).isEqualTo(b.url()).isEqualTo(c.url());
    assertThat(servers()).hasSize(1);
    String all = a.text() + b.text() + c.text();
    assertThat(all).containsOnlyOnce("unpacked ").containsOnlyOnce("started MariaDB");
    assertThat(all.split("joined MariaDB")).as("parts around two joins").hasSize(3);
    assertThat(all).contains("password in " + passwordFile()).doesNotContain(password());
  }

  /** Every local user reaches the server, which runs as the developer. */
  @Test
  void otherLocalUsersCannotLogInAndNoAccountReachesTheDevelopersFiles() throws Exception {
    try (EmbeddedDatabase database = EmbeddedDatabase.join(directory)) {
      String url = database.getJdbcUrl();
      for (String login : List.of("sample/sample", "sample/", "root/", "root/root", "/")) {
        String[] parts = login.split("/", -1);
        assertThatThrownBy(
                () -> DriverManager.getConnection(url, parts[0], parts[1]).close())
            .as(login)
            .hasMessageContaining("Access denied");
      }
      try (Connection connection = connect(url)) {
        assertThat(query(
                connection,
                "SELECT COUNT(DISTINCT table_schema) FROM "
                    + "information_schema.schema_privileges WHERE table_schema <> 'sample'"))
            .isEqualTo("0");
        assertThatThrownBy(() -> connection.createStatement().execute("CREATE DATABASE test_x"))
            .hasMessageContaining("Access denied");
        Path files = Path.of(query(connection, "SELECT @@secure_file_priv"));
        assertThat(files).isEmptyDirectory();
        assertThat(Files.getPosixFilePermissions(files))
            .isEqualTo(PosixFilePermissions.fromString("rwx------"));
      }
    }
    assertThat(Files.getPosixFilePermissions(passwordFile()))
        .isEqualTo(PosixFilePermissions.fromString("rw-------"));
  }

  private static String query(Connection connection, String sql) throws SQLException {
    try (ResultSet row = connection.createStatement().executeQuery(sql)) {
      row.next();
      return row.getString(1);
    }
  }

  @Test
  void theServerSurvivesTheNodeThatStartedItAndEndsWithTheLastThatLeaves() throws Exception {
    Node starter = startNode();
    String url = starter.url();
    ProcessHandle server = server();
    Node second = startNode();
    second.url();

    starter.kill();
    assertThat(answers(url)).isTrue();
    second.kill();
    assertThat(answers(url)).as("it outlived all nodes").isTrue();

    Node third = startNode();
    assertThat(third.url()).isEqualTo(url);
    Node fourth = startNode();
    fourth.url();
    third.leave();
    assertThat(answers(url)).isTrue();
    assertThat(servers()).containsExactly(server);

    fourth.leave();
    assertThat(servers()).isEmpty();
    assertThat(fourth.text()).containsPattern("stopped MariaDB, .* MB stay in " + directory);
  }

  @Test
  void aServerThatDiedIsStartedAnewWithItsDataWhereTheSurvivorsLookForIt() throws Exception {
    Node survivor = startNode();
    String url = survivor.url();
    try (Connection connection = connect(url)) {
      connection.createStatement().execute("CREATE OR REPLACE TABLE kept (id int)");
    }
    kill(server());
    assertThat(answers(url)).isFalse();

    Node next = startNode();
    assertThat(next.url()).isEqualTo(url);
    try (Connection connection = connect(url)) {
      connection.createStatement().execute("SELECT * FROM kept");
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

  /** Playgrounds and tests run servers of the same programs. */
  @Test
  void aServerElsewhereIsLeftAlone(@TempDir Path elsewhere) throws Exception {
    MariaDbPrograms programs = new MariaDbPrograms(directory);
    programs.unpack();
    Path data = elsewhere.resolve("data");
    programs.createData(data);
    Process other = programs.start(
        List.of(), MariaDbServer.anyFreePort(), data, "", elsewhere.resolve("server.log"));
    try {
      EmbeddedDatabase.join(directory).close();
      assertThat(servers()).containsExactly(other.toHandle());
    } finally {
      other.destroyForcibly().onExit().join();
    }
  }

  private Node startNode() throws IOException {
    Node node = new Node(nodes.size());
    nodes.add(node);
    return node;
  }

  private static ProcessHandle server() {
    assertThat(servers()).hasSize(1);
    return servers().get(0);
  }

  private static List<ProcessHandle> servers() {
    String ours = directory.resolve("mariadb-11.4.5") + File.separator;
    return ProcessHandle.allProcesses()
        .filter((process) -> process.info().command().orElse("").startsWith(ours))
        .toList();
  }

  private static void kill(ProcessHandle process) {
    process.destroyForcibly();
    await().atMost(TIMEOUT).until(() -> !servers().contains(process));
  }

  private static Path passwordFile() {
    return directory.resolve("password");
  }

  private static String password() throws IOException {
    return Files.readString(passwordFile());
  }

  private static boolean answers(String url) throws IOException {
    try (Connection connection = connect(url)) {
      return connection.isValid(5);
    } catch (SQLException ex) {
      return false;
    }
  }

  private static Connection connect(String url) throws IOException, SQLException {
    return DriverManager.getConnection(url, MariaDbServer.USER, password());
  }

  /** A JVM that runs {@link #main}. */
  private static final class Node {

    private final Path output;
    private final Process process;

    Node(int number) throws IOException {
      output = Files.createTempFile(directory, "node-" + number + "-", ".txt");
      process = new ProcessBuilder(
              Path.of(System.getProperty("java.home"), "bin", "java").toString(),
              "-cp",
              System.getProperty("java.class.path"),
              EmbeddedDatabaseIT.class.getName(),
              directory.toString())
          .redirectErrorStream(true)
          .redirectOutput(output.toFile())
          .start();
    }

    /** Waits until the node has joined. Returns its URL. */
    String url() throws IOException {
      await()
          .atMost(TIMEOUT)
          .failFast(
              "the node ended", () -> assertThat(process.isAlive()).as(text()).isTrue())
          .until(() -> text().contains(JOINED));
      return text()
          .lines()
          .filter((line) -> line.startsWith(JOINED))
          .map((line) -> line.substring(JOINED.length()))
          .findFirst()
          .orElseThrow();
    }

    void leave() throws Exception {
      process.getOutputStream().close();
      assertThat(process.waitFor(2, TimeUnit.MINUTES)).isTrue();
      assertThat(process.exitValue()).as(text()).isZero();
    }

    void kill() {
      process.destroyForcibly().onExit().join();
    }

    private String text() throws IOException {
      return Files.readString(output);
    }
  }
}
