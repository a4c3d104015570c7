package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.election.etcd.EtcdProcess;
import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Status.Role;
import java.net.ServerSocket;
import java.net.SocketTimeoutException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer.OrderAnnotation;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.TestInstance.Lifecycle;
import org.junit.jupiter.api.TestMethodOrder;
import org.springframework.context.ConfigurableApplicationContext;

/**
 * Mistakes of operators, on one set of real servers: no server is promoted because of them, and
 * {@code GET /check} reports what was found and what to do. Each test leaves a source, or servers
 * of which one can become it.
 */
@Tag("failover")
@TestInstance(Lifecycle.PER_CLASS)
@TestMethodOrder(OrderAnnotation.class)
class BadInputIT {

  private static final Set<String> SERVERS = Set.of("a", "b", "c");

  private final EtcdProcess etcd = EtcdProcess.start();

  private final String service = "set-" + UUID.randomUUID();

  private final Map<String, ConfigurableApplicationContext> agents = new TreeMap<>();

  private ReplicationSet set;

  /** A server that is not a member and has no replicas. */
  private Server stranger;

  @BeforeAll
  void startServers() throws SQLException {
    this.set = new ReplicationSet("a", "b", "c", "x");
    this.stranger = this.set.get("x");
    this.stranger.execute("SET PERSIST super_read_only = OFF");
  }

  @AfterAll
  void end() {
    this.agents.values().forEach(ConfigurableApplicationContext::close);
    if (this.set != null) {
      this.set.close();
    }
    this.etcd.close();
  }

  private ConfigurableApplicationContext run(String server, String... more) {
    return LocalAgents.run(
        AgentProcess.arguments(
            this.set.get(server),
            SERVERS.stream().map(this.set::get).toList(),
            this.service,
            this.etcd.url()),
        more);
  }

  private void start(String server, String... more) {
    this.agents.put(server, run(server, more));
  }

  private void stop(String server) {
    ConfigurableApplicationContext agent = this.agents.remove(server);
    if (agent != null) {
      agent.close();
    }
  }

  private void killWithAgent(String server) {
    this.set.get(server).kill();
    stop(server);
  }

  /** Executes statements on a server to which only administrators can write. */
  private static void executeAsAdministrator(Server server, String... statements)
      throws SQLException {
    List<String> all = new ArrayList<>(List.of(statements));
    all.add(0, "SET GLOBAL super_read_only = OFF");
    all.add("SET GLOBAL super_read_only = ON");
    server.execute(all.toArray(String[]::new));
  }

  private static Status status(ConfigurableApplicationContext agent) {
    return agent.getBean(Agent.class).status();
  }

  private Status status(String server) {
    return status(this.agents.get(server));
  }

  private static ConditionFactory patiently() {
    return await().atMost(Duration.ofSeconds(60)).pollInterval(Duration.ofMillis(20));
  }

  private Optional<String> source() {
    return this.agents.keySet().stream()
        .filter((name) -> status(name).role() == Role.SOURCE)
        .findFirst();
  }

  /**
   * Starts all servers and agents that are down, and waits for a source that the other servers
   * follow, and until their positions count.
   */
  private String settle() {
    SERVERS.forEach((name) -> {
      if (!this.set.get(name).isRunning()) {
        this.set.get(name).startAgain();
      }
      if (!this.agents.containsKey(name)) {
        start(name);
      }
    });
    patiently().ignoreExceptions().until(this::isInitialized);
    patiently().untilAsserted(() -> {
      assertThat(source()).isPresent();
      assertThat(SERVERS.stream().filter((name) -> status(name).role() == Role.REPLICA))
          .as("replicas of %s", source())
          .hasSize(2);
    });
    patiently().ignoreExceptions().untilAsserted(() -> {
      String term = term(source().orElseThrow());
      for (String name : SERVERS) {
        assertThat(term(name)).as("applied by %s", name).isEqualTo(term);
      }
      assertThat(
              LocalAgents.counting(this.agents.get("a").getBean(Registry.class).read()))
          .hasSize(2);
    });
    return source().orElseThrow();
  }

  /** Writes the first record, unless an earlier test has done so. */
  private boolean isInitialized() throws Exception {
    ConfigurableApplicationContext first = this.agents.get("a");
    if (first.getBean(Registry.class).read().last().isEmpty()) {
      first.getBean(FirstRecord.class).write(1);
    }
    return true;
  }

  private String term(String server) throws SQLException {
    return this.set.get(server).query("SELECT MAX(term) FROM mysql_failover.promotion");
  }

