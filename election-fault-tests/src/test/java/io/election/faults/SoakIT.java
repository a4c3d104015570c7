package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.test.TestDatabase;
import io.election.test.TestServer;
import io.election.test.process.Claim;
import io.election.test.process.Node;
import io.election.test.process.NodeProcess;
import io.election.test.process.SafetyJudge;
import io.election.test.process.TcpProxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.function.Function;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random faults on a few nodes, one after the other and together. At intervals all of them end, and
 * a leader must appear. The test takes a minute by default: {@code -Dsoak.duration=PT30M} makes it
 * longer, {@code -Dsoak.seed} repeats the faults, but not the processes' own pace, {@code
 * -Dsoak.nodes} sets the number of nodes.
 */
@Tag("faults")
class SoakIT {

  private static final Duration CHAOS = Duration.ofSeconds(20);

  private static final Duration LONGEST_FAULT = Cluster.LEASE.multipliedBy(5).dividedBy(2);

  /** Short time-outs for attempts to reach a server that this class may have paused itself. */
  private static final String IMPATIENT = "&connectTimeout=2000&socketTimeout=2000";

  /** MySQL's {@code ER_TABLE_EXISTS_ERROR} and {@code ER_NO_SUCH_TABLE}. */
  private static final Set<Integer> RENAMED = Set.of(1050, 1146);

  /** The end of a fault that has already ended. */
  private static final BooleanSupplier NOTHING = () -> true;

  private final TestServer server = TestServer.startOwn();

  private final TestDatabase database = this.server.newDatabase();

  private final long seed =
      Long.getLong("soak.seed", ThreadLocalRandom.current().nextLong(1_000_000));

  private final Random random = new Random(this.seed);

  private final Map<String, TcpProxy> proxies = new TreeMap<>();

  private final Map<String, NodeProcess> lives = new TreeMap<>();

  private final List<Kind> kinds = new ArrayList<>();

  /** The statements that undo faults. They do no harm if there is nothing to undo. */
  private final List<String> undoings = new ArrayList<>();

  private final List<Ongoing> ongoing = new ArrayList<>();

  private final Map<String, Integer> injected = new TreeMap<>();

  private final List<Long> healedAt = new ArrayList<>();

  private int starts;

  /** The latest statement that failed, and why. */
  private String refusal = "no statement failed";

  private Cluster cluster;

  @AfterEach
  void close() {
    this.proxies.values().forEach(TcpProxy::close);
    this.server.close();
  }

  @Test
  void fault_50_random_faults() throws Exception {
    Duration duration = Duration.parse(System.getProperty("soak.duration", "PT1M"));
    int size = Integer.getInteger("soak.nodes", 3 + (int) (this.seed % 3));
    System.out.printf(
        "Soak: -Dsoak.duration=%s -Dsoak.seed=%d -Dsoak.nodes=%d%n", duration, this.seed, size);
    for (int i = 0; i < size; i++) {
      this.proxies.put(String.valueOf((char) ('a' + i)), TcpProxy.to(this.database));
    }
    addKinds();
    List<Node> nodes = this.proxies.entrySet().stream()
        .map((proxy) -> SamplingNode.named(proxy.getKey()).through(proxy.getValue()))
        .toList();
    long begin = System.nanoTime();
    Cluster.run(this.database, nodes, (started, leader) -> {
      this.cluster = started;
      started.nodes().forEach((node) -> this.lives.put(node.name(), node));
      while (System.nanoTime() - begin < duration.toNanos()) {
        breakThings();
        healAll();
        started.awaitUp();
        // A statement that nobody waited for may have run after its undo.
        this.undoings.forEach(this::attempt);
        this.healedAt.add(System.nanoTime());
        started.awaitLeader();
        started.letPass(Duration.ofNanos(this.random.nextLong(Cluster.LEASE.toNanos())));
      }
      report(Duration.ofNanos(System.nanoTime() - begin));
    });
  }

  private void breakThings() {
    long end = System.nanoTime() + CHAOS.toNanos();
    while (System.nanoTime() - end < 0) {
      Kind kind = this.kinds.get(this.random.nextInt(this.kinds.size()));
      String victim = victim();
      String place = kind.place().replace("*", victim);
      if (this.ongoing.stream().noneMatch((fault) -> fault.place().equals(place))) {
        begin(kind, place, victim);
      }
      long next =
          System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(200 + this.random.nextInt(1800));
      while (System.nanoTime() - next < 0) {
        // Another fault may have taken the server away: then this one ends later.
        this.ongoing.removeIf(
            (fault) -> System.nanoTime() - fault.endAt() >= 0 && fault.end().getAsBoolean());
        LockSupport.parkNanos(50_000_000);
      }
    }
  }

