package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.InstanceOfAssertFactories.STRING;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import ch.qos.logback.classic.Level;
import com.sun.management.ThreadMXBean;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import io.election.AuditNote;
import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseRow;
import io.election.support.ConnectionSource;
import io.election.support.TestServer;
import io.election.test.Leases;
import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.regex.Pattern;
import javax.sql.DataSource;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What a store does about the settings of a session and the limits of MySQL. */
@OnEveryServer
@Tag("faults")
class LeaseStoreFaultsIT extends StoreFaultsContract {

  @Test
  void aNodeThatHoldsHundredsOfLeasesBuildsItsRenewalOnce() throws Exception {
    use(this.database.dataSource("mysql", ""));
    Map<String, Long> terms = new HashMap<>();
    terms.put("first", led("first").term());
    terms.put("o'\"\\? 订单", led("o'\"\\? 订单").term());
    long ofTwo = allocatedByRenewal(terms);
    add500(terms);
    long ofAll = allocatedByRenewal(terms);
    System.out.printf("A renewal of 2 leases allocates %d bytes, of 502 %d%n", ofTwo, ofAll);
    assertThat(ofAll).isLessThan(ofTwo + 20_000);

    assertThat(this.store.renew("b", terms).renewed()).isEmpty();
    terms.put("other-7", 2L);
    assertThat(this.store.renew("a", terms).renewed()).hasSize(501).doesNotContain("other-7");
    terms.put("other-7", 1L);
    assertThat(this.store.renew("a", terms).renewed()).hasSize(502);
  }

  @Test
  void aPollOfHundredsOfElectionsAllocatesLittleForEach() throws Exception {
    use(this.database.dataSource("mysql", ""));
    Map<String, Long> terms = led(1);
    terms.put("first", led("first").term());
    long ofTwo = allocatedByPoll(terms.keySet());
    add500(terms);
    long ofAll = allocatedByPoll(terms.keySet());
    System.out.printf("A poll of 2 elections allocates %d bytes, of 502 %d%n", ofTwo, ofAll);
    assertThat(ofTwo).isLessThan(20_000);
    assertThat((ofAll - ofTwo) / 500).isLessThan(700);

    this.database.execute(
        "UPDATE leader_election SET leader_id = 'b' WHERE service_id = 'other-7'");
    rows(terms.keySet())
        .forEach((service, row) ->
            assertThat(row.leaderId()).isEqualTo(service.equals("other-7") ? "b" : "a"));
    this.database.execute("DELETE FROM leader_election WHERE service_id = 'other-6'");
    assertThat(rows(terms.keySet()))
        .hasSize(501)
        .extractingByKey("other-7")
        .isEqualTo(row("other-7"));
    assertThat(rows(terms.keySet())).doesNotContainKey("other-6");
  }

  /** Adds elections that the node leads like the first one. */
  private void add500(Map<String, Long> terms) {
    this.database.execute("""
        INSERT INTO leader_election
            (service_id, leader_id, last_active_time, term, version, lease_millis, seal)
        WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 500)
        SELECT CONCAT('other-', i), leader_id, last_active_time, term, version, lease_millis,
            REPLACE(seal, LEFT(SHA2('first', 256), 16), LEFT(SHA2(CONCAT('other-', i), 256), 16))
        FROM n, leader_election WHERE service_id = 'first'
        """);
    for (int i = 1; i <= 500; i++) {
      terms.put("other-" + i, 1L);
    }
  }

  /** The bytes that a renewal of all leases allocates in a node at rest. */
  private long allocatedByRenewal(Map<String, Long> terms) throws Exception {
    return allocated(() -> {}, () -> this.store.renew("a", terms).renewed(), terms.keySet());
  }

  /** The bytes that a poll allocates in a follower at rest: heartbeats have changed all records. */
  private long allocatedByPoll(Set<String> elections) throws Exception {
    return allocated(
        () -> this.database.execute("""
            UPDATE leader_election
            SET version = version + 1, last_active_time = CURRENT_TIMESTAMP(6)
            """), () -> this.store.read(elections).keySet(), elections);
  }