  private String replica(String source) {
    return SERVERS.stream()
        .filter((name) -> !name.equals(source))
        .sorted()
        .findFirst()
        .orElseThrow();
  }

  private String otherReplica(String source) {
    String replica = replica(source);
    return SERVERS.stream()
        .filter((name) -> !name.equals(source) && !name.equals(replica))
        .findFirst()
        .orElseThrow();
  }

  private static void awaitStatus(
      ConfigurableApplicationContext agent, Role role, String... reason) {
    patiently().untilAsserted(() -> {
      assertThat(status(agent).role()).as(status(agent).reason()).isEqualTo(role);
      assertThat(List.of(reason))
          .allSatisfy((part) -> assertThat(status(agent).reason()).contains(part));
    });
    System.out.printf("Shown: %s: %s%n", role, status(agent).reason());
  }

  private void awaitStatus(String server, Role role, String... reason) {
    awaitStatus(this.agents.get(server), role, reason);
  }

  /** Asserts that no server becomes a source or writable within the time of a failover. */
  private void assertThatNobodyIsPromoted() throws Exception {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(6);
    while (System.nanoTime() < end) {
      assertThat(source()).isEmpty();
      TimeUnit.MILLISECONDS.sleep(100);
    }
    for (String name : this.agents.keySet()) {
      if (this.set.get(name).isRunning()) {
        assertThat(this.set.get(name).query("SELECT @@GLOBAL.super_read_only"))
            .as(name)
            .isEqualTo("1");
      }
    }
  }

  private void rebuild(String server) {
    this.agents.get(server).getBean(Agent.class).rebuild();
    patiently().until(() -> !this.set.get(server).isRunning());
    this.set.get(server).startAgain();
    awaitStatus(server, Role.REPLICA);
  }

  private String record() {
    return this.etcd.ctl("get", "--print-value-only", "/mysql-failover/" + this.service);
  }

  private static String withTerm(String record, String term) {
    return record.replaceFirst("\"term\":\\d+", "\"term\":" + term);
  }

  private void record(String text) {
    this.etcd.ctl("put", "/mysql-failover/" + this.service, text);
  }

  /** The servers have never replicated from each other, and one has data of its own. */
  @Test
  @Order(1)
  void aSetHasNoSourceUntilAnOperatorNamesTheFirst() throws Exception {
    executeAsAdministrator(this.set.get("b"), "INSERT INTO orders.written VALUES (-1)");
    SERVERS.forEach(this::start);
    awaitStatus("b", Role.WAITING, "no promotion was ever recorded", "POST /initialize");
    assertThatNobodyIsPromoted();
    FirstRecord first = this.agents.get("a").getBean(FirstRecord.class);
    assertThatThrownBy(() -> first.write(3))
        .hasMessageContaining("between 1 and the number of replicas, which is 2");
    first.write(1);
    assertThatThrownBy(() -> first.write(1))
        .hasMessageContaining("has a record of promotions already");
    awaitStatus("a", Role.SOURCE);
    awaitStatus("b", Role.REFUSED, "transactions that the source lacks");
    rebuild("b");
    assertThat(settle()).isEqualTo("a");
  }

  @Test
  @Order(2)
  void aSecondAgentOfAServerTouchesNothing() throws Exception {
    String source = settle();
    for (String name : List.of(source, replica(source))) {
      try (ConfigurableApplicationContext second = run(name, "--as.election.node-id=second")) {
        awaitStatus(
            second, Role.REFUSED, "another agent manages this server", "stop one of the two");
        TimeUnit.SECONDS.sleep(3);
        assertThat(source()).contains(source);
        assertThat(status(second).role()).isEqualTo(Role.REFUSED);
      }
    }
    // The second agent takes over when the first one has stopped.
    String replica = replica(source);
    ConfigurableApplicationContext second = run(replica, "--as.election.node-id=second");
    awaitStatus(second, Role.REFUSED);
    stop(replica);
    this.agents.put(replica, second);
    awaitStatus(replica, Role.REPLICA);
  }

