package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import io.election.AuditNote;
import io.election.ElectionSetupException;
import io.election.LeadershipLostEvent;
import io.election.PastTerm;
import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.store.ElectionDirectory;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import io.election.support.HandWrittenLease;
import io.election.support.TestDataSource;
import io.election.support.TestDatabase;
import io.election.test.Leases;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests the schema on one server. */
@OnEveryServer(alike = true)
@Tag("faults")
class LeaderElectionSchemaIT extends ServerDatabase {

  /** The hand-made table that teams already have, verbatim. */
  private static final String HAND_MADE = """
      CREATE TABLE leader_election (
          service_id varchar(128) NOT NULL COMMENT '服务名称，如：AS',
          leader_id varchar(128) NOT NULL COMMENT '主节点ID，可以用hostname代替',
          last_active_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP COMMENT '活跃时间，一般使用mysql函数now()生成',
          PRIMARY KEY (service_id)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8 COMMENT='select master node'
      """;

  /** The same table from a server with short keys, with the longest name that they allow. */
  private static final String SHORT_KEYS = HAND_MADE
      .replace("(128)", "(255)")
      .replace("CHARSET=utf8", "CHARSET=utf8 ROW_FORMAT=COMPACT");

  /** The table of another tool, verbatim. */
  private static final String OTHER_TOOLS = """
      CREATE TABLE leader_election (
        id int(10) unsigned not null auto_increment comment '主键id',
        name varchar(128) not null default '' comment '名称',
        node varchar(128) NOT NULL default '' comment '节点',
        last_seen_active timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP comment '最后更新时间',
        PRIMARY KEY (id),
        unique key uniq_idx_name(name)
      ) ENGINE=InnoDB default charset=utf8mb4 comment 'leader选举'
      """;

  /** What is left of a migration that failed. */
  private static final String FAILED = """
      DROP TABLE leader_election_history;
      UPDATE leader_election_schema_history SET success = 0 WHERE version = '1'
      """;

  private static final TestDataSource NOWHERE =
      new TestDataSource("jdbc:mysql://127.0.0.1:1/app", "u", "p");

  private static final AuditNote ALICE = new AuditNote("alice", "canary");

  /** The privileges on both tables, as in docs/mysql.md, if somebody else creates them. */
  private static final List<String> USE = List.of("SELECT", "INSERT", "UPDATE");

  /** The privileges on the database, as in docs/mysql.md, if the election does. */
  private static final List<String> MAKE =
      List.of("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER");

  @Override
  @BeforeEach
  void newDatabase() {
    this.database = server().newDatabase();
  }

  @Test
  void anEmptyDatabaseGetsAllTablesOnce() throws Exception {
    migrate();
    migrate();

    assertThat(tables())
        .containsExactly(
            "leader_election",
            "leader_election_history",
            "leader_election_member",
            "leader_election_schema_history");
    assertThat(migrationsRun()).isEqualTo("1");
    assertIsUsable();
  }

  @Test
  void completeTablesAreLeftAloneWithoutFlyway() throws Exception {
    this.database.withTables();

    migrate();
    Database.schema(this.database, SchemaMode.VALIDATE).ensure();

    assertThat(tables())
        .containsExactly("leader_election", "leader_election_history", "leader_election_member");
  }

  @Test
  void nodesThatStartAtOnceOnAnEmptySchemaAllSucceed() throws Exception {
    Database.atOnce(6, this::migrate);
    assertIsUsable();
  }

