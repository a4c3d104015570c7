package io.election.support.process;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

class NodeProcessTest {

  private static final List<String> SECRETS = List.of("sEcret1", "sEcret2", "sEcret3");

  /** Prints what it got, and waits for its end. */
  public static void main(String... arguments) throws Exception {
    System.out.println(String.join(
        " ",
        System.getenv("SPRING_DATASOURCE_PASSWORD"),
        System.getenv("AS_FAILOVER_REPLICATIONPASSWORD")));
    Thread.sleep(60_000);
  }

  @Test
  @EnabledOnOs(value = OS.LINUX, disabledReason = "it reads /proc")
  void noPasswordIsAmongTheArgumentsThatEveryUserSees(@TempDir Path folder) throws Exception {
    Node node = new Node("a", NodeProcessTest.class);
    NodeProcess process = NodeProcess.start(
        node,
        folder,
        List.of(
            "spring.datasource.password=" + SECRETS.get(0),
            "spring.datasource.password=" + SECRETS.get(1),
            "as.failover.replication-password=" + SECRETS.get(2),
            "as.election.node-id=a"));
    try {
      for (int start = 1; start <= 2; start++) {
        int lines = start;
        await().until(() -> process.log().lines().count() == lines);
        String arguments = new String(
            Files.readAllBytes(Path.of("/proc", "" + process.pid(), "cmdline")),
            StandardCharsets.UTF_8);
        assertThat(arguments).contains("--as.election.node-id=a").doesNotContain(SECRETS);
        assertThat(process.log().lines()).containsOnly("sEcret2 sEcret3");
        process.kill();
        process.restart();
      }
    } finally {
      process.destroy();
    }
  }
}