  /** Who can write to etcd cannot ask for the password of replication. */
  @Test
  @Order(2)
  void aRecordCannotNameAnotherAddress() throws Exception {
    String source = settle();
    String record = record();
    String name = replica(source);
    try (ServerSocket other = new ServerSocket(0)) {
      other.setSoTimeout(1);
      String address = "127.0.0.1:" + other.getLocalPort();
      record(record.replaceFirst(
          "\\{",
          "{\"address\":\"%s\",\"host\":\"127.0.0.1\",\"port\":%s,"
              .formatted(address, other.getLocalPort())));
      stop(name);
      this.set.get(name).execute("STOP REPLICA");
      start(name);
      awaitStatus(name, Role.REPLICA);
      record(record.replace("\"server\":\"" + source, "\"server\":\"" + address));
      awaitStatus(name, Role.UNKNOWN, address + " is not one of as.failover.servers");
      assertThatThrownBy(other::accept).isInstanceOf(SocketTimeoutException.class);
    }
    record(record);
  }

  @Test
  @Order(3)
  void aServerThatIsNoMemberNeitherJoinsNorLeadsNorBlocksAPromotion() throws Exception {
    String source = settle();
    try (ConfigurableApplicationContext x = run("x", AgentProcess.address(this.stranger))) {
      awaitStatus(
          x,
          Role.WAITING,
          "the source " + source + " has not recorded its server_uuid",
          "must list x in as.failover.servers");
      killWithAgent(source);
      patiently().until(() -> source().isPresent());
      awaitStatus(x, Role.WAITING, "has not recorded its server_uuid");
    }
    settle();
  }

  /**
   * Each would ignore the transactions of the other, and the source refuses one of the two
   * connections.
   */
  @Test
  @Order(4)
  void serversWithOneServerIdOrUuidAreRefused() throws Exception {
    String source = settle();
    Server server = this.set.get(replica(source));
    Server other = this.set.get(otherReplica(source));
    String id = server.query("SELECT @@GLOBAL.server_id");
    stop(server.name);
    server.execute(
        "STOP REPLICA",
        "SET GLOBAL server_id = " + this.set.get(source).query("SELECT @@GLOBAL.server_id"));
    start(server.name);
    awaitStatus(
        server.name,
        Role.REFUSED,
        "the source " + source + " has the same server_id",
        "restart the server");
    server.execute("SET GLOBAL server_id = " + other.query("SELECT @@GLOBAL.server_id"));
    awaitStatus(
        server.name, Role.REFUSED, other.name + " has the same server_id", "restart that server");
    killWithAgent(source);
    awaitStatus(other.name, Role.WAITING, server.name + " has the same server_id");
    assertThatNobodyIsPromoted();
    server.execute("SET GLOBAL server_id = " + id);
    // Connections keep the server_id with which they were opened.
    stop(server.name);
    start(server.name);
    patiently().until(() -> source().isPresent());
    source = settle();

    Server first = this.set.get(replica(source));
    Server second = this.set.get(otherReplica(source));
    String uuid = first.query("SELECT @@GLOBAL.server_uuid");
    // Otherwise, the agent checked next would count as the later one.
    String known = second.query("SELECT @@GLOBAL.server_uuid");
    Registry registry = this.agents.get(source).getBean(Registry.class);
    patiently().until(() -> registry.read().positions().get(second.name).uuid().equals(known));
    stop(first.name);
    giveUuid(first, second.query("SELECT @@GLOBAL.server_uuid"));
    start(first.name);
    awaitStatus(
        first.name, Role.REFUSED, second.name + " has the same server_uuid", "remove auto.cnf");
    giveUuid(first, uuid);
    awaitStatus(first.name, Role.REPLICA);
  }

  private static void giveUuid(Server server, String uuid) {
    server.changeUuid(uuid);
    if (server.isRunning()) {
      server.kill();
    }
    server.startAgain();
    patiently()
        .ignoreExceptions()
        .until(() -> server.query("SELECT @@GLOBAL.server_uuid").equals(uuid));
  }

  @Test
  @Order(5)
  void aServerWithoutGtidsIsRefusedAndDoesNotCount() throws Exception {
    String source = settle();
    Server server = this.set.get(replica(source));
    stop(server.name);
    server.execute(
        "STOP REPLICA",
        "RESET REPLICA ALL",
        "SET GLOBAL gtid_mode = ON_PERMISSIVE",
        "SET GLOBAL gtid_mode = OFF_PERMISSIVE",
        "SET GLOBAL gtid_mode = OFF");
    start(server.name);
    awaitStatus(server.name, Role.REFUSED, "gtid_mode is OFF: set it to ON");
    killWithAgent(source);
    awaitStatus(
        otherReplica(source),
        Role.WAITING,
        "not counted, since they may lack acknowledged transactions: [" + server.name + "]");
    assertThatNobodyIsPromoted();
    assertThat(status(server.name).reason()).contains("gtid_mode is OFF");
    server.execute(
        "SET GLOBAL gtid_mode = OFF_PERMISSIVE",
        "SET GLOBAL gtid_mode = ON_PERMISSIVE",
        "SET GLOBAL gtid_mode = ON");
    assertThat(settle()).isEqualTo(source);
  }