  @Test
  void theHandMadeTableIsUpgradedInPlaceUnderItsRunningStatements() throws Exception {
    this.database.execute(HAND_MADE);
    AtomicBoolean stop = new AtomicBoolean();
    AtomicInteger renewals = new AtomicInteger();
    ExecutorService executor = Executors.newSingleThreadExecutor();
    try {
      Future<?> oldNode = executor.submit(() -> electByHand(stop, renewals));
      awaitRenewals(renewals, 10);

      migrate();

      awaitRenewals(renewals, renewals.get() + 10);
      stop.set(true);
      oldNode.get(10, TimeUnit.SECONDS);
    } finally {
      stop.set(true);
      executor.shutdownNow();
    }
    assertThat(this.database.query("SELECT leader_id FROM leader_election")).isEqualTo("10.0.0.1");
    assertThat(this.database.query("SELECT lease_millis IS NULL FROM leader_election"))
        .isEqualTo("1");
    this.database.execute(
        "UPDATE leader_election SET last_active_time = now() - interval 60 second");
    try (Connection other = this.database.connect()) {
      electByHand(other, "10.0.0.2");
    }
    assertThat(this.database.query("SELECT leader_id FROM leader_election")).isEqualTo("10.0.0.2");
    assertThat(migrationsRun()).as("one DDL statement each").isEqualTo("2");
    assertThat(tables()).contains("leader_election_member");
    assertIsUsable();
  }

  @Test
  void aColumnDroppedAfterAnUpgradeIsNotMadeAgainEither() throws Exception {
    this.database.execute(HAND_MADE);
    migrate();
    this.database.execute("ALTER TABLE leader_election DROP COLUMN seal");

    ElectionSetupException refused = refused(SchemaMode.MIGRATE);

    assertThat(refused.found()).contains("they were dropped or changed");
    assertThat(refused.remedy()).contains("ADD COLUMN seal");
  }

  @Test
  void theFileInTheJarMakesWhatTheMigrationsMake() throws Exception {
    migrate();
    TestDatabase byFile = server().newDatabase().withTables();

    for (String table :
        List.of("leader_election", "leader_election_history", "leader_election_member")) {
      assertThat(definition(byFile, table)).isEqualTo(definition(this.database, table));
    }
  }

  private static String definition(TestDatabase database, String table) throws SQLException {
    try (Connection connection = database.connect();
        Statement statement = connection.createStatement();
        ResultSet rows = statement.executeQuery("SHOW CREATE TABLE " + table)) {
      rows.next();
      return rows.getString(2);
    }
  }

  @ParameterizedTest
  @MethodSource
  void tablesThatAreNotCompleteAreCompleted(String found, String lostMeanwhile) throws Exception {
    execute(found);
    if (!lostMeanwhile.isEmpty()) {
      migrate();
      execute(lostMeanwhile);
    }

    migrate();

    assertThat(tables()).contains("leader_election_member");
    assertIsUsable();
  }

