package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assumptions.assumeThat;

import io.election.jdbc.ElectionDatabase.Login;
import io.election.jdbc.ElectionDatabase.Settings;
import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.store.LeaseStoreException;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** A login that the server refuses is not repeated so often that the account is locked. */
@OnEveryServer
@Tag("faults")
class RefusedLoginIT extends ServerDatabase {

  private static final AtomicInteger USERS = new AtomicInteger();

  private static final Duration MINUTES = Duration.ofMinutes(7);

  private final AtomicLong nanos = new AtomicLong();

  private String user;

  private volatile String password = "wrong";

  @BeforeEach
  void newAccount() {
    this.user = "lockable_" + USERS.incrementAndGet() + "_" + this.database.name();
    this.database.newUser(this.user, "ALL ON " + this.database.name() + ".*");
  }

  @ParameterizedTest
  @ValueSource(strings = {"mysql", "mariadb"})
  void wrongPasswordLocksTheAccountForNobody(String driver) throws Exception {
    lockAfterFive();
    JdbcLeaseStore store = store(this.database.jdbcUrl(driver, ""));
    callForMinutes(store);

    DriverManager.getConnection(this.database.jdbcUrl(), this.user, this.database.password())
        .close();
    this.password = this.database.password();
    assertThat(store.read(Set.of("jobs")))
        .as("a changed password works at once")
        .isEmpty();
  }

  /**
   * A server counts refusals until somebody logs in. The election of a node sends at most one login
   * in half a minute, so three of them never reach five while others log in that often.
   */
  @Test
  void fault_61_password_changed_and_account_locked_after_five_refusals() throws Exception {
    lockAfterFive();
    List<JdbcLeaseStore> nodes = new ArrayList<>();
    for (int i = 0; i < 3; i++) {
      nodes.add(store(this.database.jdbcUrl()));
    }
    this.password = this.database.password();
    for (JdbcLeaseStore node : nodes) {
      assertThat(node.read(Set.of("jobs"))).isEmpty();
    }
    server().execute("ALTER USER '%s'@'%%' IDENTIFIED BY 'changed'".formatted(this.user));
    for (JdbcLeaseStore node : nodes) {
      assertThat(node.read(Set.of("jobs"))).as("an open connection goes on").isEmpty();
    }
    endSessions();
    for (int second = 0; second < MINUTES.toSeconds(); second++) {
      if (second % 30 == 0) {
        DriverManager.getConnection(this.database.jdbcUrl(), this.user, "changed")
            .close();
      }
      for (JdbcLeaseStore node : nodes) {
        assertThatThrownBy(() -> node.read(Set.of("jobs"))).isInstanceOf(LeaseStoreException.class);
      }
      this.nanos.addAndGet(Duration.ofSeconds(1).toNanos());
    }
    this.password = "changed";
    for (JdbcLeaseStore node : nodes) {
      assertThat(node.read(Set.of("jobs"))).isEmpty();
    }
  }

  /** The driver breaks the login off, although user and password are right. */
  @Test
  void loginThatTheDriverBreaksOffLocksTheAccountForNobody() throws Exception {
    assumeThat(server().isMariaDb()).isFalse();
    lockAfterFive();
    this.password = this.database.password();
    JdbcLeaseStore store = store(this.database
            .jdbcUrl("mysql", "")
            .replaceAll("(sslMode|allowPublicKeyRetrieval)=\\w+&?", "")
        + "&sslMode=DISABLED");
    assertThatThrownBy(() -> store.read(Set.of("jobs")))
        .hasMessageContaining("Public Key Retrieval is not allowed");
    callForMinutes(store);

    DriverManager.getConnection(this.database.jdbcUrl(), this.user, this.database.password())
        .close();
  }

  @Test
  void lockedAccountIsExplained() throws Exception {
    lockAfterFive();
    for (int i = 0; i < 6; i++) {
      assertThatThrownBy(
              () -> DriverManager.getConnection(this.database.jdbcUrl(), this.user, "other"))
          .isInstanceOf(SQLException.class);
    }
    this.password = this.database.password();
    JdbcLeaseStore store = store(this.database.jdbcUrl());
    assertThatThrownBy(() -> store.read(Set.of("jobs")))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("some client sent wrong passwords")
        .hasMessageContaining("ACCOUNT UNLOCK");
    this.server()
        .execute(
            server().isMariaDb()
                ? "FLUSH PRIVILEGES"
                : "ALTER USER '" + this.user + "'@'%' ACCOUNT UNLOCK");
    this.nanos.addAndGet(Duration.ofSeconds(45).toNanos());
    assertThat(store.read(Set.of("jobs"))).isEmpty();
  }

  private void endSessions() {
    String ids = server()
        .query("SELECT GROUP_CONCAT(id) FROM information_schema.processlist WHERE user = '%s'"
            .formatted(this.user));
    for (String id : String.valueOf(ids).split(",")) {
      server().execute("KILL " + id);
    }
  }

  /** MariaDB counts failed logins of all accounts by one setting. */
  private void lockAfterFive() {
    if (server().isMariaDb()) {
      server().execute("SET GLOBAL max_password_errors = 5");
      closing(() -> server().execute("SET GLOBAL max_password_errors = DEFAULT"));
    } else {
      server()
          .execute("ALTER USER '%s'@'%%' FAILED_LOGIN_ATTEMPTS 5 PASSWORD_LOCK_TIME 1"
              .formatted(this.user));
    }
  }

  /** Uses all connections of a node, as often as an elector that has led last. */
  private void callForMinutes(JdbcLeaseStore store) {
    ReleaseWatch watch = closing(store.releaseWatch().orElseThrow());
    for (int i = 0; i < MINUTES.toSeconds() * 4; i++) {
      assertThatThrownBy(() -> store.read(Set.of("jobs"))).isInstanceOf(LeaseStoreException.class);
      assertThatThrownBy(() -> watch.await("holder", () -> {}))
          .isInstanceOf(LeaseStoreException.class);
      assertThatThrownBy(store::ensureTables).isInstanceOf(LeaseStoreException.class);
      this.nanos.addAndGet(Duration.ofMillis(250).toNanos());
    }
  }

  private JdbcLeaseStore store(String url) throws SQLException {
    Driver driver = DriverManager.getDriver(url);
    Supplier<Login> logins =
        () -> new Login(url, this.user, this.password, driver, "a test", Settings.NONE);
    return closing(new JdbcLeaseStore(
        UnpooledConnections.database(
            logins, logins.get(), Database.OPERATION_TIMEOUT, this.nanos::get),
        SchemaMode.MIGRATE,
        Database.OPERATION_TIMEOUT,
        Database.RENEW_INTERVAL,
        true));
  }
}