  /** The filter is set while the agent runs, on the freshest server. */
  @Test
  @Order(6)
  void aServerWithFiltersIsNotPromotedThoughItIsFreshest() throws Exception {
    String source = settle();
    Server server = this.set.get(replica(source));
    String other = otherReplica(source);
    stop(other);
    this.set.get(other).execute("STOP REPLICA IO_THREAD");
    this.set.get(source).execute("INSERT INTO orders.written VALUES (6)");
    server.execute(
        "STOP REPLICA SQL_THREAD",
        "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = (invoices)",
        "START REPLICA SQL_THREAD");
    killWithAgent(source);
    start(other);
    awaitStatus(
        server.name,
        Role.REFUSED,
        "REPLICATE_IGNORE_DB is invoices",
        "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = ()");
    awaitStatus(other, Role.WAITING, "fresher", server.name);
    assertThatNobodyIsPromoted();
    server.execute("STOP REPLICA", "CHANGE REPLICATION FILTER REPLICATE_IGNORE_DB = ()");
    patiently().until(() -> source().isPresent());
    assertThat(source()).contains(server.name);
    settle();
  }

  @Test
  @Order(7)
  void aReplicaOfSomethingElseIsRefused() throws Exception {
    String source = settle();
    Server server = this.set.get(replica(source));
    stop(server.name);
    this.stranger.execute(
        "SET GLOBAL super_read_only = OFF", "CREATE DATABASE IF NOT EXISTS elsewhere");
    String elsewhere =
        "CHANGE REPLICATION SOURCE TO SOURCE_HOST = '%s', SOURCE_USER = 'replica', SOURCE_PASSWORD = '%s', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1"
            .formatted(this.stranger.host(), ReplicationSet.PASSWORD);
    server.execute("STOP REPLICA", "RESET REPLICA ALL", elsewhere + " FOR CHANNEL 'other'");
    start(server.name);
    awaitStatus(
        server.name,
        Role.REFUSED,
        "it replicates from " + this.stranger.host() + ":3306 by the channel other",
        "RESET REPLICA ALL FOR CHANNEL 'other'");
    server.execute("STOP REPLICA FOR CHANNEL 'other'", "RESET REPLICA ALL FOR CHANNEL 'other'");
    awaitStatus(server.name, Role.REPLICA);

    stop(server.name);
    server.execute("STOP REPLICA", "RESET REPLICA ALL", elsewhere, "START REPLICA");
    patiently()
        .until(() -> server
            .query(
                "SELECT COUNT(*) FROM information_schema.schemata WHERE schema_name = 'elsewhere'")
            .equals("1"));
    start(server.name);
    awaitStatus(
        server.name,
        Role.REFUSED,
        "it was set to replicate from " + this.stranger.host() + ":3306, which is not the source",
        "transactions that the source lacks");
    patiently()
        .until(() -> server
            .query("SELECT service_state FROM performance_schema.replication_connection_status")
            .equals("OFF"));
    rebuild(server.name);
  }

