package io.election.support;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.election.embedded.MariaDbPrograms;
import io.election.support.process.NodeProcess;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Tests the embedded server, which tests use without Docker. */
class EmbeddedServerIT {

  private static final int PROCESSES = 2;

  private static final int THREADS = 2;

  /** Every local user reaches the server, which runs as the developer. */
  @Test
  void otherLocalUsersCannotLogInAndNoAccountReachesTheDevelopersFiles(@TempDir Path folder)
      throws Exception {
    assumeTrue(MariaDbPrograms.existForThisPlatform(), "no embedded server for this platform");
    Path secret = Files.writeString(folder.resolve("secret"), "of the developer");
    Path planted = folder.resolve("planted");
    try (TestServer server = EmbeddedServer.launch()) {
      TestDatabase database = server.newDatabase();
      assertRefusesStrangers(server);
      server.stop();
      server.start();
      assertRefusesStrangers(server);
      assertThat(database.query("SELECT LOAD_FILE('" + secret + "')")).isNull();
      assertThatThrownBy(() -> database.query("SELECT 'x' INTO DUMPFILE '" + planted + "'"))
          .hasMessageContaining("secure-file-priv");
      assertThat(planted).doesNotExist();
      try (Connection own = database.dataSource().getConnection()) {
        assertThatThrownBy(() -> own.createStatement().execute("CREATE DATABASE test_other"))
            .hasMessageContaining("Access denied");
        assertThatThrownBy(() -> TestServer.query(own, "SELECT 1 FROM mysql.global_priv"))
            .hasMessageContaining("denied");
      }
    }
  }

  private static void assertRefusesStrangers(TestServer server) {
    for (String login : List.of("root/test", "root/", "/", "nobody/", "owner_election_1/")) {
      String[] parts = login.split("/", -1);
      assertThatThrownBy(() ->
              DriverManager.getConnection(server.url(""), parts[0], parts[1]).close())
          .as(login)
          .isInstanceOf(SQLException.class)
          .hasMessageContaining("Access denied");
    }
    assertThat(server.query("""
        SELECT GROUP_CONCAT(User, '@', Host ORDER BY User SEPARATOR ' ') FROM mysql.global_priv
        WHERE User NOT LIKE 'owner%'
        """)).isEqualTo("mariadb.sys@localhost root@127.0.0.1");
    assertThat(server.query("SELECT COUNT(*) FROM mysql.db WHERE User NOT LIKE 'owner%'"))
        .isEqualTo("0");
  }

  /** The test classes of the first build on a machine start like this. */
  @Test
  @Tag("faults")
  void threadsAndProcessesThatStartAtOnceAllGetAServer(@TempDir Path empty) throws Exception {
    assumeTrue(MariaDbPrograms.existForThisPlatform(), "no embedded server for this platform");
    List<Process> processes = new ArrayList<>();
    try {
      for (int i = 0; i < PROCESSES; i++) {
        processes.add(new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Duser.home=" + empty,
                "-cp",
                NodeProcess.classPath(),
                EmbeddedServerIT.class.getName())
            .redirectErrorStream(true)
            .redirectOutput(empty.resolve("output-" + i).toFile())
            .start());
      }
      for (int i = 0; i < PROCESSES; i++) {
        assertThat(processes.get(i).waitFor(3, TimeUnit.MINUTES)).as("it ended").isTrue();
        assertThat(processes.get(i).exitValue())
            .as(Files.readString(empty.resolve("output-" + i)))
            .isZero();
      }
    } finally {
      processes.forEach(Process::destroy);
    }
  }

  /** Starts servers from several threads at once, and queries each for its version. */
  public static void main(String... arguments) throws Exception {
    CyclicBarrier ready = new CyclicBarrier(THREADS);
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    Callable<String> start = () -> {
      ready.await();
      try (TestServer server = EmbeddedServer.launch()) {
        return server.version();
      }
    };
    for (Future<String> version : threads.invokeAll(Collections.nCopies(THREADS, start))) {
      System.out.println(version.get());
    }
    threads.shutdown();
  }
}
