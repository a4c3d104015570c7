package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.etcd.EtcdProcess;
import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Status.Role;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** The jar and the example that comes with it. */
@Tag("faults")
@Tag("failover")
class JarIT {

  private static final Path EXAMPLE = Path.of("..", "example");

  private static Path jar() throws IOException {
    try (Stream<Path> files = Files.list(Path.of("target"))) {
      return files
          .filter((file) -> file.toString().matches(".*/mysql-failover-agent-[^/]*\\.jar"))
          .findFirst()
          .orElseThrow();
    }
  }

  private static List<String> users() throws IOException {
    return Stream.of(Files.readString(EXAMPLE.resolve("users.sql"))
            .replaceAll("--.*", "")
            .replace("127.0.0.1", "10.%")
            .replace("10.0.0.%", "10.%")
            .split(";\\s*"))
        .map(String::strip)
        .toList();
  }

  private static AgentProcess start(
      Server server, ReplicationSet set, EtcdProcess etcd, Path folder) throws IOException {
    List<String> arguments = new ArrayList<>(List.of(
        "--spring.config.additional-location=file:" + EXAMPLE.resolve("agent.properties"),
        "--as.election.etcd.endpoints=" + etcd.url(),
        "--as.failover.server=" + server.name,
        "--as.failover.url=jdbc:mysql://%s:3306/".formatted(server.host())));
    set.servers.values().forEach((each) -> arguments.add(AgentProcess.address(each)));
    return new AgentProcess(
        List.of("-jar", jar().toString()), arguments, folder.resolve(server.name + ".log"));
  }

  private static long count(Map<String, AgentProcess> agents, Role role) {
    return agents.values().stream()
        .flatMap((agent) -> agent.status().stream())
        .filter((status) -> status.role() == role)
        .count();
  }

  @Test
  void aSetThatIsSetUpAsDocumentedHasASourceAndTheMetersOfTheAlerts(@TempDir Path folder)
      throws Exception {
    Map<String, AgentProcess> agents = new TreeMap<>();
    try (ReplicationSet set = new ReplicationSet("a", "b", "c");
        EtcdProcess etcd = EtcdProcess.start()) {
      for (Server server : set.servers.values()) {
        server.execute(users().toArray(String[]::new));
        agents.put(server.name, start(server, set, etcd, folder));
      }
      await()
          .atMost(Duration.ofSeconds(150)) // as long as in a FailoverSet
          .ignoreExceptions()
          .until(() -> agents.get("a").initialize(1).statusCode() == 202);
      await().atMost(Duration.ofSeconds(60)).untilAsserted(() -> {
        assertThat(count(agents, Role.SOURCE)).isOne();
        assertThat(count(agents, Role.REPLICA)).isEqualTo(2);
      });
      AgentProcess agent = agents.get("b");
      assertThat(agent.get("/actuator/health").statusCode()).isEqualTo(200);
      assertThat(agent.rebuild().statusCode()).isEqualTo(409);
      assertThat(found("mysql_failover_\\w+", Files.readString(Path.of("..", "alerts.yaml"))))
          .hasSize(4)
          .isSubsetOf(found("(?m)^\\w+", agent.get("/actuator/prometheus").body()));
      assertThat(found("role=\"\\w+\"", Files.readString(Path.of("..", "alerts.yaml"))))
          .isSubsetOf(found("role=\"\\w+\"", agent.get("/actuator/prometheus").body()));

      assertThat(
              agents.get("c").command("/pause", "{\"reason\":\"an upgrade\"}").statusCode())
          .isEqualTo(202);
      awaitMetric(agent, "mysql_failover_paused 1.0");
      assertThat(agent.command("/resume", "{}").statusCode()).isEqualTo(202);
      awaitMetric(agent, "mysql_failover_paused 0.0");

      set.get("b").kill();
      await()
          .atMost(Duration.ofSeconds(60))
          .until(() -> agent.get("/actuator/health").statusCode() == 503);
    } finally {
      agents.values().forEach(AgentProcess::close);
    }
  }

  private static void awaitMetric(AgentProcess agent, String line) {
    await()
        .atMost(Duration.ofSeconds(60))
        .until(() -> agent.get("/actuator/prometheus").body().contains("\n" + line));
  }

  private static Set<String> found(String pattern, String text) {
    return Pattern.compile(pattern)
        .matcher(text)
        .results()
        .map(MatchResult::group)
        .collect(Collectors.toSet());
  }
}
