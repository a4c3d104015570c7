package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.ElectionOperations;
import io.election.ElectionService;
import io.election.Leadership;
import io.election.ManualAllocationElectionService;
import io.election.etcd.EtcdLeaseStore;
import io.election.etcd.EtcdProcess;
import io.election.jdbc.ElectionDatabase;
import io.election.jdbc.JdbcLeaseStore;
import io.election.lease.Elector;
import io.election.lease.LeaderWork;
import io.election.lease.LeaseElectionService;
import io.election.store.JointLeaseStore;
import io.election.store.JointPart;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.support.FakeClock;
import io.election.support.PostgresqlPrograms;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.Claim;
import io.election.support.process.LocalSampler;
import io.election.support.process.TcpProxy;
import io.election.zookeeper.SeedService;
import io.election.zookeeper.Zookeeper;
import io.election.zookeeper.ZookeeperLeaseStore;
import java.io.IOException;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.retry.RetryOneTime;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;
import org.junit.jupiter.api.parallel.ResourceAccessMode;
import org.junit.jupiter.api.parallel.ResourceLock;
import org.junit.jupiter.api.parallel.ResourceLockTarget;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.core.JdbcTemplate;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.jdbc.datasource.SingleConnectionDataSource;

/**
 * Moves of three nodes from one kind of election to another and back, node by node, on real servers.
 * The nodes are in this process, each with connections of its own, and asked several times a
 * millisecond.
 */
@ResourceLock(
    value = MoveIT.THREADS,
    mode = ResourceAccessMode.READ,
    target = ResourceLockTarget.CHILDREN)
@Execution(ExecutionMode.CONCURRENT)
@Order(1)
class MoveIT {

  /** The elections' threads in this process, which other tests count. */
  static final String THREADS = "election threads";