  /** Picks the leader half of the time, otherwise any node. */
  private String victim() {
    List<String> names = List.copyOf(this.proxies.keySet());
    String any = names.get(this.random.nextInt(names.size()));
    return this.random.nextBoolean() ? this.cluster.leader().map(Cluster::place).orElse(any) : any;
  }

  private void begin(Kind kind, String place, String victim) {
    long nanos =
        (long) (LONGEST_FAULT.toNanos() * Math.pow(this.random.nextDouble(), 2)) + 50_000_000;
    BooleanSupplier end = kind.fault().apply(victim);
    this.injected.merge(kind.name(), 1, Integer::sum);
    this.ongoing.add(new Ongoing(place, System.nanoTime() + nanos, end));
  }

  /** Ends the faults of the server first, since others wait for it to undo their SQL. */
  private void healAll() {
    List<Ongoing> faults = new ArrayList<>(this.ongoing);
    this.ongoing.clear();
    faults.sort(Comparator.comparing((fault) -> !fault.place().equals("server")));
    faults.forEach((fault) -> Awaitility.await()
        .atMost(Duration.ofSeconds(120))
        .pollDelay(Duration.ZERO)
        .untilAsserted(() -> assertThat(fault.end().getAsBoolean())
            .as("the fault of %s has ended; latest failure: %s", fault.place(), this.refusal)
            .isTrue()));
  }

  private void addKinds() {
    process("node killed", (node) -> this.lives.get(node).kill(), this::startAgain);
    process("node stopped", (node) -> this.lives.get(node).stop(), this::startAgain);
    process(
        "node paused",
        (node) -> this.lives.get(node).pause(),
        (node) -> this.lives.get(node).resume());
    this.kinds.add(new Kind("twin started", "twin", (node) -> {
      NodeProcess twin = this.cluster.add(life(node));
      return done(twin::kill);
    }));
    proxy("proxy cut", TcpProxy::cut);
    proxy("requests lost", TcpProxy::loseRequests);
    proxy("answers lost", TcpProxy::loseAnswers);
    proxy("proxy slow", (proxy) -> proxy.delay(Duration.ofMillis(100), Duration.ofMillis(200)));
    proxy("proxy narrow", (proxy) -> proxy.limit(7_000));
    proxy("proxy reset again and again", (proxy) -> proxy.resetEvery(Duration.ofMillis(200)));
    proxy("connections refused", (proxy) -> {
      proxy.refuse();
      proxy.reset();
    });
    server("server paused", this.server::pause, this.server::resume);
    server("server stopped", this.server::stop, this.server::start);
    server("server killed", this.server::kill, this.server::start);
    this.kinds.add(new Kind("connections killed", "sql", (node) -> {
      try (Connection connection = connect();
          Statement statement = connection.createStatement()) {
        Sessions.kill(statement, this.database.username());
      } catch (SQLException ex) {
        // The server is away.
      }
      return NOTHING;
    }));
    held("row locked", "SELECT * FROM leader_election FOR UPDATE");
    held("tables locked", "FLUSH TABLES WITH READ LOCK");
    sql("server read-only", "SET GLOBAL read_only = ON", "SET GLOBAL read_only = OFF");
    String user = "ALTER USER '" + this.database.username() + "'@'%' ACCOUNT ";
    sql("account locked", user + "LOCK", user + "UNLOCK");
    sql(
        "table renamed",
        "RENAME TABLE leader_election TO leader_election_away",
        "RENAME TABLE leader_election_away TO leader_election");
    edit("node designated", "UPDATE leader_election SET leader_id = '*'");
    edit("row deleted", "DELETE FROM leader_election");
    edit(
        "row replaced",
        "REPLACE INTO leader_election (service_id, leader_id) VALUES ('" + Cluster.SERVICE
            + "', '*')");
    edit("term lowered", "UPDATE leader_election SET term = term DIV 2");
    edit("lease unknown", "UPDATE leader_election SET lease_millis = NULL");
    edit("time in 1970", "UPDATE leader_election SET last_active_time = '1970-01-02 00:00:00'");
    edit(
        "time in the future",
        "UPDATE leader_election SET last_active_time = '2037-01-01 00:00:00'");
  }

  private void process(String name, Consumer<String> begin, Consumer<String> end) {
    this.kinds.add(new Kind(name, "process of *", (node) -> {
      begin.accept(node);
      return done(() -> end.accept(node));
    }));
  }

  private void startAgain(String node) {
    this.lives.put(node, this.cluster.add(life(node)));
  }

  private Node life(String node) {
    return SamplingNode.named(node + "." + ++this.starts)
        .through(this.proxies.get(node))
        .with("as.election.node-id=" + node);
  }

