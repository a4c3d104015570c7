package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.Succession;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Status.Role;
import io.election.store.LeaseStoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.awaitility.core.ConditionFactory;
import org.springframework.boot.builder.SpringApplicationBuilder;
import org.springframework.context.ConfigurableApplicationContext;

/** The agents of a set in this JVM. */
final class LocalAgents implements AutoCloseable {

  final String service = "set-" + UUID.randomUUID();
  final ReplicationSet set;
  private final String etcd;
  private final Map<String, ConfigurableApplicationContext> agents = new ConcurrentHashMap<>();

  /**
   * @param etcd the endpoints over which the agents elect
   */
  LocalAgents(ReplicationSet set, String etcd) {
    this.set = set;
    this.etcd = etcd;
  }

  /** Starts the agents of all servers, of which the server a becomes the first source. */
  void startAll(int acknowledging) {
    this.set.servers.values().forEach((server) -> start(server));
    initialize(acknowledging);
  }

  /** Makes the server a the first source, once its agent has published its position. */
  void initialize(int acknowledging) {
    patiently().ignoreExceptions().until(() -> {
      bean("a", FirstRecord.class).write(acknowledging);
      return true;
    });
  }

  void start(Server server, String... more) {
    this.agents.put(server.name, run(arguments(server), more));
  }

  /**
   * Runs an agent.
   *
   * @param more arguments that replace those of the same name; one without a value only removes
   *     another
   */
  static ConfigurableApplicationContext run(List<String> arguments, String... more) {
    List<String> all = new ArrayList<>(arguments);
    for (String argument : more) {
      all.removeIf((each) -> each.startsWith(argument.replaceAll("=.*", "=")));
      if (!argument.endsWith("=")) {
        all.add(argument);
      }
    }
    return new SpringApplicationBuilder(FailoverAgentApplication.class)
        .properties("server.port=0")
        .run(all.toArray(String[]::new));
  }

  List<String> arguments(Server server) {
    return AgentProcess.arguments(server, this.set.servers.values(), this.service, this.etcd);
  }

  void stop(String server) {
    this.agents.remove(server).close();
  }

  /** Returns the names of the servers whose agents run. */
  Set<String> names() {
    return this.agents.keySet();
  }

  <T> T bean(String server, Class<T> type) {
    return this.agents.get(server).getBean(type);
  }

  Status status(String server) {
    return bean(server, Agent.class).status();
  }

  /** Returns the first source among the servers whose agents run. */
  Optional<Server> source() {
    return this.set.servers.values().stream()
        .filter((server) -> this.agents.containsKey(server.name))
        .filter((server) -> status(server.name).role() == Role.SOURCE)
        .findFirst();
  }

  /** Returns the position of a server as the agent of another one reads it. */
  Optional<Position> position(String reader, String server) throws LeaseStoreException {
    return Optional.ofNullable(bean(reader, Registry.class).read().positions().get(server));
  }

  /** Returns the replicas whose positions count if the source is lost. */
  static Set<String> counting(Snapshot read) {
    return counting(read.last().orElseThrow(), read.positions().values().stream());
  }

  /** Returns the replicas whose positions count if the source of a promotion is lost. */
  static Set<String> counting(Promotion last, Stream<Position> positions) {
    return positions
        .filter((each) -> !each.server().equals(last.server()))
        .map(last::counting)
        .filter(Succession.Position::whole)
        .map(Succession.Position::server)
        .collect(Collectors.toSet());
  }

  /** Returns the proof that a server is whole, as its agent has published it. */
  GtidSet proof(String reader, String server) throws LeaseStoreException {
    return position(reader, server).map(Position::proof).orElse(GtidSet.EMPTY);
  }

  /** Waits for a source that the replicas follow, and until they are proven to be whole. */
  void awaitSet(String source, String... replicas) {
    patiently().untilAsserted(() -> {
      assertThat(status(source).role()).isEqualTo(Role.SOURCE);
      for (String replica : replicas) {
        assertThat(status(replica).role()).as(replica).isEqualTo(Role.REPLICA);
      }
      assertThat(counting(bean(source, Registry.class).read())).contains(replicas);
    });
  }

  static ConditionFactory patiently() {
    return await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(20));
  }

  @Override
  public void close() {
    this.agents.values().forEach(ConfigurableApplicationContext::close);
    this.agents.clear();
    this.set.close();
  }
}