  private static final Duration LEASE = Duration.ofSeconds(3);

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      LEASE, Duration.ofMillis(600), Duration.ofMillis(500), Duration.ofSeconds(2), true);

  private static final LeaderWork NO_WORK = (serviceId) -> false;

  /** The node that manual allocation names. */
  private static final String ALLOCATED = "x";

  @AutoClose
  private final LocalSampler sampler = new LocalSampler();

  @AutoClose("shutdownNow")
  private final ExecutorService threads = Executors.newCachedThreadPool();

  private final Map<String, AutoCloseable> servers = new LinkedHashMap<>();

  private final Map<String, Node> nodes = new LinkedHashMap<>();

  private @Nullable TestDatabase database;

  private @Nullable TestDatabase postgresql;

  /** The writers of all nodes so far; none unless a test has a register. */
  private final List<Writer> writers = new ArrayList<>();

  private boolean writes;

  private int lives;

  @AfterEach
  void stop() throws Exception {
    stopNodes();
    for (AutoCloseable server : this.servers.values()) {
      server.close();
    }
  }

  private void stopNodes() {
    this.nodes.values().forEach((node) -> node.stop().run());
    this.nodes.clear();
  }

  private record Node(ElectionService service, Runnable stop) {}

  private TestDatabase database() {
    if (this.database == null) {
      this.database = TestDatabase.newDatabase();
    }
    return this.database;
  }

  private <S extends AutoCloseable> S server(String name, Class<S> type, Supplier<S> start) {
    return type.cast(this.servers.computeIfAbsent(name, (key) -> start.get()));
  }

  private JointPart part(String kind, String id) throws LeaseStoreException {
    return switch (kind) {
      case "Mysql" -> leases(mysql(id));
      case "Postgresql" -> leases(postgresql(id));
      case "Zookeeper" ->
        leases(ZookeeperLeaseStore.builder(
                server(kind, Zookeeper.class, Zookeeper::start).connectString())
            .operationTimeout(SETTINGS.operationTimeout())
            .build());
      case "Etcd" ->
        leases(EtcdLeaseStore.builder(
                List.of(server(kind, EtcdProcess.class, EtcdProcess::start).url()))
            .operationTimeout(SETTINGS.operationTimeout())
            .build());
      case "SeedZookeeper" -> new JointPart.Service(kind, (serviceId) -> seedOfZookeeper(id));
      case "CuratorLatch" -> new JointPart.Service(kind, (serviceId) -> curatorLatch(id));
      case "SeedTable" ->
        new JointPart.Service(kind, (serviceId) -> new SeedElection(database(), id));
      default -> new JointPart.Service(kind, (serviceId) -> allocation(id));
    };
  }

  private static JointPart leases(LeaseStore store) {
    return new JointPart.Leases(store.name(), store);
  }

  private JdbcLeaseStore mysql(String id) throws LeaseStoreException {
    return jdbc(proxy(id), database());
  }

  private static JdbcLeaseStore jdbc(TcpProxy proxy, TestDatabase database)
      throws LeaseStoreException {
    JdbcLeaseStore store = new JdbcLeaseStore(
        new ElectionDatabase(
            new DriverManagerDataSource(proxy.jdbcUrl(), database.username(), database.password()),
            proxy.jdbcUrl()),
        JdbcLeaseStore.SchemaMode.MIGRATE,
        SETTINGS.operationTimeout(),
        SETTINGS.renewInterval(),
        true);
    store.ensureTables();
    return store;
  }

  private JdbcLeaseStore postgresql(String id) throws LeaseStoreException {
    if (this.postgresql == null) {
      this.postgresql = TestServer.shared(PostgresqlPrograms.V18).newDatabase();
    }
    return jdbc(proxy(id + " to PostgreSQL", this.postgresql), this.postgresql);
  }

  /** The way from a node to MySQL. */
  private TcpProxy proxy(String id) {
    return proxy(id, database());
  }

  private TcpProxy proxy(String id, TestDatabase database) {
    return server("way of " + id, TcpProxy.class, () -> TcpProxy.to(database));
  }

  private static ManualAllocationElectionService allocation(String id) {
    ManualAllocationElectionService service = new ManualAllocationElectionService(
        Cluster.SERVICE, ALLOCATED, () -> id, id::equals, (event) -> {}, InstantSource.system());
    service.start();
    return service;
  }

  /** Starts a node, with a list of parts or one store or service alone. */
  private void start(String id, String... kinds) throws LeaseStoreException {
    List<JointPart> parts = new ArrayList<>();
    for (String kind : kinds) {
      parts.add(part(kind, id));
    }
    Node node = node(id, parts);
    String life = id + this.lives++ + List.of(kinds);
    this.nodes.put(id, this.writes ? writing(life, node) : node);
    this.sampler.add(life, node.service());
  }

  /** Lets a node write to the register until it has ended. */
  private Node writing(String life, Node node) {
    Writer writer = new Writer(database(), life, node.service());
    this.writers.add(writer);
    return new Node(node.service(), () -> {
      node.stop().run();
      writer.close();
    });
  }

  private Node node(String id, List<JointPart> parts) {
    if (parts.size() == 1 && parts.get(0) instanceof JointPart.Service alone) {
      ElectionService service = alone.services().apply(Cluster.SERVICE);
      return new Node(service, () -> end(service));
    }
    List<ElectionService> services = new CopyOnWriteArrayList<>();
    LeaseStore store = parts.size() == 1
        ? ((JointPart.Leases) parts.get(0)).store()
        : JointLeaseStore.of(
            parts.stream().map((part) -> remembered(part, services)).toList(),
            SETTINGS,
            () -> id,
            System::nanoTime,
            this.threads);
    Elector elector = new Elector(
        store,
        SETTINGS,
        () -> id,
        NO_WORK,
        (event) -> {},
        System::nanoTime,
        InstantSource.system());
    LeaseElectionService service = new LeaseElectionService(Cluster.SERVICE, elector);
    elector.start(List.of(service));
    return new Node(service, () -> {
      elector.stop();
      services.forEach(MoveIT::end);
    });
  }

  /** Keeps the services that a list creates, which end with their node. */
  private static JointPart remembered(JointPart part, List<ElectionService> services) {
    return part instanceof JointPart.Service asked
        ? new JointPart.Service(part.name(), (serviceId) -> {
          ElectionService service = asked.services().apply(serviceId);
          services.add(service);
          return service;
        })
        : part;
  }

  private static void end(ElectionService service) {
    if (service instanceof ManualAllocationElectionService manual) {
      manual.stop();
    } else if (service instanceof SeedElection seed) {
      seed.close();
    } else if (service instanceof BegunAgain election) {
      election.lostLeader();
    }
  }

  /** Ends a node in an orderly way, and starts it again with another list. */
  private void release(String id, String... kinds) throws LeaseStoreException {
    this.nodes.get(id).stop().run();
    start(id, kinds);
    awaitLeader();
  }

  private void awaitLeader() {
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> this.nodes.values().stream().anyMatch((node) -> node.service().isLeader()));
  }

  private List<Claim> claims() {
    return this.sampler.judge().claims().stream()
        .sorted(Comparator.comparing(Claim::from))
        .toList();
  }

  /** Returns what the nodes are on, one after the other, in a move and on the way back. */
  private static String[][] steps(String from, String to) {
    return new String[][] {{from, to}, {to}, {from, to}, {from}};
  }

  /** Returns the times without a leader in seconds, the longest first. */
  private static List<Double> gaps(List<Claim> claims) {
    List<Double> gaps = new ArrayList<>();
    for (int i = 1; i < claims.size(); i++) {
      gaps.add((claims.get(i).from() - claims.get(i - 1).to()) / 1e9);
    }
    gaps.sort(Comparator.reverseOrder());
    return gaps;
  }

  private static void assertTermsNeverFall(List<Claim> claims) {
    long term = 0;
    for (Claim claim : claims) {
      if (claim.hasTerm()) {
        assertThat(claim.term()).as("%s", claims).isGreaterThanOrEqualTo(term);
        term = claim.term();
      }
    }
  }

  /** Returns who has led, in order. */
  private List<Claim> move(String from, String to, Runnable afterRelease)
      throws LeaseStoreException {
    for (String id : List.of("x", "y", "z")) {
      start(id, from);
    }
    awaitLeader();
    for (String[] kinds : steps(from, to)) {
      for (String id : List.of("y", "x", "z")) {
        release(id, kinds);
        afterRelease.run();
      }
    }
    List<Claim> claims = claims();
    assertThat(this.sampler.judge().violations()).as("violations").isEmpty();
    assertTermsNeverFall(claims);
    return claims;
  }

  private void move(String from, String to) throws LeaseStoreException {
    List<Claim> claims = move(from, to, () -> {});
    List<Double> gaps = gaps(claims);
    Cluster.measured(
        "%s to %s and back, %d leaderships: longest times without a leader, in seconds: %s; the first record of a store takes a lease of %s",
        from, to, claims.size(), gaps.stream().limit(4).toList(), LEASE);
    // The second store has no record at first, so its first leader waits for a lease.
    assertThat(gaps.get(0)).isLessThan(2.5 * LEASE.toSeconds());
    assertThat(gaps.get(1)).isLessThan(LEASE.toSeconds());
  }

  @Test
  void nodesMoveFromZookeeperToMysqlAndBack() throws Exception {
    move("Zookeeper", "Mysql");
  }

  @Tag("long")
  @ParameterizedTest
  @CsvSource({"Mysql, Postgresql", "Etcd, Zookeeper", "SeedTable, Mysql"})
  void nodesMoveAndBack(String from, String to) throws Exception {
    move(from, to);
  }

  @Tag("long")
  @ParameterizedTest
  @CsvSource({
    "Postgresql, Etcd",
    "ManualAllocation, Mysql",
    "SeedZookeeper, Mysql",
    "CuratorLatch, Mysql"
  })
  void nodesMoveBetweenOthersAndBack(String from, String to) throws Exception {
    move(from, to);
  }

  /** The clock of MySQL is an hour ahead, and jumps by two hours after each release of a node. */
  @Tag("long")
  @Test
  void nodesMoveAndBackWhileTheClockOfADatabaseJumps() throws Exception {
    FakeClock clock = FakeClock.create();
    TestServer server = server("MySQL", TestServer.class, () -> TestServer.start(clock, "UTC"));
    this.database = server.newDatabase();
    AtomicInteger releases = new AtomicInteger();
    clock.setOffset(Duration.ofHours(1));
    move(
        "Zookeeper",
        "Mysql",
        () -> clock.setOffset(Duration.ofHours(releases.incrementAndGet() % 2 == 0 ? 1 : -1)));
  }

  @Tag("long")
  @Test
  void nodesMoveTenTimesAndBackWhileTheyWriteToAFencedRegister() throws Exception {
    TestDatabase database = database();
    FencedRegister.create(database);
    this.writes = true;
    for (String id : List.of("x", "y", "z")) {
      start(id, "Zookeeper");
    }
    awaitWrite();
    for (int i = 0; i < 10; i++) {
      for (String[] kinds : steps("Zookeeper", "Mysql")) {
        for (String id : List.of("y", "x", "z")) {
          release(id, kinds);
        }
        awaitWrite();
      }
    }
    stopNodes();
    long acknowledged =
        this.writers.stream().mapToLong((writer) -> writer.acknowledged).sum();
    long failed = this.writers.stream().mapToLong((writer) -> writer.failed).sum();
    long accepted = FencedRegister.accepted(database);
    Cluster.measured(
        "Zookeeper to Mysql and back, ten times, with writes: %d starts of nodes, %d terms, %d writes accepted, %d refused, %d failed; longest time without a leader %.3f s",
        this.lives,
        FencedRegister.terms(database),
        accepted,
        FencedRegister.refused(database),
        failed,
        gaps(claims()).get(0));
    assertThat(this.sampler.judge().violations()).as("violations").isEmpty();
    assertThat(FencedRegister.sharedTerms(database))
        .as("terms with several writers")
        .isZero();
    assertThat(FencedRegister.falls(database)).as("terms that fell").isZero();
    // The register may have accepted a write that failed.
    assertThat(accepted).isBetween(acknowledged, acknowledged + failed);
  }

  private void awaitWrite() {
    long before = FencedRegister.accepted(database());
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> FencedRegister.accepted(database()) > before
            || !this.sampler.judge().violations().isEmpty());
    assertThat(this.sampler.judge().violations()).as("violations").isEmpty();
  }

  @Tag("long")
  @Test
  void aStepThatIsSkippedMakesTwoLeaders() throws Exception {
    start("x", "Zookeeper");
    awaitLeader();
    start("y", "Mysql");
    await()
        .atMost(Duration.ofSeconds(30))
        .until(
            () -> this.nodes.values().stream().allMatch((node) -> node.service().isLeader()));
    await().until(() -> !this.sampler.judge().violations().isEmpty());
  }

  @Tag("faults")
  @Test
  void aNodeThatIsCutOffFromTheSecondStoreLetsABetterPlacedOneLead() throws Exception {
    start("x", "Zookeeper", "Mysql");
    awaitLeader();
    start("y", "Zookeeper", "Mysql");
    proxy("x").cut();
    ElectionService y = this.nodes.get("y").service();
    await().atMost(Duration.ofSeconds(30)).until(y::isLeader);
    proxy("x").heal();
    // Both ways at once: nobody leads, then somebody does.
    proxy("x").cut();
    proxy("y").cut();
    await().until(() -> !y.isLeader());
    proxy("x").heal();
    proxy("y").heal();
    awaitLeader();
    assertThat(this.sampler.judge().violations()).as("violations").isEmpty();
  }

  /** Some nodes stay on the old store alone, the first store is out of reach, all restart at once. */
  @Tag("faults")
  @Test
  void aMoveThatIsLeftHalfDoneSurvivesOutagesAndARestartOfAllNodes() throws Exception {
    start("x", "Mysql");
    awaitLeader();
    start("y", "Mysql", "Zookeeper");
    start("z", "Mysql", "Zookeeper");
    ElectionService y = this.nodes.get("y").service();
    ElectionService z = this.nodes.get("z").service();
    this.nodes.get("x").stop().run();
    await().atMost(Duration.ofSeconds(30)).until(() -> y.isLeader() || z.isLeader());
    start("x", "Mysql");
    String leader = y.isLeader() ? "y" : "z";
    proxy(leader).cut();
    await()
        .atMost(Duration.ofSeconds(30))
        .until(() -> this.nodes.entrySet().stream()
            .anyMatch((node) ->
                !node.getKey().equals(leader) && node.getValue().service().isLeader()));
    proxy(leader).heal();
    stopNodes();
    start("x", "Mysql");
    start("y", "Mysql", "Zookeeper");
    start("z", "Mysql", "Zookeeper");
    awaitLeader();
    release("x", "Mysql", "Zookeeper");
    for (String id : List.of("y", "x", "z")) {
      release(id, "Zookeeper");
    }
    assertThat(this.sampler.judge().violations()).as("violations").isEmpty();
    assertTermsNeverFall(claims());
  }

  @Tag("long")
  @Test
  void ofListsInDifferentOrdersOneLeads() throws Exception {
    start("x", "Zookeeper", "Mysql");
    start("y", "Mysql", "Zookeeper");
    long started = System.nanoTime();
    awaitLeader();
    // The first record of each store takes a lease more.
    assertThat(System.nanoTime() - started).isLessThan(5 * LEASE.toNanos());
    assertThat(this.sampler.judge().violations()).as("violations").isEmpty();
  }

  @Tag("long")
  @ParameterizedTest
  @ValueSource(strings = {"Mysql", "Zookeeper", "Etcd"})
  void aRecordThatIsMarkedAsMovedIsTakenByNobody(String kind) throws Exception {
    start("x", kind);
    awaitLeader();
    ElectionService x = this.nodes.get("x").service();
    write(kind, "moved to another store");
    await().until(() -> !x.isLeader());
    assertThat(x.leaderId()).isNotEqualTo(Optional.of("moved to another store"));
    start("y", kind);
    await()
        .during(LEASE.multipliedBy(2))
        .atMost(LEASE.multipliedBy(4))
        .until(() ->
            this.nodes.values().stream().noneMatch((node) -> node.service().isLeader()));
    assertThat(this.nodes.values())
        .extracting((node) -> ((ElectionOperations) node.service()).moved())
        .containsOnly(Optional.of("moved to another store"));
    write(kind, "");
    awaitLeader();
  }

  /** Writes a leader into the record as an operator does. */
  private void write(String kind, String leader) {
    String key = "/election/" + Cluster.SERVICE;
    switch (kind) {
      case "Mysql" ->
        database()
            .execute("UPDATE leader_election SET leader_id = '%s' WHERE service_id = '%s'"
                .formatted(leader, Cluster.SERVICE));
      case "Zookeeper" -> ((Zookeeper) this.servers.get(kind)).type("set", key, leader);
      default -> ((EtcdProcess) this.servers.get(kind)).ctl("put", key, leader);
    }
  }

  /** Writes to the {@link FencedRegister}, about once a millisecond, while its node leads. */
  private static final class Writer {

    private final SingleConnectionDataSource connection;

    private final String node;

    private final ElectionService election;

    private final Thread thread = new Thread(this::run, "writer");

    private volatile boolean closed;

    private volatile long acknowledged;

    private volatile long failed;

    Writer(TestDatabase database, String node, ElectionService election) {
      this.connection = new SingleConnectionDataSource(
          database.jdbcUrl(), database.username(), database.password(), true);
      this.node = node;
      this.election = election;
      this.thread.setDaemon(true);
      this.thread.start();
    }

    private void run() {
      JdbcTemplate jdbc = new JdbcTemplate(this.connection);
      long accepted = 0;
      long failures = 0;
      for (long n = 0; !this.closed; n++) {
        Optional<Leadership> leadership = this.election.leadership();
        if (leadership.isPresent()) {
          try {
            if (FencedRegister.write(jdbc, leadership.get().term(), this.node, n)) {
              this.acknowledged = ++accepted;
            }
          } catch (DataAccessException ex) {
            this.failed = ++failures;
          }
        }
        LockSupport.parkNanos(1_000_000);
      }
    }

    void close() {
      this.closed = true;
      try {
        this.thread.join();
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
      }
      this.connection.destroy();
    }
  }

  /** An election that lets go of its leadership by ending, and begins anew. */
  private static final class BegunAgain implements ElectionService {

    /** An election from its beginning to its end. */
    private interface Life {

      boolean leads();

      void end() throws Exception;
    }

    private final Supplier<Life> begin;

    private volatile @Nullable Life life;

    BegunAgain(Supplier<Life> begin) {
      this.begin = begin;
      becomeLeader();
    }

    @Override
    public boolean isLeader() {
      Life life = this.life;
      return life != null && life.leads();
    }

    @Override
    public synchronized void becomeLeader() {
      if (this.life == null) {
        this.life = this.begin.get();
      }
    }

    @Override
    public synchronized void lostLeader() {
      Life life = this.life;
      this.life = null;
      if (life != null) {
        try {
          life.end();
        } catch (Exception ex) {
          throw new IllegalStateException(ex);
        }
      }
    }
  }

  /** The election of an older program, by ephemeral nodes and its own code. */
  private BegunAgain seedOfZookeeper(String id) {
    Zookeeper server = server("Zookeeper", Zookeeper.class, Zookeeper::start);
    if (this.nodes.isEmpty()) {
      server.type("create", "/soa");
      server.type("create", "/soa/master");
      server.type("create", "/soa/master/services");
    }
    return new BegunAgain(() -> {
      SeedService service = new SeedService(server, id + this.lives++, Cluster.SERVICE);
      return new BegunAgain.Life() {
        @Override
        public boolean leads() {
          return service.isMaster(Cluster.SERVICE);
        }

        @Override
        public void end() throws InterruptedException {
          service.close();
        }
      };
    });
  }

  private BegunAgain curatorLatch(String id) {
    Zookeeper server = server("Zookeeper", Zookeeper.class, Zookeeper::start);
    return new BegunAgain(() -> {
      CuratorFramework client = CuratorFrameworkFactory.newClient(
          server.connectString(), 5_000, 2_000, new RetryOneTime(100));
      client.start();
      LeaderLatch latch = new LeaderLatch(client, "/curator/leader", id);
      try {
        latch.start();
      } catch (Exception ex) {
        throw new IllegalStateException(ex);
      }
      return new BegunAgain.Life() {
        @Override
        public boolean leads() {
          return latch.hasLeadership();
        }

        @Override
        public void end() throws IOException {
          latch.close();
          client.close();
        }
      };
    });
  }

  /** The election of an older program, in a table of its own, by its own statements. */
  private static final class SeedElection implements ElectionService, AutoCloseable {

    private static final int THRESHOLD_SECONDS = 5;

    private final TestDatabase database;

    private final Connection connection;

    private final String id;

    private final Thread thread = new Thread(this::run, "seed");

    private volatile boolean leads;

    private volatile boolean closed;

    SeedElection(TestDatabase database, String id) {
      this.id = id;
      this.database = database;
      database.execute("""
          CREATE TABLE IF NOT EXISTS seed_election (
            id int(10) unsigned not null auto_increment,
            name varchar(128) not null default '',
            node varchar(128) NOT NULL default '',
            last_seen_active timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
            PRIMARY KEY (id), unique key uniq_idx_name(name))
          """);
      this.connection = database.connect();
      this.thread.setDaemon(true);
      this.thread.start();
    }

    private void run() {
      while (!this.closed) {
        try {
          elect();
          Thread.sleep(1_000);
        } catch (InterruptedException | SQLException ex) {
          return;
        }
      }
    }

    private void elect() throws SQLException {
      try (PreparedStatement elect = this.connection.prepareStatement("""
              insert ignore into seed_election (name, node, last_seen_active) values (?, ?, now())
              on duplicate key update
                node = if(last_seen_active < DATE_SUB(now(), INTERVAL ? SECOND), values(node), node),
                last_seen_active =
                  if(node = values(node), values(last_seen_active), last_seen_active)
              """);
          PreparedStatement question = this.connection.prepareStatement(
              "select count(*) as is_leader from seed_election where name=? and node=?")) {
        elect.setString(1, Cluster.SERVICE);
        elect.setString(2, this.id);
        elect.setInt(3, THRESHOLD_SECONDS);
        elect.executeUpdate();
        question.setString(1, Cluster.SERVICE);
        question.setString(2, this.id);
        try (var answer = question.executeQuery()) {
          this.leads = answer.next() && answer.getInt(1) > 0;
        }
      }
    }

    @Override
    public boolean isLeader() {
      return this.leads;
    }

    @Override
    public void becomeLeader() {}

    @Override
    public void lostLeader() {
      this.leads = false;
      this.database.execute("delete from seed_election where name='%s' and node='%s'"
          .formatted(Cluster.SERVICE, this.id));
    }

    @Override
    public void close() {
      this.closed = true;
      this.leads = false;
      this.thread.interrupt();
      try {
        this.thread.join();
        this.connection.close();
      } catch (InterruptedException | SQLException ex) {
        Thread.currentThread().interrupt();
      }
    }
  }
}