  private void proxy(String name, Consumer<TcpProxy> begin) {
    this.kinds.add(new Kind(name, "proxy of *", (node) -> {
      TcpProxy proxy = this.proxies.get(node);
      begin.accept(proxy);
      return done(proxy::heal);
    }));
  }

  private void server(String name, Runnable begin, Runnable end) {
    this.kinds.add(new Kind(name, "server", (node) -> {
      begin.run();
      return done(end);
    }));
  }

  /** A mistake of an operator, and its undo. */
  private void sql(String name, String begin, String end) {
    this.undoings.add(end);
    this.kinds.add(new Kind(name, "sql", (node) -> {
      attempt(begin);
      return () -> attempt(end);
    }));
  }

  /** A lock that a session holds until the session ends. */
  private void held(String name, String lock) {
    this.kinds.add(new Kind(name, "sql", (node) -> {
      try {
        Connection connection = connect();
        try (Statement statement = connection.createStatement()) {
          connection.setAutoCommit(false);
          statement.execute(lock);
        } catch (SQLException ex) {
          // The lock is missing, but the connection still has to end.
        }
        return done(() -> close(connection));
      } catch (SQLException ex) {
        return NOTHING;
      }
    }));
  }

  private void edit(String name, String sql) {
    this.kinds.add(new Kind(name, "edit", (node) -> {
      attempt(sql.replace("*", node));
      return NOTHING;
    }));
  }

  private Connection connect() throws SQLException {
    return DriverManager.getConnection(
        this.database.jdbcUrl() + IMPATIENT, "root", this.database.password());
  }

  private static void close(Connection connection) {
    try {
      connection.abort(Runnable::run);
    } catch (SQLException ex) {
      // The connection is already gone.
    }
  }

  /**
   * Returns whether the statement has had its effect. The server may be away, or the rows locked. A
   * table that already has its new name was renamed by an attempt whose answer came too late.
   */
  private boolean attempt(String sql) {
    try (Connection connection = connect();
        Statement statement = connection.createStatement()) {
      statement.execute("SET SESSION lock_wait_timeout = 1, SESSION innodb_lock_wait_timeout = 1");
      statement.execute(sql);
      return true;
    } catch (SQLException ex) {
      this.refusal = sql + ": " + ex;
      return RENAMED.contains(ex.getErrorCode());
    }
  }

  private static BooleanSupplier done(Runnable end) {
    return () -> {
      end.run();
      return true;
    };
  }

  private void report(Duration duration) {
    SafetyJudge judge = this.cluster.judge();
    List<Claim> claims = judge.claims();
    double led = claims.stream().mapToLong((claim) -> claim.to() - claim.from()).sum() / 1e9;
    double longestGap = IntStream.range(1, claims.size())
            .mapToLong((i) -> claims.get(i).from() - claims.get(i - 1).to())
            .max()
            .orElse(0)
        / 1e9;
    double longestRecovery = this.healedAt.stream()
            .mapToLong((healed) -> claims.stream()
                .filter((claim) -> claim.to() - healed > 0)
                .mapToLong((claim) -> Math.max(0, claim.from() - healed))
                .min()
                .orElse(0))
            .max()
            .orElse(0)
        / 1e9;
    Map<String, Long> byNode = claims.stream()
        .collect(Collectors.groupingBy(
            (claim) -> claim.node().substring(0, 1), TreeMap::new, Collectors.counting()));
    List<String> violations = judge.violations();
    System.out.printf(
        Locale.ROOT,
        """
        Soak: %d s, %d nodes, %d processes, lease %s, renew interval %s
        Soak: %d faults: %s
        Soak: %d claims checked, %d terms, by node %s, a leader for %.0f %% of the time
        Soak: longest gap with faults %.3f s; longest wait for a leader after %d times that all had ended %.3f s
        Soak: overlaps and other violations: %d%n""",
        duration.toSeconds(),
        this.proxies.size(),
        this.cluster.nodes().size(),
        Cluster.LEASE,
        Cluster.RENEW,
        this.injected.values().stream().mapToInt(Integer::intValue).sum(),
        this.injected,
        claims.size(),
        claims.stream().map(Claim::term).distinct().count(),
        byNode,
        100 * led / (duration.toMillis() / 1e3),
        longestGap,
        this.healedAt.size(),
        longestRecovery,
        violations.size());
  }

  /**
   * A kind of fault. Each place has one fault at a time; {@code *} stands for the node.
   *
   * @param fault begins the fault of a node, and returns what ends it, which reports whether that
   *     succeeded
   */
  private record Kind(String name, String place, Function<String, BooleanSupplier> fault) {}

  private record Ongoing(String place, long endAt, BooleanSupplier end) {}
}