  @Test
  @Order(8)
  void wrongAndExpiredCredentialsAreNamed() throws Exception {
    String source = settle();
    String name = replica(source);
    Server server = this.set.get(name);
    stop(name);
    start(name, "--as.failover.password=wrong");
    awaitStatus(name, Role.UNKNOWN, "Access denied for user 'root'");
    stop(name);
    executeAsAdministrator(
        server,
        "SET SESSION sql_log_bin = 0",
        "CREATE USER 'agent'@'%%' IDENTIFIED BY '%s' PASSWORD EXPIRE"
            .formatted(ReplicationSet.PASSWORD),
        "GRANT ALL ON *.* TO 'agent'@'%'");
    start(name, "--as.failover.username=agent");
    awaitStatus(name, Role.UNKNOWN, "password has expired");
    // Its guard could neither end clients nor shut the server down.
    executeAsAdministrator(
        server,
        "SET SESSION sql_log_bin = 0",
        "ALTER USER 'agent'@'%%' IDENTIFIED BY '%s'".formatted(ReplicationSet.PASSWORD),
        "REVOKE CONNECTION_ADMIN, SHUTDOWN ON *.* FROM 'agent'@'%'");
    awaitStatus(
        name,
        Role.REFUSED,
        "the agent's user 'agent'@'%' lacks CONNECTION_ADMIN, SHUTDOWN: GRANT CONNECTION_ADMIN, SHUTDOWN ON *.* TO 'agent'@'%'");
    executeAsAdministrator(
        server,
        "SET SESSION sql_log_bin = 0",
        "GRANT CONNECTION_ADMIN, SHUTDOWN ON *.* TO 'agent'@'%'");
    awaitStatus(name, Role.REPLICA);
    stop(name);
    server.execute("STOP REPLICA");
    start(name, "--as.failover.replication-password=wrong");
    awaitStatus(
        name,
        Role.WAITING,
        "the source " + source + " does not answer",
        "Access denied for user 'replica'");
    stop(name);
    this.set.get(source).execute("ALTER USER 'replica'@'%' PASSWORD EXPIRE");
    start(name);
    awaitStatus(name, Role.WAITING, "does not answer", "password has expired");
    assertThat(source()).contains(source);
    this.set
        .get(source)
        .execute("ALTER USER 'replica'@'%%' IDENTIFIED BY '%s'".formatted(ReplicationSet.PASSWORD));
    awaitStatus(name, Role.REPLICA);
  }

  @Test
  @Order(9)
  void nobodyIsPromotedByATermThatWasEdited() throws Exception {
    String source = settle();
    String replica = replica(source);
    String record = record();
    long term = Long.parseLong(term(source));
    record(withTerm(record, String.valueOf(term - 1)));
    killWithAgent(source);
    awaitStatus(
        replica,
        Role.WAITING,
        "are of term %d, but the record of promotions says %d".formatted(term, term - 1),
        "restore whichever is wrong");
    assertThatNobodyIsPromoted();
    record(withTerm(record, "\"many\""));
    awaitStatus(replica, Role.UNKNOWN, "The record of the last promotion cannot be read", "many");
    record(withTerm(record, String.valueOf(term + 5)));
    patiently()
        .untilAsserted(() -> assertThat(this.agents.keySet())
            .anySatisfy((name) -> assertThat(status(name).reason())
                .contains(
                    "its last attempt to become or stay the source failed",
                    "says term " + (term + 5))));
    assertThatNobodyIsPromoted();
    this.etcd.ctl("del", "/mysql-failover/" + this.service);
    awaitStatus(replica, Role.WAITING, "no promotion was ever recorded");
    assertThatNobodyIsPromoted();
    record(record);
    // The term in the data has been changed.
    Server edited = this.set.get(replica);
    stop(replica);
    executeAsAdministrator(
        edited,
        "SET SESSION sql_log_bin = 0",
        "UPDATE mysql_failover.promotion SET term = 100 WHERE term = " + term);
    start(replica);
    awaitStatus(
        otherReplica(source),
        Role.WAITING,
        "the data of %s are of term 100, but the record of promotions says %d"
            .formatted(replica, term));
    assertThatNobodyIsPromoted();
    stop(replica);
    executeAsAdministrator(
        edited,
        "SET SESSION sql_log_bin = 0",
        "UPDATE mysql_failover.promotion SET term = %d WHERE term = 100".formatted(term));
    start(replica);
    patiently().until(() -> source().isPresent());
    settle();
  }

  @Test
  @Order(10)
  void whatAnAdministratorWritesOnAReplicaIsFound() throws Exception {
    String source = settle();
    String name = replica(source);
    executeAsAdministrator(this.set.get(name), "INSERT INTO orders.written VALUES (-10)");
    awaitStatus(
        name,
        Role.REFUSED,
        "transactions that the source lacks: " + this.set.get(name).query("SELECT @@server_uuid"),
        "mysqlbinlog --include-gtids",
        "POST /rebuild");
    assertThat(this.set
            .get(name)
            .query("SELECT service_state FROM performance_schema.replication_connection_status"))
        .isEqualTo("OFF");
    rebuild(name);
  }