  static Stream<Arguments> tablesThatAreNotCompleteAreCompleted() {
    return Stream.of(
        argumentSet(
            "after a start that failed half-way",
            HAND_MADE + ";\nALTER TABLE leader_election ADD COLUMN term bigint NOT NULL DEFAULT 0",
            ""),
        argumentSet("after a migration that Flyway has recorded as failed", "DO 0", FAILED),
        argumentSet("of a row format with short keys", SHORT_KEYS, ""),
        argumentSet(
            "of a row format with short keys at which an upgrade has failed",
            SHORT_KEYS,
            "DROP TABLE leader_election;\n" + SHORT_KEYS + """
            ;
            ALTER TABLE leader_election
                MODIFY last_active_time timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6);
            UPDATE leader_election_schema_history SET success = 0 WHERE version = '2'
            """),
        argumentSet(
            "compressed",
            SHORT_KEYS.replace("ROW_FORMAT=COMPACT", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8"),
            ""),
        argumentSet(
            "with a foreign column that has a default",
            HAND_MADE.replace("PRIMARY KEY", "remark varchar(10) NULL, PRIMARY KEY"),
            ""));
  }

  @Test
  void theHandMadeTableIsUpgradedFromAnyCollation() throws Exception {
    for (String collation : collations()) {
      this.database = server().newDatabase();
      this.database.execute(
          HAND_MADE.replace("CHARSET=utf8", "CHARSET=utf8mb4 COLLATE=" + collation));

      migrate();

      assertIsUsableByAllDrivers(collation);
    }
  }

  @Test
  void tablesInAnyOtherCollationAreRefusedWithTheirConversion() throws Exception {
    for (String collation : collations()) {
      for (List<String> tables : List.of(
          List.of(in(collation, MysqlTables.DDL.leases()), MysqlTables.DDL.history()),
          List.of(MysqlTables.DDL.leases(), in(collation, MysqlTables.DDL.history())),
          List.of(
              in(collation, MysqlTables.DDL.leases()), in(collation, MysqlTables.DDL.history())))) {
        this.database = server().newDatabase();
        tables.forEach(this.database::execute);

        for (ElectionSetupException refused = refusal(SchemaMode.VALIDATE);
            refused != null;
            refused = refusal(SchemaMode.VALIDATE)) {
          assertThat(refused.getMessage()).contains("utf8mb4_bin");
          execute(refused.remedy().substring(refused.remedy().indexOf("ALTER TABLE")));
        }

        assertIsUsableByAllDrivers(collation);
      }
    }
  }

  /** All collations that distinguish the names, and two that do not. */
  private List<String> collations() {
    String binary = this.database.query(
        "SELECT GROUP_CONCAT(collation_name) FROM information_schema.collations WHERE character_set_name = 'utf8mb4' AND collation_name LIKE '%\\_bin'");
    assertThat(binary).contains("utf8mb4_bin,").doesNotContain(" ");
    return List.of((binary + ",utf8mb4_general_ci,utf8mb4_unicode_ci").split(","));
  }

  private static String in(String collation, String ddl) {
    return ddl.replace("utf8mb4_bin", collation);
  }

  private void assertIsUsableByAllDrivers(String collation) throws Exception {
    for (String driver : List.of("mysql", "mariadb")) {
      this.database.execute("DELETE FROM leader_election", "DELETE FROM leader_election_history");
      String url = this.database.jdbcUrl(driver, "");
      try (LeaseStore store = store(this.database.dataSource(driver, ""), url)) {
        assertIsUsable(store);
        // The lease is unknown, so the history is read.
        this.database.execute("UPDATE leader_election SET lease_millis = NULL");
        assertThat(store.read(Set.of("case"))).as("%s, %s", collation, driver).hasSize(1);
        assertThat(store.designate("case", "third", null, ALICE)).isTrue();
      }
    }
  }

  @Test
  void theTableOfAnotherToolIsRefusedWithItsConversion() throws Exception {
    this.database.execute(OTHER_TOOLS);
    this.database.execute(
        "insert into leader_election (name, node, last_seen_active) values ('AS', 'host:8080:1', now())");

    ElectionSetupException refused = refused(SchemaMode.MIGRATE);

    assertThat(refused.found())
        .startsWith("The table leader_election belongs to another election tool")
        .contains("id int", "name varchar(128)", "node varchar(128)", "last_seen_active timestamp");
    assertThat(tables()).containsExactly("leader_election");

    execute(refused.remedy().substring(refused.remedy().indexOf("RENAME TABLE")));

    Database.schema(this.database, SchemaMode.VALIDATE).ensure();
    assertThat(this.database.query("SELECT leader_id FROM leader_election WHERE service_id='AS'"))
        .isEqualTo("host:8080:1");
    assertIsUsable();
  }

  @ParameterizedTest
  @MethodSource
  void aTableThatAnElectionCannotUseIsRefused(String table, String found, String remedy) {
    execute(table);

    ElectionSetupException refused = refused(SchemaMode.MIGRATE);

    assertThat(refused.found()).contains(found);
    assertThat(refused.remedy()).contains(remedy);
    assertThat(tables()).doesNotContain("leader_election_schema_history");
  }

  static Stream<Arguments> aTableThatAnElectionCannotUseIsRefused() {
    String leases = "CREATE TABLE leader_election (";
    return Stream.of(
        argumentSet(
            "any other table",
            "CREATE TABLE leader_election (a int PRIMARY KEY, b varchar(10))",
            "its primary key is (a), not (service_id); it has no service_id; it has no leader_id",
            "ALTER TABLE leader_election RENAME TO leader_election_old;"),
        argumentSet(
            "a view",
            "CREATE VIEW leader_election AS SELECT 'a' AS service_id, 'b' AS leader_id",
            "it is a VIEW",
            leases),
        argumentSet(
            "a unique key instead of the primary key",
            HAND_MADE.replace("PRIMARY KEY", "UNIQUE KEY"),
            "it has no primary key; add one by ALTER TABLE leader_election ADD PRIMARY KEY (service_id)",
            leases),
        argumentSet(
            "a history with a unique key instead of the primary key",
            MysqlTables.DDL.leases() + ";\n"
                + MysqlTables.DDL.history().replace("PRIMARY KEY", "UNIQUE KEY"),
            "add one by ALTER TABLE leader_election_history ADD PRIMARY KEY (service_id, term)",
            "CREATE TABLE leader_election_history ("),
        argumentSet(
            "without transactions",
            HAND_MADE.replace("InnoDB", "MyISAM"),
            "its engine is MyISAM, not InnoDB",
            leases),
        argumentSet(
            "a column of another type",
            HAND_MADE.replace("timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP", "int"),
            "last_active_time is int",
            leases),
        argumentSet(
            "a foreign column that every insert must name",
            HAND_MADE.replace("PRIMARY KEY", "remark varchar(10) NOT NULL, PRIMARY KEY"),
            "remark is unknown and has no default",
            leases),
        argumentSet(
            "a history that lacks columns",
            MysqlTables.DDL.leases() + ";\n" + MysqlTables.DDL.history()
                + ";\nALTER TABLE leader_election_history DROP end_reason, DROP ended_by, DROP end_note",
            "it has no end_reason; it has no ended_by; it has no end_note",
            "ALTER TABLE leader_election_history RENAME TO leader_election_history_old;"),
        argumentSet(
            "a history in another collation",
            MysqlTables.DDL.leases() + ";\n" + in("utf8mb4_general_ci", MysqlTables.DDL.history()),
            "The names in the table leader_election_history",
            "ALTER TABLE leader_election_history"));
  }

  @Test
  void aTableDroppedLaterIsNotMadeAgain() throws Exception {
    migrate();
    this.database.execute("DROP TABLE leader_election");

    ElectionSetupException refused = refused(SchemaMode.MIGRATE);

    assertThat(refused.found())
        .contains("see leader_election_schema_history", "they were dropped or changed");
    assertThat(refused.remedy()).contains("run:\nCREATE TABLE leader_election (");
    assertThat(tables())
        .containsExactly(
            "leader_election_history", "leader_election_member", "leader_election_schema_history");
    this.database.execute(MysqlTables.DDL.leases());
    migrate();
    assertIsUsable();
  }

  @Test
  void validateRefusesMissingTablesAndPrintsThem() {
    ElectionSetupException refused = refused(SchemaMode.VALIDATE);

    assertThat(refused.found())
        .startsWith("The tables of the election in 127.0.0.1:")
        .contains("as.election.mysql.schema=validate does not change them");
    assertThat(refused.remedy())
        .startsWith("Run this, or set as.election.mysql.schema=migrate:")
        .contains("CREATE TABLE leader_election (", "CREATE TABLE leader_election_history (");
    assertThat(tables()).isEmpty();
  }

  @Test
  void validateAdvisesToMigrateOnlyWhereThatWorks() throws Exception {
    this.database.execute(MysqlTables.DDL.history());
    assertThat(refused(SchemaMode.VALIDATE).remedy()).contains(".schema=migrate");
    migrate();
    this.database.execute("DROP TABLE leader_election");
    assertThat(refused(SchemaMode.VALIDATE).remedy())
        .startsWith("Run this:\nCREATE TABLE leader_election (");
    assertThat(refused(SchemaMode.MIGRATE).found()).contains("they were dropped or changed");
  }

  @Test
  void validatePrintsWhatTheHandMadeTableLacks() throws Exception {
    this.database.execute(HAND_MADE);

    ElectionSetupException refused = refused(SchemaMode.VALIDATE);

    assertThat(refused.remedy())
        .contains("ADD COLUMN term", "ADD COLUMN version", "ADD COLUMN lease_millis");
    execute(refused.remedy().substring(refused.remedy().indexOf('\n')));
    Database.schema(this.database, SchemaMode.VALIDATE).ensure();
    assertIsUsable();
  }

  @Test
  void noStartFailsForLackOfTheMembers() throws Exception {
    this.database.execute(MysqlTables.DDL.leases(), MysqlTables.DDL.history());
    Database.schema(this.database, SchemaMode.VALIDATE).ensure();
    schemaOf(this.database.newLeastPrivilegedUser()).ensure();
    assertThat(tables()).containsExactly("leader_election", "leader_election_history");

    migrate();
    this.database.execute("DROP TABLE leader_election_member");
    // Flyway has run that migration.
    migrate();
    assertThat(tables()).doesNotContain("leader_election_member");
    assertIsUsable();
  }

  @Test
  void noneDoesNotLook() throws Exception {
    Database.schema(NOWHERE, NOWHERE.url(), SchemaMode.NONE).ensure();
    Database.schema(this.database, SchemaMode.NONE).ensure();

    assertThat(tables()).isEmpty();
  }

  @Test
  void aUserWithoutDdlRightsIsToldWhatToRun() {
    String user = this.database.newLeastPrivilegedUser();

    ElectionSetupException refused =
        catchThrowableOfType(ElectionSetupException.class, () -> schemaOf(user).ensure());

    assertThat(refused.found())
        .contains(
            "the database user may not create them", "CREATE command denied to user '" + user);
    assertThat(refused.remedy())
        .contains(
            "Grant it SELECT, INSERT, UPDATE, DELETE, CREATE and ALTER",
            "as.election.mysql.schema=validate",
            "CREATE TABLE leader_election (",
            "CREATE TABLE leader_election_history (");
  }

  @Test
  void eachOfTheDocumentedGrantsIsNeededToUseTheTablesAndNoOther() throws Exception {
    assertThat(problemOfUser(USE, USE)).isNull();
    for (String grant : USE) {
      assertThat(problemOfUser(without(USE, grant), USE)).as(grant).contains("denied");
      assertThat(problemOfUser(USE, without(USE, grant))).as(grant).contains("denied");
    }
  }

  @Test
  @Tag("long")
  void eachOfTheDocumentedGrantsIsNeededToMakeTheTablesAndNoOther() throws Exception {
    assertThat(problemOfMaker(MAKE)).isNull();
    for (String grant : MAKE) {
      assertThat(problemOfMaker(without(MAKE, grant))).as("without %s", grant).contains("denied");
    }
  }

  @Test
  void theRightToDeleteIsNeededToPruneTheHistoryAndForNothingElse() throws Exception {
    assertThat(termsLeftByUser(List.of("SELECT", "INSERT", "UPDATE", "DELETE"))).isEqualTo("2");
    assertThat(termsLeftByUser(USE)).isEqualTo("1,2");
  }

  private String termsLeftByUser(List<String> history) throws Exception {
    TestDatabase database = server().newDatabase().withTables();
    try (LeaseStore store =
        store(database.dataSourceOf(newUser(database, USE, history)), database.jdbcUrl())) {
      assertIsUsable(store);
      database.execute(
          "UPDATE leader_election_history SET ended_at = ended_at - INTERVAL 2 DAY WHERE service_id = 'case' AND term = 1");
      ((ElectionDirectory) store).prune(Map.of("case", 2L), Duration.ofDays(1));
      ((ElectionDirectory) store).prune(Map.of("case", 2L), Duration.ofDays(1));
      assertThat(Leases.renew(store, "other", Map.of("case", 2L))).containsExactly("case");
    }
    return database.query(
        "SELECT GROUP_CONCAT(term ORDER BY term) FROM leader_election_history WHERE service_id = BINARY 'case'");
  }

  private static String newUser(TestDatabase database, List<String> leases, List<String> history) {
    return Database.newUser(
        database,
        String.join(", ", leases) + " ON %s.leader_election",
        String.join(", ", history) + " ON %s.leader_election_history");
  }

  /** The problem of a user with these privileges on the two tables, if there is one. */
  private @Nullable String problemOfUser(List<String> leases, List<String> history)
      throws Exception {
    TestDatabase database = server().newDatabase().withTables();
    return problem(database, newUser(database, leases, history), SchemaMode.VALIDATE);
  }

  /** The problem of a user with these privileges who makes, upgrades or repairs the tables. */
  private @Nullable String problemOfMaker(List<String> grants) throws Exception {
    TestDatabase empty = server().newDatabase();
    TestDatabase handMade = server().newDatabase();
    handMade.execute(HAND_MADE);
    TestDatabase failed = server().newDatabase();
    Database.schema(failed, SchemaMode.MIGRATE).ensure();
    failed.execute(FAILED.strip().split(";"));
    for (TestDatabase database : List.of(empty, handMade, failed)) {
      String user = Database.newUser(database, String.join(", ", grants) + " ON %s.*");
      String problem = problem(database, user, SchemaMode.MIGRATE);
      if (problem != null) {
        return problem;
      }
    }
    return null;
  }

  /** The problem of a user; {@code null} if the user can do all that the election ever does. */
  private static @Nullable String problem(TestDatabase database, String user, SchemaMode mode)
      throws Exception {
    DataSource dataSource = database.dataSourceOf(user);
    try (LeaseStore store = store(dataSource, database.jdbcUrl())) {
      Database.schema(dataSource, database.jdbcUrl(), mode).ensure();
      assertIsUsable(store);
      TermEnd asked = new TermEnd(LeadershipLostEvent.Reason.HANDED_OVER, ALICE);
      assertThat(Leases.renew(store, "other", Map.of("case", 2L))).containsExactly("case");
      assertThat(Leases.renew(store, "other", Map.of("case", 2L, "lost", 1L)))
          .containsExactly("case");
      assertThat(((ElectionDirectory) store).history(Set.of("case")).get("case"))
          .extracting(PastTerm::leaderId)
          .containsExactly("other", "node");
      assertThat(store.designate("case", "third", null, ALICE)).isTrue();
      assertThat(store.designate("case", "other", null, null)).isTrue();
      assertThat(store.release("case", "other", 2, "", asked)).isTrue();
      return null;
    } catch (LeaseStoreException | ElectionSetupException ex) {
      return ex.getMessage();
    }
  }

  private static List<String> without(List<String> grants, String grant) {
    return grants.stream().filter((other) -> !other.equals(grant)).toList();
  }

  @Test
  void onlyWhatCannotPassIsAReasonToEndTheStart() {
    String url = this.database.jdbcUrl();
    assertFails(
        LeaseStoreException.class,
        new TestDataSource(url, "nobody", "s3cr3t"),
        "refuses the user (Access denied for user 'nobody'");
    assertFails(LeaseStoreException.class, NOWHERE, "127.0.0.1:1/app cannot be reached");
    assertFails(
        ElectionSetupException.class,
        new TestDataSource(
            url.replace("/" + this.database.name(), "/"), "root", this.database.password()),
        "names no database");
    assertFails(
        LeaseStoreException.class,
        new TestDataSource(
            url.replace(this.database.name(), "nowhere"), "root", this.database.password()),
        "The database does not exist: 127.0.0.1:%d/nowhere".formatted(server().port()));
  }

  private static void assertFails(
      Class<? extends Throwable> type, TestDataSource source, String message) {
    assertThatThrownBy(
            () -> Database.schema(source, source.url(), SchemaMode.MIGRATE).ensure())
        .isInstanceOf(type)
        .hasMessageContaining(message)
        .hasMessageNotContaining("s3cr3t");
  }

  @Test
  void theStoreGoesOnRefusingATableOfAnotherShape() {
    this.database.execute(OTHER_TOOLS);
    try (LeaseStore store = store(this.database.dataSource(), this.database.jdbcUrl())) {
      assertThatThrownBy(() -> store.read(Set.of("AS")))
          .isInstanceOf(LeaseStoreException.class)
          .hasMessageContaining("another election tool");
    }
  }

  private void migrate() throws LeaseStoreException {
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
  }

  private LeaderElectionSchema schemaOf(String user) {
    return Database.schema(
        this.database.dataSourceOf(user), this.database.jdbcUrl(), SchemaMode.MIGRATE);
  }

  private static LeaseStore store(DataSource dataSource, String url) {
    return Database.store(dataSource, url, SchemaMode.VALIDATE, Database.OPERATION_TIMEOUT);
  }

  private void execute(String statements) {
    this.database.execute(statements.strip().split(";\\s*\n|;$"));
  }

  private @Nullable ElectionSetupException refusal(SchemaMode mode) {
    return catchThrowableOfType(
        ElectionSetupException.class, () -> Database.schema(this.database, mode).ensure());
  }

  private ElectionSetupException refused(SchemaMode mode) {
    ElectionSetupException refused = Objects.requireNonNull(refusal(mode), "no refusal");
    assertThat(refused).hasMessage(refused.found() + "\n" + refused.remedy());
    return refused;
  }

  private void assertIsUsable() throws Exception {
    try (LeaseStore store = store(this.database.dataSource(), this.database.jdbcUrl())) {
      assertIsUsable(store);
    }
  }

  private static void assertIsUsable(LeaseStore store) throws Exception {
    LeaseRow lower = Leases.create(store, "case", "node", 1000, 0).orElseThrow();
    assertThat(Leases.create(store, "CASE", "node", 1000, 0)).isPresent();
    assertThat(Leases.begin(store, "case", lower, 1000)).isPresent();
    LeaseRow led = Database.row(store, "case");
    assertThat(LeaseRows.Version.of(led).lastActiveMicros()).isPositive();
    assertThat(Leases.acquire(store, "case", led, "other", 1000, 0, "EXPIRED")).hasValue(2);
  }

  private void electByHand(AtomicBoolean stop, AtomicInteger renewals) {
    try (Connection connection = this.database.connect()) {
      while (!stop.get()) {
        electByHand(connection, "10.0.0.1");
        renewals.incrementAndGet();
      }
    } catch (SQLException ex) {
      throw new IllegalStateException("the hand-made statement failed", ex);
    }
  }

  private static void electByHand(Connection connection, String node) throws SQLException {
    try (PreparedStatement statement = connection.prepareStatement(HandWrittenLease.ATTEMPT)) {
      statement.setString(1, "AutoScaling");
      statement.setString(2, node);
      statement.setInt(3, 5);
      statement.executeUpdate();
    }
  }

  private static void awaitRenewals(AtomicInteger renewals, int count) {
    Awaitility.await().until(() -> renewals.get() >= count);
  }

  private List<String> tables() {
    String names = this.database.query(
        "SELECT GROUP_CONCAT(table_name ORDER BY table_name) FROM information_schema.tables WHERE table_schema = DATABASE()");
    return names == null ? List.of() : List.of(names.toLowerCase(Locale.ROOT).split(","));
  }

  private String migrationsRun() {
    return this.database.query(
        "SELECT COUNT(*) FROM leader_election_schema_history WHERE success = 1 AND version <> '0'");
  }
}
