package io.election.jdbc;

import static io.election.jdbc.StoreFaultsContract.assertFails;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.jdbc.ElectionDatabase.Login;
import io.election.jdbc.ElectionDatabase.Settings;
import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.store.LeaseRow;
import io.election.store.LeaseStoreException;
import io.election.support.PostgresqlPrograms;
import io.election.support.PostgresqlServer;
import io.election.support.TestDatabase;
import io.election.test.Leases;
import java.net.ServerSocket;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.postgresql.Driver;

/** Tests faults of a whole PostgreSQL, which no other class uses. */
@Tag("faults")
class PostgresqlFaultsIT {

  private static final Duration TIMEOUT = Duration.ofMillis(500);

  @AutoClose
  private static PostgresqlServer server;

  private TestDatabase database;

  @AutoClose
  private JdbcLeaseStore store;

  private LeaseRow row;

  @BeforeAll
  static void start() {
    server = PostgresqlServer.launch(PostgresqlPrograms.V18);
  }

  @BeforeEach
  void lead() throws Exception {
    this.database = server.newDatabase().withTables();
    this.store = Database.store(
        this.database.dataSource(), this.database.jdbcUrl(), SchemaMode.VALIDATE, TIMEOUT);
    this.row = Database.led(this.store, "jobs", "a");
  }

  @Test
  void aServerThatHangsOrIsDownDoesNotHoldACallBeyondItsTimeAndIsUsedAgain() throws Exception {
    server.pause();
    try {
      for (int i = 0; i < 3; i++) {
        assertFails(this::renew, "did not answer within 500 ms");
      }
      assertFails(() -> this.store.read(Set.of("jobs")), "did not answer within 500 ms");
    } finally {
      server.resume();
    }
    assertRenews();
    server.stop();
    try {
      assertFails(this::renew, "127.0.0.1:" + server.port());
      assertFails(this::renew, "cannot be reached");
    } finally {
      server.start();
    }
    assertRenews();
  }

  /** A pool sets such a limit for the driver, which then does not say that a time-out was the cause. */
  @Test
  void aServerThatHangsForLongerThanALoginMayTakeIsUsedAgainAtOnce() throws Exception {
    Duration timeout = Duration.ofSeconds(5);
    JdbcLeaseStore patient = unpooled(this.database.jdbcUrl() + "&loginTimeout=1", timeout);
    try (patient) {
      server.pause();
      try {
        assertFails(() -> patient.read(Set.of("jobs")), "Connection attempt timed out");
      } finally {
        server.resume();
      }
      assertThat(patient.read(Set.of("jobs"))).containsKey("jobs");
    }
  }

  /** Its share of the time-out is rounded up to all of it. */
  @ParameterizedTest
  @ValueSource(strings = {"%1$s,%2$s", "%1$s,%1$s,%2$s", "%2$s,%1$s"})
  void aHostThatIsSilentDoesNotKeepTheElectionFromTheOthers(String hosts) throws Exception {
    try (ServerSocket silent = new ServerSocket(0)) {
      String url = this.database
          .jdbcUrl()
          .replace(
              "127.0.0.1:" + server.port(),
              hosts.formatted("127.0.0.1:" + silent.getLocalPort(), "127.0.0.1:" + server.port()));
      JdbcLeaseStore patient = unpooled(url, TIMEOUT);
      try (patient) {
        for (int i = 0; i < 2; i++) {
          Awaitility.await()
              .ignoreExceptions()
              .until(() -> patient.read(Set.of("jobs")).containsKey("jobs"));
          patient.disconnect();
        }
      }
    }
  }

  private JdbcLeaseStore unpooled(String url, Duration timeout) {
    Login login = new Login(
        url, this.database.username(), this.database.password(), new Driver(), "", Settings.NONE);
    return new JdbcLeaseStore(
        UnpooledConnections.database(() -> login, login, timeout),
        SchemaMode.NONE,
        timeout,
        Database.RENEW_INTERVAL,
        true);
  }

  @Test
  void aServerThatIsKilledHasAllThatItConfirmed() throws Exception {
    assertThat(renew()).containsExactly("jobs");
    server.kill();
    try {
      assertFails(this::renew, "127.0.0.1:" + server.port());
    } finally {
      server.start();
    }
    assertRenews();
    assertThat(this.store.read(Set.of("jobs")).get("jobs").row().term()).isEqualTo(this.row.term());
  }

  @Test
  void aServerWithoutAFreeConnectionIsToldAndGotOver() throws Exception {
    this.store.disconnect();
    List<Connection> taken = new ArrayList<>();
    try {
      assertThatThrownBy(() -> {
            while (true) {
              taken.add(this.database.dataSource().getConnection());
            }
          })
          .isInstanceOf(SQLException.class);
      assertFails(
          this::renew,
          "has no connection left (",
          "as.election.postgresql.hand-back-signals=false on all nodes");
    } finally {
      taken.forEach(ElectionDatabase::discard);
    }
    assertRenews();
  }

  private Set<String> renew() throws LeaseStoreException {
    return Leases.renew(this.store, "a", Map.of("jobs", this.row.term()));
  }

  private void assertRenews() {
    Awaitility.await()
        .atMost(Duration.ofSeconds(30))
        .ignoreExceptionsInstanceOf(LeaseStoreException.class)
        .until(() -> renew().contains("jobs"));
  }
}