  private static long allocated(Runnable before, Callable<Set<String>> call, Set<String> expected)
      throws Exception {
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 6; i++) {
      before.run();
      long start = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
      Set<String> outcome = call.call();
      long bytes = threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - start;
      assertThat(outcome).isEqualTo(expected);
      least = Math.min(least, bytes);
    }
    return least;
  }

  @Test
  void theSessionIsStrictShortLivedAndInUtc() throws Exception {
    use(
        this.database.dataSource("mysql", "sessionVariables=time_zone='-08:00',sql_mode=''"),
        TIMEOUT);
    led("billing");

    assertThat(this.connections).hasSize(1);
    assertThat(List.of(
            variable("@@time_zone"),
            variable("@@wait_timeout"),
            variable("@@innodb_lock_wait_timeout"),
            variable("@@lock_wait_timeout"),
            variable("@@autocommit")))
        .containsExactly("+00:00", "4", "1", "1", "1");
    assertThat(variable("@@sql_mode")).contains("STRICT_ALL_TABLES");
    assertThat(this.connections.get(0).getTransactionIsolation())
        .isEqualTo(Connection.TRANSACTION_READ_COMMITTED);
  }

  @Test
  void noOtherLimitCountsForASessionThatVanishesInATransaction() throws Exception {
    assumeTrue(
        this.database.query("SHOW VARIABLES LIKE 'idle_transaction_timeout'") != null,
        "only MariaDB has others");
    use(
        this.database.dataSource(
            "mysql",
            "sessionVariables=idle_transaction_timeout=1000,idle_write_transaction_timeout=1000,idle_readonly_transaction_timeout=1000"));
    led("billing");

    assertThat(
            variable(
                "CONCAT_WS(',', @@idle_transaction_timeout, @@idle_write_transaction_timeout, @@idle_readonly_transaction_timeout)"))
        .isEqualTo("0,0,0");
  }

  /** A session's time ends with the type of the columns in MySQL, and so must be earlier here. */
  @Test
  void timesThatAreWrittenEndBeforeTheTypeOfTheirColumnsDoes() throws Exception {
    DataSource late = this.database.dataSource("mysql", "sessionVariables=timestamp=2147400000.25");
    use(late);
    JdbcLeaseStore other =
        closing(Database.store(late, this.database.jdbcUrl(), SchemaMode.NONE, TIMEOUT));
    Map<String, Long> terms = led(3);
    Leases.renew(this.store, "a", Map.of("service-0", terms.get("service-0")));
    assertThat(row("service-0").own()).as("after a renewal").isTrue();
    Leases.renew(this.store, "a", terms);
    assertThat(rows(terms.keySet()).values()).as("after a common one").allMatch(LeaseRow::own);

    LeaseRow created = Leases.create(other, "created", "b", 10_000, 0).orElseThrow();
    assertThat(other.touch("created", created)).isPresent();
    LeaseRow before = Database.row(other, "service-0");
    assertThat(Leases.acquire(other, "service-0", before, "b", 10_000, 0, "EXPIRED"))
        .isPresent();
    long second = terms.get("service-1");
    assertThat(this.store.release("service-1", "a", second, "", Database.RESIGNED))
        .isTrue();
    assertThat(other.designate("service-2", "b", row("service-2"), new AuditNote("x", "y")))
        .isTrue();
    assertThat(Leases.cede(this.store, "service-2", "a", terms.get("service-2"), Database.RESIGNED))
        .isTrue();
    assertThat(other.designate("service-1", "b", null, null)).isTrue();
    for (String paused : List.of("", "", "service-0")) {
      this.store.announce(new Announcement(
          "a", terms.keySet(), Set.of(paused), true, TIMEOUT, "", "", Map.of(), ""));
    }
    assertThat(this.store.members(terms.keySet())).containsOnlyKeys(terms.keySet());

    assertThat(this.database.query("""
            SELECT GROUP_CONCAT(DISTINCT t) FROM (
                SELECT last_active_time t FROM leader_election
                UNION SELECT elected_at FROM leader_election_history
                UNION SELECT ended_at FROM leader_election_history
                UNION SELECT joined_at FROM leader_election_member
                UNION SELECT seen_at FROM leader_election_member) times""")).isEqualTo("2038-01-01 00:00:00.250000");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "sql_safe_updates = 0",
        "time_zone = '+00:00'",
        "completion_type = 0",
        "sql_select_limit = 18446744073709551615",
        "lock_wait_timeout = 1",
      })
  void aSettingThatDoesNotArriveIsToldWithWhatToDo(String setting) {
    String variable = setting.substring(0, setting.indexOf(' '));
    use(
        without(
            setting,
            "sessionVariables=sql_safe_updates=1,time_zone='-08:00',completion_type=1,sql_select_limit=9"));

    assertFails(
        () -> this.store.read(Set.of("billing")),
        variable + " is '",
        "in the session of the election, although it was just set to",
        "let the election connect to the server itself");
  }

  @Test
  void aProxyThatDropsTheTimeToRestIsPutUpWith() throws Exception {
    use(without("wait_timeout = 4", ""));

    LeaseRow row = led("billing");

    assertThat(variable("@@wait_timeout")).isEqualTo("28800");
    assertRenews(row);
  }

  private DataSource without(String setting, String parameters) {
    DataSource source = this.database.dataSource("mysql", parameters);
    Pattern set = Pattern.compile("([ ,])" + Pattern.quote(setting) + "(?=,|$)");
    return ConnectionSource.of(() -> Watched.of(
        source.getConnection(),
        (method, sql) ->
            sql == null ? null : set.matcher(sql).replaceFirst("$1innodb_lock_wait_timeout = 1")));
  }

  /** Connector/J escapes by the mode that it found when it connected. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      ''                                              | SET sql_mode = 'NO_BACKSLASH_ESCAPES'
      sessionVariables=sql_mode='NO_BACKSLASH_ESCAPES' | SET sql_mode = ''
      sessionVariables=sql_mode='NO_BACKSLASH_ESCAPES' | DO 1
      """)
  void aBackslashStaysOneWhateverThePoolDoesToTheModeOfItsConnections(String url, String init)
      throws Exception {
    DataSource source = this.database.dataSource("mysql", url);
    use(ConnectionSource.of(() -> {
      Connection connection = source.getConnection();
      try (Statement statement = connection.createStatement()) {
        statement.execute(init);
      }
      return connection;
    }));
    String id = "n\\', '";
    Database.led(this.store, "a\\", id);
    assertThat(
            this.database.query("SELECT CONCAT(service_id, ' ', leader_id) FROM leader_election"))
        .isEqualTo("a\\ " + id);
  }

  @Test
  void anOptionOfTheUrlThatUndoesASettingIsSuggested() {
    use(this.database.dataSource("mysql", "maxRows=1000"));
    assertThatThrownBy(() -> led("billing"))
        .hasMessageContaining("sql_select_limit is '1000'")
        .hasMessageContaining("an option of the URL (such as maxRows)");
  }

  @Test
  void nodesWithDifferentTimeZonesSeeTheSameRow() throws Exception {
    led("billing");
    LeaseRow row = row("billing");
    try (JdbcLeaseStore other = Database.store(
        this.database.dataSource("mariadb", "sessionVariables=time_zone='+13:00'"),
        this.database.jdbcUrl())) {
      assertThat(other.read(Set.of("billing")).get("billing").row())
          .usingRecursiveComparison()
          .ignoringFields("own")
          .isEqualTo(row);
      assertThat(other.read(Set.of("billing")).get("billing").age())
          .isBetween(Duration.ofSeconds(-1), Duration.ofSeconds(30));
      assertThat(Leases.acquire(other, "billing", row, "b", 1000, 0, "EXPIRED")).isPresent();
    }
  }

  @Test
  void aConnectionThatRestedTooLongIsReplacedBeforeItFails() throws Exception {
    this.store = closing(Database.store(
        remembering(this.database.dataSource()), this.database.jdbcUrl(), Duration.ofMillis(100)));
    LeaseRow row = led("billing");
    assertThat(variable("@@wait_timeout")).isEqualTo("1");
    String id = variable("CONNECTION_ID()");

    Awaitility.await("the server ends the connection").until(() -> !isConnected(id));

    assertThat(renew(row)).containsExactly("billing");
  }

  @Test
  void missingRightsAreToldWithTheGrants() {
    String user = Database.newUser(this.database, "SELECT ON %s.*");
    use(this.database.dataSourceOf(user));

    assertFails(
        () -> Leases.create(this.store, "billing", "a", 1000, 0),
        "INSERT command denied to user",
        "GRANT SELECT, INSERT, UPDATE ON `%s`.leader_election TO '%s'@'%%';"
            .formatted(this.database.name(), user),
        "GRANT SELECT, INSERT, UPDATE ON `%s`.leader_election_history TO '%s'@'%%';"
            .formatted(this.database.name(), user));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"MAX_QUERIES_PER_HOUR", "MAX_UPDATES_PER_HOUR", "MAX_CONNECTIONS_PER_HOUR"})
  void aLimitOfTheHourIsNotTakenForTooManyConnections(String limit) throws Exception {
    String user = Database.newUser(this.database, "ALL ON %s.*");
    this.database.execute("ALTER USER '%s'@'%%' WITH %s 1".formatted(user, limit));
    use(this.database.dataSourceOf(user));

    assertFails(
        () -> {
          for (int i = 0; i < 3; i++) {
            Leases.create(this.store, "billing" + i, "a", 1000, 0);
            this.store.disconnect();
          }
        },
        "allows the account no more of that in this hour",
        "has exceeded the 'max_",
        "ALTER USER ... WITH");
  }

  @Test
  void aCharacterSetOfTheConnectionIsNotTakenForOneOfTheColumns() throws Exception {
    use(this.database.dataSource("mysql", "characterEncoding=latin1"));
    assertThat(Database.logged(
            LeaseRows.class,
            Level.WARN,
            () -> assertFails(
                () -> Leases.create(this.store, "A-订单", "a", 1000, 0),
                "is not found under its name",
                "character encoding")))
        .singleElement(STRING)
        .startsWith(
            "A record is skipped, and no node can lead its election while it exists: The connection sends 'A-??' for one of the elections [A-订单]")
        .contains("remove characterEncoding");
  }

  @Test
  void aPoolThatIsExhaustedByOthersIsToldAndGotOver() throws Exception {
    HikariConfig config = new HikariConfig();
    config.setDataSource(this.database.dataSource());
    config.setMaximumPoolSize(1);
    config.setConnectionTimeout(250);
    try (HikariDataSource pool = new HikariDataSource(config)) {
      use(pool);
      try (Connection held = pool.getConnection()) {
        assertThat(held.isValid(1)).isTrue();
        assertFails(() -> this.store.read(Set.of("billing")), "Connection is not available");
      }
      Awaitility.await()
          .ignoreExceptions()
          .until(() -> this.store.read(Set.of("billing")).isEmpty());
      this.store.close();
      try (Connection next = pool.getConnection()) {
        assertThat(TestServer.query(next, "SELECT @@wait_timeout"))
            .as("no session of ours goes back")
            .isEqualTo("28800");
      }
    }
  }

  @ParameterizedTest
  @CsvSource({
    "0, ''",
    "1, read_only=1",
    "CONVERT('OFF' USING utf8mb3), ''",
    "CONVERT('ON' USING utf8mb3), read_only=ON",
    "CONVERT('NO_LOCK_NO_ADMIN' USING utf8mb3), read_only=NO_LOCK_NO_ADMIN"
  })
  void aReplicaIsKnownByTheNumberThatServersShowAndByTheWordThatNewerOnesDo(
      String shown, String readOnly) {
    assertThat(this.database.query(
            "SELECT " + MysqlDialect.READ_ONLY.replace("@@GLOBAL.read_only", shown)))
        .isEqualTo(readOnly);
  }

  @Test
  void aCaseInsensitiveCollationIsTold() throws Exception {
    this.database.execute(
        "ALTER TABLE leader_election MODIFY service_id varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_general_ci NOT NULL");
    led("billing");
    led("jobs");

    assertThat(warnings(() -> {
          assertThat(this.store.read(Set.of("Billing", "jobs"))).containsOnlyKeys("jobs");
          assertThat(this.store.read(Set.of("Billing", "jobs"))).containsOnlyKeys("jobs");
        }))
        .singleElement()
        .asString()
        .contains("'billing'", "needs the collation utf8mb4_bin");
  }

  @Test
  void aRecordThatEndsWithABlankCostsItsOwnElectionAlone() throws Exception {
    led("it's");
    LeaseRow jobs = led("jobs");
    this.database.execute(
        "REPLACE INTO leader_election (service_id, leader_id) VALUES ('it''s ', 'b')");
    Set<String> both = Set.of("it's", "jobs");

    List<String> warnings = warnings(() -> {
      assertThat(this.store.read(both)).containsOnlyKeys("jobs");
      assertThat(this.store.read(both)).containsOnlyKeys("jobs");
      assertThat(Leases.create(this.store, "it's", "a", 1000, 0)).isEmpty();
      assertThat(Leases.renew(this.store, "a", Map.of("jobs", jobs.term())))
          .containsExactly("jobs");
    });

    assertThat(warnings).singleElement().asString().contains("'it's '", "ends with a blank");
    this.database.execute(warnings.get(0).replaceFirst(".*(DELETE .*);$", "$1"));
    assertThat(led("it's").term()).isEqualTo(2);
    assertThat(this.store.read(both)).containsOnlyKeys("it's", "jobs");
  }

  private static List<String> warnings(ThrowingCallable call) throws Exception {
    return Database.logged(LeaseRows.class, Level.WARN, call);
  }

  private String variable(String expression) throws SQLException {
    return TestServer.query(
        this.connections.get(this.connections.size() - 1), "SELECT " + expression);
  }
}
