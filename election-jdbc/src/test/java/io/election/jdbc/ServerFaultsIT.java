package io.election.jdbc;

import static io.election.jdbc.StoreFaultsContract.assertFails;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.store.LeaseRow;
import io.election.store.LeaseStoreException;
import io.election.support.HostileGlobals;
import io.election.support.TestDatabase;
import io.election.support.TestServer;
import io.election.test.Leases;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests faults of a whole server, which no other class uses. */
@Tag("faults")
class ServerFaultsIT {

  private static final Duration TIMEOUT = Duration.ofMillis(500);

  @AutoClose
  private static TestServer server;

  private TestDatabase database;

  @AutoClose
  private JdbcLeaseStore store;

  private LeaseRow row;

  @BeforeAll
  static void start() {
    server = TestServer.startOwn();
  }

  @BeforeEach
  void prepare() {
    this.database = server.newDatabase().withTables();
  }

  private void use(String driver) throws Exception {
    this.store = Database.store(
        this.database.dataSource(driver, ""),
        this.database.jdbcUrl(driver, ""),
        SchemaMode.VALIDATE,
        TIMEOUT);
    this.row = Database.led(this.store, driver, "a");
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  @Tag("long")
  void aServerThatHangsOrIsDownDoesNotHoldACallBeyondItsTimeAndIsUsedAgain(String driver)
      throws Exception {
    use(driver);
    server.pause();
    try {
      for (int i = 0; i < 3; i++) {
        assertFails(() -> renew(driver), "did not answer within 500 ms");
      }
      assertFails(() -> this.store.read(Set.of(driver)), "did not answer within 500 ms");
    } finally {
      server.resume();
    }
    assertRenews(driver);
    server.stop();
    try {
      assertFails(() -> renew(driver), "127.0.0.1:" + server.port());
      assertFails(() -> renew(driver), "cannot be reached");
    } finally {
      server.start();
    }
    assertRenews(driver);
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void aServerThatBecomesAReplicaIsNotUsed(String driver) throws Exception {
    use(driver);
    assertThat(this.store.read(Set.of(driver))).hasSize(1);
    asReplica(() -> {
      // First on the open session, then on a new one.
      assertFails(() -> this.store.read(Set.of(driver)), "is read-only (");
      assertFails(() -> this.store.read(Set.of(driver)), "is read-only (");
    });
    assertThat(Database.row(this.store, driver)).isEqualTo(this.row);
    asReplica(() -> {
      assertFails(() -> renew(driver), "is read-only (", "let the URL point to the primary");
      assertFails(() -> renew(driver), "is read-only (");
    });
    assertRenews(driver);
  }

  private static void asReplica(ThrowingCallable calls) {
    server.execute("SET GLOBAL read_only = 1");
    try {
      assertThatCode(calls).doesNotThrowAnyException();
    } finally {
      server.execute("SET GLOBAL read_only = 0");
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void whatAReplicaShowsIsNoLossOfOneOfSeveralLeases(String driver) throws Exception {
    use(driver);
    Map<String, Long> terms = Map.of(driver, this.row.term(), "missed", 1L);
    try (Connection locker = this.database.begin("SELECT * FROM leader_election FOR UPDATE")) {
      assertThat(this.store.renew("a", terms).unknown()).containsExactly(driver);
      asReplica(() -> {
        assertFails(() -> Leases.renew(this.store, "a", terms), "is read-only (");
        assertFails(() -> Leases.renew(this.store, "a", terms), "is read-only (");
      });
      locker.rollback();
    }
    assertRenews(driver);
  }

  @Test
  void aReadOnlyServerIsNoReasonToEndTheStart() throws Exception {
    TestDatabase empty = server.newDatabase();
    LeaderElectionSchema schema = Database.schema(empty, SchemaMode.MIGRATE);
    asReplica(() -> assertFails(schema::ensure, "is read-only ("));
    schema.ensure();
    Database.schema(empty, SchemaMode.VALIDATE).ensure();
  }

  @Test
  void aServerWithoutAFreeConnectionIsToldAndGotOver() throws Exception {
    use("mysql");
    server.execute("SET GLOBAL max_connections = 10");
    List<Connection> taken = new ArrayList<>();
    try (Connection administrator = server.connectAsRoot()) {
      this.store.disconnect();
      assertThatThrownBy(() -> {
            while (true) {
              taken.add(this.database.dataSource().getConnection());
            }
          })
          .isInstanceOf(SQLException.class);
      assertFails(
          () -> renew("mysql"),
          "has no connection left (",
          "as.election.mysql.hand-back-signals=false on all nodes");
      taken.forEach(ElectionDatabase::discard);
      administrator.createStatement().execute("SET GLOBAL max_connections = 151");
    }
    assertRenews("mysql");
  }

  @ParameterizedTest
  @CsvSource(
      delimiter = '|',
      value = {
        "mysql|",
        "mysql|useLocalSessionState=true&useLocalTransactionState=true&useServerPrepStmts=true",
        "mysql|sessionVariables=autocommit=0,completion_type=1",
        "mariadb|",
        "mariadb|useServerPrepStmts=true&useBulkStmts=true",
        "mariadb|autocommit=false",
        "mariadb|sessionVariables=autocommit=0",
      })
  void globalsThatTheProtocolCannotLiveWithAreSetOtherwiseInTheSession(
      String driver, @Nullable String parameters) throws Exception {
    String node = "a\\'b";
    TestDatabase empty = server.newDatabase();
    String more = parameters != null ? parameters : "";
    try (Connection other = empty.connect();
        HostileGlobals globals = HostileGlobals.set(server)) {
      assertThat(globals).isNotNull();
      this.store = Database.store(
          empty.dataSource(driver, more),
          empty.jdbcUrl(driver, more),
          SchemaMode.MIGRATE,
          Database.OPERATION_TIMEOUT);
      LeaseRow led = Database.led(this.store, "billing", node);
      assertThat(seen(other, "leader_id")).isEqualTo(node);
      for (int i = 1; i <= 3; i++) {
        assertThat(Leases.renew(this.store, node, Map.of("billing", led.term())))
            .hasSize(1);
        assertThat(seen(other, "version"))
            .isEqualTo(Long.toString(LeaseRows.Version.of(led).number() + i));
      }
      LeaseRow second = Database.led(this.store, "mailing", node);
      Map<String, Long> terms = Map.of("billing", led.term(), "mailing", second.term());
      assertThat(this.store.read(terms.keySet())).hasSize(2);
      assertThat(Leases.renew(this.store, node, terms)).hasSize(2);
      assertThat(seen(other, "version"))
          .isEqualTo(Long.toString(LeaseRows.Version.of(led).number() + 4));
      assertThat(this.store.release("billing", node, led.term(), "", Database.RESIGNED))
          .isTrue();
      assertThat(seen(other, "lease_millis")).isEqualTo("0");
      LeaseRow released = Database.row(this.store, "billing");
      assertThat(Leases.acquire(this.store, "billing", released, node, 10_000, 0, "RELEASED"))
          .isPresent();
      assertThat(seen(other, "term")).isEqualTo(Long.toString(led.term() + 1));
      Statement statement = other.createStatement();
      statement.execute("SET lock_wait_timeout = 10");
      statement.execute("ALTER TABLE leader_election COMMENT 'no transaction is open'");
    }
  }

  /** A column of the committed election, as another transaction sees it. */
  private static String seen(Connection other, String column) throws SQLException {
    return TestServer.query(
        other, "SELECT " + column + " FROM leader_election WHERE service_id = 'billing'");
  }

  @Test
  void aBinaryLogOfStatementsIsTold() throws Exception {
    assumeTrue(!server.isMariaDb(), "MariaDB's default is MIXED, and its binary log is off");
    use("mysql");
    server.execute("SET GLOBAL binlog_format = 'STATEMENT'");
    try {
      this.store.disconnect();
      assertFails(() -> renew("mysql"), "SET GLOBAL binlog_format = 'ROW'");
    } finally {
      server.execute("SET GLOBAL binlog_format = DEFAULT");
    }
    assertRenews("mysql");
  }

  private Set<String> renew(String service) throws LeaseStoreException {
    return Leases.renew(this.store, "a", Map.of(service, this.row.term()));
  }

  private void assertRenews(String service) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .ignoreExceptionsInstanceOf(LeaseStoreException.class)
        .until(() -> renew(service).contains(service));
  }
}
