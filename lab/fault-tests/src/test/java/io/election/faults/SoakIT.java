package io.election.faults;

import static io.election.faults.Soak.NOTHING;
import static io.election.faults.Soak.SERVER;
import static io.election.faults.Soak.done;

import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.support.process.TcpProxy;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * Random faults on a few nodes over each kind of store. A test takes less than a minute by default: {@code
 * -Dsoak.duration=PT30M} makes it longer, {@code -Dsoak.seed} repeats the faults, but not the
 * processes' own pace, {@code -Dsoak.nodes} sets the number of nodes.
 */
@Tag("faults")
@Execution(ExecutionMode.CONCURRENT)
class SoakIT {

  @Test
  @Tag("long")
  void fault_50_random_faults() throws Exception {
    onSql(Engine.MYSQL);
  }

  @Test
  void fault_50_random_faults_on_postgresql() throws Exception {
    onSql(Engine.POSTGRESQL);
  }

  private static void onSql(Engine engine) throws Exception {
    try (SqlFaults faults = new SqlFaults(engine)) {
      faults.run();
    }
  }

  @Test
  @Tag("long")
  void fault_50_random_faults_on_zookeeper() throws Exception {
    onMembers(KeyValueStore.ZOOKEEPER);
  }

  @Test
  @Tag("long")
  void fault_50_random_faults_on_etcd() throws Exception {
    onMembers(KeyValueStore.ETCD);
  }

