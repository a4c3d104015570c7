package io.election.mysql;

import static io.election.mysql.LeaseStoreFaultsContract.assertFails;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.lease.LeaseRow;
import io.election.lease.LeaseStoreException;
import io.election.lease.PartialRenewalException;
import io.election.mysql.LeaderElectionSchema.Mode;
import io.election.test.TestDataSource;
import io.election.test.TestDatabase;
import io.election.test.TestServer;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Faults of a whole server, which is one of its own. */
class ServerFaultsIT {

  private static final Duration TIMEOUT = Duration.ofMillis(500);

  private static TestServer server;

  private TestDatabase database;
  private MysqlLeaseStore store;
  private LeaseRow row;

  @BeforeAll
  static void start() {
    server = TestServer.startOwn();
  }

  @AfterAll
  static void stop() {
    server.close();
  }

  @BeforeEach
  void prepare() {
    this.database = Database.withTables(server.newDatabase());
  }

  private void use(String driver) throws Exception {
    String url = this.database.jdbcUrl(driver, "");
    this.store = Database.store(
        new TestDataSource(url, this.database.username(), this.database.password()),
        url,
        Mode.VALIDATE,
        TIMEOUT);
    LeaseRow created = this.store.create(driver, "a", 10_000, 0).orElseThrow();
    assertThat(this.store.lead(driver, created, 10_000)).isTrue();
    this.row = this.store.read(Set.of(driver)).get(driver).row();
  }

  @AfterEach
  void close() {
    if (this.store != null) {
      this.store.close();
    }
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void a_paused_server_does_not_hold_a_call_beyond_its_time(String driver) throws Exception {
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
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void a_server_that_is_stopped_and_started_is_used_again(String driver) throws Exception {
    use(driver);
    server.stop();
    try {
      assertFails(() -> renew(driver), "127.0.0.1:" + server.port());
      assertFails(() -> renew(driver), "cannot be reached");
    } finally {
      server.start();
    }
    assertRenews(driver);
  }

  @Test
  void a_killed_server_keeps_what_it_acknowledged() throws Exception {
    use("mysql");
    renew("mysql");
    LeaseRow renewed = this.store.read(Set.of("mysql")).get("mysql").row();
    server.kill();
    try {
      assertFails(() -> renew("mysql"), "127.0.0.1:" + server.port());
    } finally {
      server.start();
    }
    Awaitility.await()
        .ignoreExceptionsInstanceOf(LeaseStoreException.class)
        .until(() -> this.store.read(Set.of("mysql")).get("mysql").row().equals(renewed));
    assertRenews("mysql");
  }

  @Test
  void a_read_only_server_is_told_and_got_over() throws Exception {
    use("mysql");
    server.execute("SET GLOBAL read_only = 1");
    try {
      assertFails(() -> renew("mysql"), "is read-only (", "let the URL point to the primary");
      assertFails(() -> renew("mysql"), "is read-only (");
    } finally {
      server.execute("SET GLOBAL read_only = 0");
    }
    assertRenews("mysql");
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void a_server_that_becomes_a_replica_is_not_read_from(String driver) throws Exception {
    use(driver);
    assertThat(this.store.read(Set.of(driver))).hasSize(1);
    server.execute("SET GLOBAL read_only = 1");
    try {
      // First on the session that was open, then on one that is opened.
      assertFails(() -> this.store.read(Set.of(driver)), "is read-only (");
      assertFails(() -> this.store.read(Set.of(driver)), "is read-only (");
    } finally {
      server.execute("SET GLOBAL read_only = 0");
    }
    assertThat(this.store.read(Set.of(driver)).get(driver).row()).isEqualTo(this.row);
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void what_a_replica_shows_is_no_loss_of_one_of_several_leases(String driver) throws Exception {
    use(driver);
    Map<String, Long> terms = Map.of(driver, this.row.term(), "missed", 1L);
    try (Connection locker = this.database.connect();
        Statement statement = locker.createStatement()) {
      locker.setAutoCommit(false);
      statement.executeQuery("SELECT * FROM leader_election FOR UPDATE");
      assertThatThrownBy(() -> this.store.renew("a", terms))
          .isInstanceOfSatisfying(
              PartialRenewalException.class,
              partial -> assertThat(partial.undecided()).containsExactly(driver));
      server.execute("SET GLOBAL read_only = 1");
      try {
        assertFails(() -> this.store.renew("a", terms), "is read-only (");
        assertFails(() -> this.store.renew("a", terms), "is read-only (");
      } finally {
        server.execute("SET GLOBAL read_only = 0");
      }
    }
    assertRenews(driver);
  }

  @Test
  void a_read_only_server_is_no_reason_to_end_the_start() throws Exception {
    TestDatabase empty = server.newDatabase();
    LeaderElectionSchema schema = Database.schema(empty, Mode.MIGRATE);
    server.execute("SET GLOBAL read_only = 1");
    try {
      assertFails(schema::ensure, "is read-only (");
    } finally {
      server.execute("SET GLOBAL read_only = 0");
    }
    schema.ensure();
    Database.schema(empty, Mode.VALIDATE).ensure();
  }

  @Test
  void a_server_without_a_free_connection_is_told_and_got_over() throws Exception {
    use("mysql");
    server.execute("SET GLOBAL max_connections = 10");
    List<Connection> taken = new ArrayList<>();
    try (Connection administrator = server.connectAsRoot()) {
      this.store.close();
      Awaitility.await().until(() -> !takeOne(taken));
      assertFails(() -> renew("mysql"), "has no connection left (");
      taken.forEach(ElectionDatabase::discard);
      try (Statement statement = administrator.createStatement()) {
        statement.execute("SET GLOBAL max_connections = 151");
      }
    }
    assertRenews("mysql");
  }

  private boolean takeOne(List<Connection> taken) {
    try {
      taken.add(DriverManager.getConnection(
          this.database.jdbcUrl(), this.database.username(), this.database.password()));
      return true;
    } catch (SQLException ex) {
      return false;
    }
  }

  private Set<String> renew(String service) throws LeaseStoreException {
    return this.store.renew("a", Map.of(service, this.row.term()));
  }

  private void assertRenews(String service) {
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .ignoreExceptionsInstanceOf(LeaseStoreException.class)
        .until(() -> renew(service).contains(service));
  }
}