  /** A clone first removes data and GTIDs, so the server then looks like a new one. */
  @Test
  @Order(11)
  void aServerWhoseDonorHasGoneHalfWayIsRefusedUntilItIsRebuilt() throws Exception {
    String source = settle();
    String name = replica(source);
    Server server = this.set.get(name);
    executeAsAdministrator(server, "INSERT INTO orders.written VALUES (-11)");
    awaitStatus(name, Role.REFUSED, "transactions that the source lacks");
    server.execute(
        "SET GLOBAL clone_max_data_bandwidth = 1", "SET GLOBAL clone_max_network_bandwidth = 1");
    // Five minutes by default.
    String noPatience = "SET GLOBAL clone_donor_timeout_after_network_failure = 0";
    server.execute(noPatience);
    this.set.get(source).execute(noPatience);
    this.agents.get(name).getBean(Agent.class).rebuild();
    patiently()
        .ignoreExceptions()
        .until(() -> Long.parseLong(
                server.query(
                    "SELECT IF(state = 'In Progress', (SELECT data FROM performance_schema.clone_progress WHERE stage = 'FILE COPY'), 0) FROM performance_schema.clone_status"))
            > 1_000_000);
    killWithAgent(source);
    awaitStatus(name, Role.REFUSED, "its data may be gone: a clone from", "has failed with error");
    System.out.printf(
        "Left by the clone: %s, %s%n",
        server.query("SELECT @@GLOBAL.gtid_executed"),
        server.query("SELECT GROUP_CONCAT(schema_name) FROM information_schema.schemata"));
    assertThat(source()).isNotEqualTo(Optional.of(name));
    this.set.get(source).startAgain();
    start(source);
    patiently().until(() -> source().isPresent());
    TimeUnit.SECONDS.sleep(2);
    assertThat(status(name).role()).isEqualTo(Role.REFUSED);
    server.execute(
        "SET GLOBAL clone_max_data_bandwidth = 0", "SET GLOBAL clone_max_network_bandwidth = 0");
    patiently().ignoreExceptions().until(() -> {
      this.agents.get(name).getBean(Agent.class).rebuild();
      return true;
    });
    patiently().until(() -> !server.isRunning());
    server.startAgain();
    awaitStatus(name, Role.REPLICA);
    settle();
  }

  /** All servers that could be promoted have no transactions. */
  @Test
  @Order(12)
  void nobodyIsPromotedWhoseGtidsWereReset() throws Exception {
    String source = settle();
    List<String> replicas = List.of(replica(source), otherReplica(source));
    replicas.forEach(this::stop);
    killWithAgent(source);
    for (String name : replicas) {
      this.set
          .get(name)
          .execute("STOP REPLICA", "RESET REPLICA ALL", "RESET BINARY LOGS AND GTIDS");
      start(name);
    }
    awaitStatus(replicas.get(0), Role.WAITING, "not counted", replicas.get(0));
    assertThatNobodyIsPromoted();
    this.set.get(source).startAgain();
    start(source);
    patiently().until(() -> source().isPresent());
    assertThat(source()).contains(source);
    for (String name : replicas) {
      awaitStatus(name, Role.REFUSED, "its GTIDs lack", "the GTIDs were reset", "POST /rebuild");
      rebuild(name);
    }
  }

  /** Its receiver stops with an error, since the source cannot send the missing transactions. */
  @Test
  @Order(13)
  void aReplicaThatLacksWhatTheSourceHasPurgedIsRefused() throws Exception {
    Server source = this.set.get(settle());
    String name = replica(source.name);
    stop(name);
    this.set.get(name).execute("STOP REPLICA IO_THREAD");
    source.execute("INSERT INTO orders.written VALUES (13)", "FLUSH BINARY LOGS");
    String log = source.query("SHOW BINARY LOG STATUS");
    // The other replica may still be reading the previous log.
    patiently().untilAsserted(() -> {
      source.execute("PURGE BINARY LOGS TO '" + log + "'");
      assertThat(source.query("SHOW BINARY LOGS")).isEqualTo(log);
    });
    start(name);
    awaitStatus(name, Role.REFUSED, "its receiver has stopped", "purged", "POST /rebuild");
    rebuild(name);
  }

  /** An acknowledged transaction could be on the replica alone whose agent is down. */
  @Test
  @Order(14)
  void anotherServerUnderTheNameOfTheLastSourceDoesNotCountAsThat() throws Exception {
    String source = settle();
    String down = replica(source);
    stop(down);
    killWithAgent(source);
    giveUuid(this.set.get(source), UUID.randomUUID().toString());
    start(source);
    awaitStatus(source, Role.WAITING, "it has the name of the last source", "server_uuid");
    awaitStatus(otherReplica(source), Role.WAITING, "missing: [" + down + "]");
    assertThatNobodyIsPromoted();
    start(down);
    assertThat(settle()).isNotEqualTo(source);
  }
}