  /** Nodes in the middle of a move: each must hold a lease in ZooKeeper and one in MySQL. */
  @Test
  @Tag("long")
  void fault_50_random_faults_on_a_list_of_two_stores() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Map<String, TcpProxy> proxies = new TreeMap<>();
    Soak soak = new Soak((node, name) -> SamplingNode.named(name)
        .through(proxies.computeIfAbsent(node, (key) -> TcpProxy.to(database))));
    soak.add("way to MySQL cut", "proxy of *", (node) -> {
      proxies.get(node).cut();
      return done(proxies.get(node)::heal);
    });
    try (KeyValueStore.Members members = KeyValueStore.ZOOKEEPER.start()) {
      run(soak, members, Cluster.listed(members.properties(), database));
    } finally {
      proxies.values().forEach(TcpProxy::close);
    }
  }

  private static void onMembers(KeyValueStore store) throws Exception {
    try (KeyValueStore.Members members = store.start()) {
      run(new Soak((node, name) -> SamplingNode.named(name)), members, members.properties());
    }
  }

  private static void run(Soak soak, KeyValueStore.Members members, Map<String, String> properties)
      throws Exception {
    for (KeyValueStore.Member member : members.all()) {
      server(soak, "member killed", member.kill(), member.start());
      server(soak, "member paused", member.pause(), member.resume());
    }
    List<KeyValueStore.Member> two = members.all().subList(0, 2);
    server(
        soak,
        "two members paused",
        () -> two.forEach((member) -> member.pause().run()),
        () -> two.forEach((member) -> member.resume().run()));
    edit(soak, "record deleted", (node) -> members.delete().accept(Cluster.SERVICE));
    edit(soak, "node designated", (node) -> members.designate().accept(Cluster.SERVICE, node));
    Cluster.run(properties, soak.nodes(), (all) -> {
      all.awaitLeader();
      soak.run(all, () -> {});
    });
  }

  private static void server(Soak soak, String name, Runnable begin, Runnable end) {
    soak.add(name, SERVER, (node) -> {
      begin.run();
      return done(end);
    });
  }

  /** What an operator does by hand while all members run. They may not have a quorum yet. */
  private static void edit(Soak soak, String name, Consumer<String> edit) {
    soak.add(name, SERVER, (node) -> {
      try {
        edit.accept(node);
      } catch (IllegalStateException ex) {
        soak.refused(name + ": " + ex);
      }
      return NOTHING;
    });
  }

  /** The faults of a database, and of the connections to it. */
  private static final class SqlFaults implements AutoCloseable {

    /** How the servers say that a table is there already, or is missing. */
    private static final Set<String> RENAMED = Set.of("42S01", "42S02", "42P07", "42P01");

    private final Engine engine;

    private final TestServer server;

    private final TestDatabase database;

    private final Map<String, TcpProxy> proxies = new TreeMap<>();

    /** The statements that undo faults. They do no harm if there is nothing to undo. */
    private final List<String> undoings = new ArrayList<>();

    private final Soak soak =
        new Soak((node, name) -> SamplingNode.named(name).through(this.proxies.get(node)));

    SqlFaults(Engine engine) {
      this.engine = engine;
      this.server = engine.startOwn();
      this.database = this.server.newDatabase();
    }

    void run() throws Exception {
      this.soak.names().forEach((name) -> this.proxies.put(name, TcpProxy.to(this.database)));
      addKinds();
      Cluster.run(
          this.database,
          this.soak.nodes(),
          // A statement that nobody waited for may have run after its undo.
          (cluster, leader) -> this.soak.run(cluster, () -> this.undoings.forEach(this::attempt)));
    }

    @Override
    public void close() {
      this.proxies.values().forEach(TcpProxy::close);
      this.server.close();
    }

    private void addKinds() {
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
      server(this.soak, "server paused", this.server::pause, this.server::resume);
      server(this.soak, "server stopped", this.server::stop, this.server::start);
      server(this.soak, "server killed", this.server::kill, this.server::start);
      this.soak.add("connections killed", "sql", (node) -> {
        try (Connection connection = connect();
            Statement statement = connection.createStatement()) {
          this.engine.killSessions(statement, this.database.username());
        } catch (SQLException ex) {
          // The server is away.
        }
        return NOTHING;
      });
      held("row locked", "SELECT * FROM leader_election FOR UPDATE");
      held("tables locked", this.engine.lockOfTables());
      String user = this.database.username();
      sql("server read-only", this.engine.readOnly(user, true), this.engine.readOnly(user, false));
      sql(
          "account locked",
          this.engine.lockAccount(user, true),
          this.engine.lockAccount(user, false));
      sql(
          "table renamed",
          "ALTER TABLE leader_election RENAME TO leader_election_away",
          "ALTER TABLE leader_election_away RENAME TO leader_election");
      edit("node designated", "UPDATE leader_election SET leader_id = '*'");
      edit("row deleted", "DELETE FROM leader_election");
      edit("row replaced", this.engine.replace("leader_id", "'*'"));
      edit("term lowered", "UPDATE leader_election SET term = FLOOR(term / 2)");
      edit("lease unknown", "UPDATE leader_election SET lease_millis = NULL");
      edit("time in 1970", "UPDATE leader_election SET last_active_time = '1970-01-02 00:00:00'");
      edit(
          "time in the future",
          "UPDATE leader_election SET last_active_time = '2037-01-01 00:00:00'");
    }

    private void proxy(String name, Consumer<TcpProxy> begin) {
      this.soak.add(name, "proxy of *", (node) -> {
        TcpProxy proxy = this.proxies.get(node);
        begin.accept(proxy);
        return done(proxy::heal);
      });
    }

    private void sql(String name, String begin, String end) {
      this.undoings.add(end);
      this.soak.add(name, "sql", (node) -> {
        attempt(begin);
        return () -> attempt(end);
      });
    }

    private void held(String name, String lock) {
      this.soak.add(name, "sql", (node) -> {
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
      });
    }

    private void edit(String name, String sql) {
      this.soak.add(name, "edit", (node) -> {
        attempt(sql.replace("*", node));
        return NOTHING;
      });
    }

    private Connection connect() throws SQLException {
      return DriverManager.getConnection(
          this.database.jdbcUrl() + this.engine.impatient(), "root", this.database.password());
    }

    private static void close(Connection connection) {
      try {
        connection.abort(Runnable::run);
      } catch (SQLException ex) {
        // The connection is already gone.
      }
    }

    /**
     * Returns whether the statement has had its effect, now or in an attempt that was answered
     * late.
     */
    private boolean attempt(String sql) {
      try (Connection connection = connect();
          Statement statement = connection.createStatement()) {
        statement.execute(this.engine.waitsASecond());
        statement.execute(sql);
        return true;
      } catch (SQLException ex) {
        this.soak.refused(sql + ": " + ex);
        return RENAMED.contains(ex.getSQLState());
      }
    }
  }
}
