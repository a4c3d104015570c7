package io.election.mysql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowableOfType;

import io.election.ElectionSetupException;
import io.election.HistoryEntry;
import io.election.Instruction;
import io.election.LeadershipLostEvent;
import io.election.lease.ElectionDirectory;
import io.election.lease.Ending;
import io.election.lease.LeaseRow;
import io.election.lease.LeaseStore;
import io.election.lease.LeaseStoreException;
import io.election.mysql.MysqlLeaseStore.SchemaMode;
import io.election.test.Leases;
import io.election.test.TestDataSource;
import io.election.test.TestDatabase;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.flywaydb.core.Flyway;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/** Tests the schema on one server. */
@OnEveryServer
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
  private static final String SHORT_KEYS = """
      CREATE TABLE leader_election (
          service_id varchar(255) NOT NULL,
          leader_id varchar(255) NOT NULL,
          last_active_time timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP,
          PRIMARY KEY (service_id)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8 ROW_FORMAT=COMPACT
      """;

  /**
   * The statement that each node runs against the hand-made table, verbatim except for the two
   * parameters.
   */
  private static final String HAND_MADE_ELECTION =
      "insert ignore into leader_election(service_id, leader_id, last_active_time) values('AutoScaling', '%s', now()) on duplicate key update leader_id = if(last_active_time <= now() - interval %d second, values(leader_id), leader_id), last_active_time = if(leader_id = values(leader_id), values(last_active_time), last_active_time)";

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

  /** A history table of an unreleased version, which could not record why a term ended. */
  private static final String FIRST_HISTORY = """
      CREATE TABLE leader_election_history (
          service_id   varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
          term         bigint NOT NULL,
          leader_id    varchar(128) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin NOT NULL,
          lease_millis bigint NULL,
          elected_at   timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6),
          ended_at     timestamp(6) NULL DEFAULT NULL,
          reason       varchar(255) NULL,
          PRIMARY KEY (service_id, term)
      ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin
      """;

  private static final Instruction ALICE = new Instruction("alice", "canary");

  /**
   * The privileges that docs/operations.md requires on both tables if somebody else creates them.
   */
  private static final List<String> USE = List.of("SELECT", "INSERT", "UPDATE");

  /**
   * The privileges that docs/operations.md requires on the database if the election creates the
   * tables.
   */
  private static final List<String> MAKE =
      List.of("SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "ALTER");

  @Override
  @BeforeEach
  void newDatabase() {
    this.database = server().newDatabase();
  }

  @Test
  void an_empty_database_gets_all_tables() throws Exception {
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();

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
  void complete_tables_are_left_alone_without_flyway() throws Exception {
    Database.withTables(this.database);

    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
    Database.schema(this.database, SchemaMode.VALIDATE).ensure();

    assertThat(tables())
        .containsExactly("leader_election", "leader_election_history", "leader_election_member");
  }

  @Test
  void migrating_again_does_nothing() throws Exception {
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();

    assertThat(migrationsRun()).isEqualTo("1");
  }

  @Test
  void a_schema_that_is_not_empty_gets_the_tables_too() throws Exception {
    this.database.execute("CREATE TABLE customer (id int PRIMARY KEY)");

    Database.schema(this.database, SchemaMode.MIGRATE).ensure();

    assertThat(tables()).contains("customer", "leader_election", "leader_election_history");
    assertIsUsable();
  }

  @Test
  void an_application_with_its_own_flyway_is_not_disturbed() throws Exception {
    Flyway application = Flyway.configure()
        .dataSource(this.database.dataSource())
        .locations("classpath:db/migration")
        .load();
    application.migrate();

    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
    application.migrate();

    assertThat(this.database.query("SELECT COUNT(*) FROM flyway_schema_history"))
        .isEqualTo("1");
    assertThat(migrationsRun()).isEqualTo("1");
    assertIsUsable();
  }

  @Test
  void nodes_that_start_at_once_on_an_empty_schema_all_succeed() throws Exception {
    int nodes = 6;
    CountDownLatch start = new CountDownLatch(1);
    ExecutorService executor = Executors.newFixedThreadPool(nodes);
    try {
      List<Future<Boolean>> starts = new ArrayList<>();
      for (int i = 0; i < nodes; i++) {
        LeaderElectionSchema schema = Database.schema(this.database, SchemaMode.MIGRATE);
        starts.add(executor.submit(() -> {
          start.await();
          schema.ensure();
          return true;
        }));
      }
      start.countDown();
      for (Future<Boolean> node : starts) {
        assertThat(node.get(60, TimeUnit.SECONDS)).isTrue();
      }
    } finally {
      executor.shutdownNow();
    }
    assertIsUsable();
  }

  @Test
  void the_hand_made_table_is_upgraded_in_place_under_its_running_statements() throws Exception {
    this.database.execute(HAND_MADE);
    AtomicBoolean stop = new AtomicBoolean();
    AtomicInteger renewals = new AtomicInteger();
    ExecutorService executor = Executors.newSingleThreadExecutor();
    try {
      Future<?> oldNode = executor.submit(() -> electByHand("10.0.0.1", 5, stop, renewals));
      awaitRenewals(renewals, 10);

      Database.schema(this.database, SchemaMode.MIGRATE).ensure();

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
    assertThat(migrationsRun()).as("one DDL statement each").isEqualTo("8");
    assertThat(tables()).contains("leader_election_member");
    assertIsUsable();
  }

  @Test
  void a_table_dropped_after_an_upgrade_is_not_made_again_either() throws Exception {
    this.database.execute(HAND_MADE);
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
    this.database.execute("DROP TABLE leader_election_history");

    assertThat(refused(SchemaMode.MIGRATE).found()).contains("somebody dropped or changed them");
  }

  @Test
  void the_history_of_an_unreleased_version_is_refused_with_what_is_expected() {
    this.database.execute(LeaseTables.CREATE_LEASES, FIRST_HISTORY);

    ElectionSetupException refused = refused(SchemaMode.MIGRATE);

    assertThat(refused.found())
        .contains("it has no end_reason; it has no ended_by; it has no end_note");
    assertThat(refused.remedy())
        .contains("RENAME TABLE leader_election_history TO leader_election_history_old;")
        .contains("CREATE TABLE leader_election_history (");
  }

  /** Flyway has run migrations with other contents under these numbers there. */
  @Test
  void tables_of_an_unreleased_version_are_not_made_to_look_complete() {
    Database.withTables(this.database);
    this.database.execute("ALTER TABLE leader_election DROP COLUMN seal");
    SchemaMigrator.run(new ElectionDatabase(this.database.dataSource(), null), true);
    this.database.execute(
        "ALTER TABLE leader_election DROP COLUMN seal",
        "UPDATE leader_election_schema_history SET description = CONCAT('former ', description)");

    ElectionSetupException refused = refused(SchemaMode.MIGRATE);

    assertThat(refused.found()).contains("somebody dropped or changed them");
    assertThat(refused.remedy()).contains("ADD COLUMN seal");
  }

  @Test
  void the_file_in_the_jar_makes_what_the_migrations_make() throws Exception {
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
    TestDatabase byFile = server().newDatabase();
    byFile.execute(LeaseTablesTest.file().split(";\\s*\n|;$"));

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

  @Test
  void the_hand_made_statement_takes_over_from_a_dead_leader_of_ours_as_before() throws Exception {
    this.database.execute(HAND_MADE);
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
    try (LeaseStore store = Database.store(this.database)) {
      LeaseRow created = Leases.create(store, "AutoScaling", "ours", 1000, 0).orElseThrow();
      this.database.execute(
          "UPDATE leader_election SET last_active_time = now() - interval 60 second");

      this.database.execute(HAND_MADE_ELECTION.formatted("10.0.0.1", 5));

      LeaseRow row = store.read(Set.of("AutoScaling")).get("AutoScaling").row();
      assertThat(row.leaderId()).isEqualTo("10.0.0.1");
      assertThat(row.term()).isEqualTo(created.term());
      assertThat(Leases.lead(store, "AutoScaling", created, 1000)).isFalse();
    }
  }

  @Test
  void a_start_that_failed_half_way_is_mended_by_the_next() throws Exception {
    this.database.execute(HAND_MADE);
    this.database.execute("ALTER TABLE leader_election ADD COLUMN term bigint NOT NULL DEFAULT 0");

    Database.schema(this.database, SchemaMode.MIGRATE).ensure();

    assertIsUsable();
  }

  @Test
  void a_migration_that_flyway_has_recorded_as_failed_is_run_again() throws Exception {
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
    this.database.execute(
        "DROP TABLE leader_election_history",
        "UPDATE leader_election_schema_history SET success = 0 WHERE version = '1'");

    Database.schema(this.database, SchemaMode.MIGRATE).ensure();

    assertIsUsable();
  }

  @Test
  void a_table_of_a_row_format_with_short_keys_is_upgraded() throws Exception {
    this.database.execute(SHORT_KEYS);

    Database.schema(this.database, SchemaMode.MIGRATE).ensure();

    assertIsUsable();
  }

  @Test
  void an_upgrade_that_failed_at_a_row_format_with_short_keys_is_mended_by_the_next_start()
      throws Exception {
    this.database.execute(SHORT_KEYS);
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
    this.database.execute(
        "DROP TABLE leader_election",
        SHORT_KEYS,
        "ALTER TABLE leader_election MODIFY last_active_time timestamp(6) NOT NULL DEFAULT CURRENT_TIMESTAMP(6)",
        "DELETE FROM leader_election_schema_history WHERE version + 0 > 3",
        "UPDATE leader_election_schema_history SET success = 0 WHERE version = '3'");

    Database.schema(this.database, SchemaMode.MIGRATE).ensure();

    assertIsUsable();
  }

  @Test
  void a_compressed_table_is_upgraded() throws Exception {
    this.database.execute(
        SHORT_KEYS.replace("ROW_FORMAT=COMPACT", "ROW_FORMAT=COMPRESSED KEY_BLOCK_SIZE=8"));

    Database.schema(this.database, SchemaMode.MIGRATE).ensure();

    assertIsUsable();
  }

  @Test
  void the_hand_made_table_is_upgraded_from_another_collation() throws Exception {
    upgradeFrom(List.of("utf8mb4_unicode_ci"));
  }

  @Test
  @Tag("faults")
  void the_hand_made_table_is_upgraded_from_any_collation() throws Exception {
    upgradeFrom(collations());
  }

  private void upgradeFrom(List<String> collations) throws Exception {
    for (String collation : collations) {
      this.database = server().newDatabase();
      this.database.execute(
          HAND_MADE.replace("CHARSET=utf8", "CHARSET=utf8mb4 COLLATE=" + collation));

      Database.schema(this.database, SchemaMode.MIGRATE).ensure();

      assertIsUsableByAllDrivers(collation);
    }
  }

  @Test
  void tables_in_another_collation_are_refused_with_their_conversion() throws Exception {
    refuseAndConvert(List.of("utf8mb4_general_ci"));
  }

  @Test
  @Tag("faults")
  void tables_in_any_other_collation_are_refused_with_their_conversion() throws Exception {
    refuseAndConvert(collations());
  }

  private void refuseAndConvert(List<String> collations) throws Exception {
    for (String collation : collations) {
      for (List<String> tables : List.of(
          List.of(in(collation, LeaseTables.CREATE_LEASES), LeaseTables.CREATE_HISTORY),
          List.of(LeaseTables.CREATE_LEASES, in(collation, LeaseTables.CREATE_HISTORY)),
          List.of(
              in(collation, LeaseTables.CREATE_LEASES),
              in(collation, LeaseTables.CREATE_HISTORY)))) {
        this.database = server().newDatabase();
        tables.forEach(this.database::execute);

        for (ElectionSetupException refused = refusal(SchemaMode.VALIDATE);
            refused != null;
            refused = refusal(SchemaMode.VALIDATE)) {
          assertThat(refused.getMessage()).contains("utf8mb4_bin");
          String sql = refused.remedy().substring(refused.remedy().indexOf("ALTER TABLE"));
          this.database.execute(sql.split(";\\s*\n|;$"));
        }

        assertIsUsableByAllDrivers(collation);
      }
    }
  }

  @Test
  void a_history_in_another_collation_is_refused_by_a_start_that_migrates_too() {
    this.database.execute(
        LeaseTables.CREATE_LEASES, in("utf8mb4_general_ci", LeaseTables.CREATE_HISTORY));

    ElectionSetupException refused = refused(SchemaMode.MIGRATE);

    assertThat(refused.found())
        .startsWith("The names in the table leader_election_history")
        .contains("service_id varchar(128)");
    assertThat(refused.remedy()).contains("ALTER TABLE leader_election_history");
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

  private @Nullable ElectionSetupException refusal(SchemaMode mode) throws LeaseStoreException {
    try {
      Database.schema(this.database, mode).ensure();
      return null;
    } catch (ElectionSetupException refused) {
      return refused;
    }
  }

  private void assertIsUsableByAllDrivers(String collation) throws Exception {
    for (String driver : List.of("mysql", "mariadb")) {
      this.database.execute("DELETE FROM leader_election", "DELETE FROM leader_election_history");
      String url = this.database.jdbcUrl(driver, "");
      TestDataSource dataSource =
          new TestDataSource(url, this.database.username(), this.database.password());
      try (LeaseStore store =
          Database.store(dataSource, url, SchemaMode.VALIDATE, Database.OPERATION_TIMEOUT)) {
        assertIsUsable(store);
        // The lease is unknown, so the history is read.
        this.database.execute("UPDATE leader_election SET lease_millis = NULL");
        assertThat(store.read(Set.of("case"))).as("%s, %s", collation, driver).hasSize(1);
        assertThat(store.designate("case", "third", ALICE)).isTrue();
      }
    }
  }

  @Test
  void the_table_of_another_tool_is_refused_with_its_conversion() throws Exception {
    this.database.execute(OTHER_TOOLS);
    this.database.execute(
        "insert into leader_election (name, node, last_seen_active) values ('AS', 'host:8080:1', now())");

    ElectionSetupException refused = refused(SchemaMode.MIGRATE);

    assertThat(refused.found())
        .startsWith("The table leader_election is that of another election tool")
        .contains("id int", "name varchar(128)", "node varchar(128)", "last_seen_active timestamp");
    assertThat(tables()).containsExactly("leader_election");

    String sql = refused.remedy().substring(refused.remedy().indexOf("RENAME TABLE"));
    this.database.execute(sql.split(";\\s*\n|;$"));

    Database.schema(this.database, SchemaMode.VALIDATE).ensure();
    assertThat(this.database.query("SELECT leader_id FROM leader_election WHERE service_id='AS'"))
        .isEqualTo("host:8080:1");
    assertIsUsable();
  }

  @Test
  void any_other_table_of_that_name_is_refused_with_its_columns() {
    this.database.execute("CREATE TABLE leader_election (a int PRIMARY KEY, b varchar(10))");

    ElectionSetupException refused = refused(SchemaMode.MIGRATE);

    assertThat(refused.found())
        .contains(
            "leader_election has another shape",
            "its primary key is (a), not (service_id)",
            "it has no service_id; it has no leader_id; it has no last_active_time",
            "Found the columns a int",
            "b varchar(10)");
    assertThat(refused.remedy())
        .contains(
            "RENAME TABLE leader_election TO leader_election_old;",
            "service_id       varchar(128)");
    assertThat(tables()).containsExactly("leader_election");
  }

  @Test
  void a_view_of_that_name_is_refused() {
    this.database.execute(
        "CREATE VIEW leader_election AS SELECT 'a' AS service_id, 'b' AS leader_id");

    assertThat(refused(SchemaMode.MIGRATE).found()).contains("it is a VIEW");
  }

  @Test
  void a_table_without_transactions_is_refused() {
    this.database.execute(HAND_MADE.replace("InnoDB", "MyISAM"));

    assertThat(refused(SchemaMode.MIGRATE).found()).contains("its engine is MyISAM, not InnoDB");
  }

  @Test
  void a_column_of_another_type_is_refused() {
    this.database.execute(HAND_MADE.replace("timestamp NOT NULL DEFAULT CURRENT_TIMESTAMP", "int"));

    assertThat(refused(SchemaMode.MIGRATE).found()).contains("last_active_time is int");
  }

  @Test
  void a_foreign_column_that_every_insert_must_name_is_refused() {
    this.database.execute(
        HAND_MADE.replace("PRIMARY KEY", "remark varchar(10) NOT NULL, PRIMARY KEY"));

    assertThat(refused(SchemaMode.MIGRATE).found())
        .contains("remark is not ours and has no default");
  }

  @Test
  void a_foreign_column_with_a_default_is_accepted() throws Exception {
    this.database.execute(HAND_MADE.replace("PRIMARY KEY", "remark varchar(10) NULL, PRIMARY KEY"));

    Database.schema(this.database, SchemaMode.MIGRATE).ensure();

    assertIsUsable();
  }

  @Test
  void a_table_dropped_later_is_not_made_again() throws Exception {
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
    this.database.execute("DROP TABLE leader_election");

    ElectionSetupException refused = refused(SchemaMode.MIGRATE);

    assertThat(refused.found())
        .contains("leader_election_schema_history says so", "somebody dropped or changed them");
    assertThat(refused.remedy()).contains("run:\nCREATE TABLE leader_election (");
    assertThat(tables())
        .containsExactly(
            "leader_election_history", "leader_election_member", "leader_election_schema_history");
    this.database.execute(LeaseTables.CREATE_LEASES);
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
    assertIsUsable();
  }

  @Test
  void validate_refuses_missing_tables_and_prints_them() {
    ElectionSetupException refused = refused(SchemaMode.VALIDATE);

    assertThat(refused.found())
        .startsWith("The tables of the election in 127.0.0.1:")
        .contains("as.election.mysql.schema=validate leaves them to you");
    assertThat(refused.remedy())
        .startsWith("Run this, or set as.election.mysql.schema=migrate:")
        .contains("CREATE TABLE leader_election (", "CREATE TABLE leader_election_history (");
    assertThat(tables()).isEmpty();
  }

  @Test
  void validate_prints_what_the_hand_made_table_lacks() throws Exception {
    this.database.execute(HAND_MADE);

    ElectionSetupException refused = refused(SchemaMode.VALIDATE);

    assertThat(refused.remedy())
        .contains("ADD COLUMN term", "ADD COLUMN version", "ADD COLUMN lease_millis");
    String sql = refused.remedy().substring(refused.remedy().indexOf('\n'));
    this.database.execute(sql.split(";\\s*\n|;$"));
    Database.schema(this.database, SchemaMode.VALIDATE).ensure();
    assertIsUsable();
  }

  @Test
  void tables_that_were_made_before_there_were_members_get_them() throws Exception {
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
    this.database.execute("DROP TABLE leader_election_member");

    Database.schema(this.database, SchemaMode.MIGRATE).ensure();

    assertThat(tables()).contains("leader_election_member");
    assertThat(migrationsRun()).isEqualTo("8");
    assertIsUsable();
  }

  @Test
  void no_start_fails_for_lack_of_the_members() throws Exception {
    this.database.execute(LeaseTables.CREATE_LEASES, LeaseTables.CREATE_HISTORY);
    Database.schema(this.database, SchemaMode.VALIDATE).ensure();
    String user = this.database.newLeastPrivilegedUser();
    Database.schema(as(user), this.database.jdbcUrl(), SchemaMode.MIGRATE).ensure();
    assertThat(tables()).containsExactly("leader_election", "leader_election_history");

    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
    this.database.execute("DROP TABLE leader_election_member");
    // Flyway has run that migration.
    Database.schema(this.database, SchemaMode.MIGRATE).ensure();
    assertThat(tables()).doesNotContain("leader_election_member");
    assertIsUsable();
  }

  @Test
  void none_does_not_look() throws Exception {
    Database.schema(
            new TestDataSource("jdbc:mysql://127.0.0.1:1/app", "u", "p"),
            "jdbc:mysql://127.0.0.1:1/app",
            SchemaMode.NONE)
        .ensure();
    Database.schema(this.database, SchemaMode.NONE).ensure();

    assertThat(tables()).isEmpty();
  }

  @Test
  void a_user_without_ddl_rights_is_told_what_to_run() {
    String user = this.database.newLeastPrivilegedUser();

    ElectionSetupException refused = catchThrowableOfType(
        ElectionSetupException.class,
        () -> Database.schema(as(user), this.database.jdbcUrl(), SchemaMode.MIGRATE)
            .ensure());

    assertThat(refused.found())
        .contains("the database user may not make them", "CREATE command denied to user '" + user);
    assertThat(refused.remedy())
        .contains(
            "Grant it SELECT, INSERT, UPDATE, DELETE, CREATE and ALTER",
            "as.election.mysql.schema=validate",
            "CREATE TABLE leader_election (",
            "CREATE TABLE leader_election_history (");
  }

  @Test
  void a_user_without_ddl_rights_can_use_complete_tables() throws Exception {
    Database.withTables(this.database);
    String user = this.database.newUser(
        "narrow_" + this.database.name(),
        "SELECT, INSERT, UPDATE ON " + this.database.name() + ".leader_election",
        "SELECT, INSERT, UPDATE ON " + this.database.name() + ".leader_election_history");

    Database.schema(as(user), this.database.jdbcUrl(), SchemaMode.MIGRATE).ensure();
    Database.schema(as(user), this.database.jdbcUrl(), SchemaMode.VALIDATE).ensure();

    try (LeaseStore store = Database.store(
        as(user), this.database.jdbcUrl(), SchemaMode.VALIDATE, Database.OPERATION_TIMEOUT)) {
      assertIsUsable(store);
    }
  }

  @Test
  void each_of_the_documented_grants_is_needed_to_use_the_tables_and_no_other() throws Exception {
    assertThat(problemOfUser(USE, USE)).isNull();
    for (String table : List.of("leader_election", "leader_election_history")) {
      for (String grant : USE) {
        List<String> less = without(USE, grant);
        assertThat(
                table.equals("leader_election")
                    ? problemOfUser(less, USE)
                    : problemOfUser(USE, less))
            .as("without %s on %s", grant, table)
            .contains("denied");
      }
    }
  }

  @Test
  @Tag("faults")
  void each_of_the_documented_grants_is_needed_to_make_the_tables_and_no_other() throws Exception {
    assertThat(problemOfMaker(MAKE)).isNull();
    for (String grant : MAKE) {
      assertThat(problemOfMaker(without(MAKE, grant))).as("without %s", grant).contains("denied");
    }
  }

  @Test
  void the_right_to_delete_is_needed_to_prune_the_history_and_for_nothing_else() throws Exception {
    List<String> more = List.of("SELECT", "INSERT", "UPDATE", "DELETE");
    assertThat(termsLeftByUser(more)).isEqualTo("2");
    assertThat(termsLeftByUser(USE)).isEqualTo("1,2");
  }

  private String termsLeftByUser(List<String> history) throws Exception {
    TestDatabase database = Database.withTables(server().newDatabase());
    String user = database.newUser(
        "pruner_of_" + database.name(),
        String.join(", ", USE) + " ON " + database.name() + ".leader_election",
        String.join(", ", history) + " ON " + database.name() + ".leader_election_history");
    TestDataSource dataSource = new TestDataSource(database.jdbcUrl(), user, database.password());
    try (LeaseStore store = Database.store(
        dataSource, database.jdbcUrl(), SchemaMode.VALIDATE, Database.OPERATION_TIMEOUT)) {
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

  /**
   * The problem of a user with these privileges on the two tables; {@code null} if the user can
   * take part.
   */
  private @Nullable String problemOfUser(List<String> leases, List<String> history)
      throws Exception {
    TestDatabase database = Database.withTables(server().newDatabase());
    String user = database.newUser(
        "user_of_" + database.name(),
        String.join(", ", leases) + " ON " + database.name() + ".leader_election",
        String.join(", ", history) + " ON " + database.name() + ".leader_election_history");
    return problem(database, user, SchemaMode.VALIDATE);
  }

  /**
   * The problem of a user with these privileges; {@code null} if the user can create, upgrade and
   * repair the tables.
   */
  private @Nullable String problemOfMaker(List<String> grants) throws Exception {
    for (String found : List.of("nothing", "the hand-made table", "a migration that failed")) {
      TestDatabase database = server().newDatabase();
      if (found.equals("the hand-made table")) {
        database.execute(HAND_MADE);
      } else if (found.equals("a migration that failed")) {
        Database.schema(database, SchemaMode.MIGRATE).ensure();
        database.execute(
            "DROP TABLE leader_election_history",
            "UPDATE leader_election_schema_history SET success = 0 WHERE version = '1'");
      }
      String user = database.newUser(
          "maker_of_" + database.name(),
          String.join(", ", grants) + " ON " + database.name() + ".*");
      String problem = problem(database, user, SchemaMode.MIGRATE);
      if (problem != null) {
        return "found " + found + ": " + problem;
      }
    }
    return null;
  }

  /** The problem of a user; {@code null} if the user can do all that the election ever does. */
  private static @Nullable String problem(TestDatabase database, String user, SchemaMode mode)
      throws Exception {
    TestDataSource dataSource = new TestDataSource(database.jdbcUrl(), user, database.password());
    try (LeaseStore store =
        Database.store(dataSource, database.jdbcUrl(), mode, Database.OPERATION_TIMEOUT)) {
      Database.schema(dataSource, database.jdbcUrl(), mode).ensure();
      assertIsUsable(store);
      Ending asked = new Ending(LeadershipLostEvent.Reason.HANDED_OVER, ALICE);
      assertThat(Leases.renew(store, "other", Map.of("case", 2L))).containsExactly("case");
      assertThat(Leases.renew(store, "other", Map.of("case", 2L, "lost", 1L)))
          .containsExactly("case");
      assertThat(((ElectionDirectory) store).history(Set.of("case")).get("case"))
          .extracting(HistoryEntry::leaderId)
          .containsExactly("other", "node");
      assertThat(store.designate("case", "third", ALICE)).isTrue();
      assertThat(store.designate("case", "other", null)).isTrue();
      assertThat(store.release("case", "other", 2, "", asked)).isTrue();
      return null;
    } catch (LeaseStoreException | ElectionSetupException ex) {
      return ex.getMessage();
    }
  }

  private static List<String> without(List<String> grants, String grant) {
    return grants.stream().filter(other -> !other.equals(grant)).toList();
  }

  @Test
  void a_refused_password_is_no_reason_to_end_the_start() {
    assertThatThrownBy(() -> Database.schema(
                new TestDataSource(this.database.jdbcUrl(), "nobody", "wrong"),
                this.database.jdbcUrl(),
                SchemaMode.MIGRATE)
            .ensure())
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("refuses the user (Access denied for user 'nobody'")
        .hasMessageNotContaining("wrong");
  }

  @Test
  void an_unreachable_database_is_no_reason_to_end_the_start() {
    assertThatThrownBy(() -> Database.schema(
                new TestDataSource("jdbc:mysql://127.0.0.1:1/app", "u", "p"),
                "jdbc:mysql://127.0.0.1:1/app",
                SchemaMode.MIGRATE)
            .ensure())
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("127.0.0.1:1/app cannot be reached");
  }

  @Test
  void a_database_that_does_not_exist_is_no_reason_to_end_the_start() {
    String url = this.database.jdbcUrl().replace(this.database.name(), "nowhere");

    assertThatThrownBy(() -> Database.schema(
                new TestDataSource(url, "root", this.database.password()), url, SchemaMode.MIGRATE)
            .ensure())
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("The database does not exist: 127.0.0.1:")
        .hasMessageContaining("/nowhere");
  }

  @Test
  void a_url_without_a_database_is_refused() {
    String url = this.database.jdbcUrl().replace("/" + this.database.name(), "/");

    assertThatThrownBy(() -> Database.schema(
                new TestDataSource(url, this.database.username(), this.database.password()),
                url,
                SchemaMode.MIGRATE)
            .ensure())
        .isInstanceOf(ElectionSetupException.class)
        .hasMessageContaining("names no database");
  }

  @Test
  void the_store_does_the_schemas_work_before_its_first_use_once_the_database_is_there()
      throws Exception {
    String user = "late_" + this.database.name();
    try (LeaseStore store = Database.store(
        as(user), this.database.jdbcUrl(), SchemaMode.MIGRATE, Database.OPERATION_TIMEOUT)) {
      assertThatThrownBy(() -> store.read(Set.of("AS")))
          .isInstanceOf(LeaseStoreException.class)
          .hasMessageContaining("refuses the user");

      this.database.newUser(user, "ALL ON " + this.database.name() + ".*");

      assertIsUsable(store);
    }
  }

  @Test
  void the_store_goes_on_refusing_a_table_of_another_shape() {
    this.database.execute(OTHER_TOOLS);
    try (LeaseStore store = Database.store(
        this.database.dataSource(),
        this.database.jdbcUrl(),
        SchemaMode.MIGRATE,
        Database.OPERATION_TIMEOUT)) {
      assertThatThrownBy(() -> store.read(Set.of("AS")))
          .isInstanceOf(LeaseStoreException.class)
          .hasMessageContaining("another election tool");
    }
  }

  private ElectionSetupException refused(SchemaMode mode) {
    ElectionSetupException refused = catchThrowableOfType(
        ElectionSetupException.class, () -> Database.schema(this.database, mode).ensure());
    assertThat(refused).as("refusal").isNotNull();
    assertThat(refused).hasMessage(refused.found() + "\n" + refused.remedy());
    return refused;
  }

  private void assertIsUsable() throws Exception {
    try (LeaseStore store = Database.store(
        this.database.dataSource(),
        this.database.jdbcUrl(),
        SchemaMode.VALIDATE,
        Database.OPERATION_TIMEOUT)) {
      assertIsUsable(store);
    }
  }

  private static void assertIsUsable(LeaseStore store) throws Exception {
    LeaseRow lower = Leases.create(store, "case", "node", 1000, 0).orElseThrow();
    assertThat(Leases.create(store, "CASE", "node", 1000, 0)).isPresent();
    assertThat(Leases.lead(store, "case", lower, 1000)).isTrue();
    LeaseRow led = store.read(Set.of("case")).get("case").row();
    assertThat(LeaseRows.Version.of(led).lastActiveTime()).matches("\\d+\\.\\d{6}");
    assertThat(Leases.take(store, "case", led, "other", 1000, 0, "EXPIRED")).hasValue(2);
  }

  private TestDataSource as(String user) {
    return new TestDataSource(this.database.jdbcUrl(), user, this.database.password());
  }

  private void electByHand(String node, int seconds, AtomicBoolean stop, AtomicInteger renewals) {
    try (Connection connection = this.database.connect();
        Statement statement = connection.createStatement()) {
      while (!stop.get()) {
        statement.executeUpdate(HAND_MADE_ELECTION.formatted(node, seconds));
        renewals.incrementAndGet();
      }
    } catch (Exception ex) {
      throw new IllegalStateException("the hand-made statement failed", ex);
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
