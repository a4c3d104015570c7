package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.jupiter.params.provider.Arguments.argumentSet;

import io.election.AuditNote;
import io.election.LeadershipLostException;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseRow;
import io.election.store.LeaseStoreException;
import io.election.support.ConnectionSource;
import io.election.support.TestDataSource;
import io.election.support.TestServer;
import io.election.test.Leases;
import java.lang.reflect.Method;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What makes a server unusable, and what a node does with it, with accounts that may write on a
 * read-only server and one that may not.
 */
@OnEveryServer
@Tag("faults")
class UnusableServerIT extends ServerDatabase {

  /** A checksum of each table. */
  private static final String ROWS = """
      SELECT CONCAT_WS(' ',
          (SELECT SUM(CRC32(CONCAT_WS(' ', service_id, leader_id, last_active_time, term, version,
              lease_millis, seal))) FROM leader_election),
          (SELECT SUM(CRC32(CONCAT_WS(' ', service_id, term, leader_id, elected_at, ended_at,
              end_reason, ended_by))) FROM leader_election_history),
          (SELECT SUM(CRC32(CONCAT_WS(' ', node_id, seen_at, services)))
              FROM leader_election_member))
      """;

  private static final AuditNote ALICE = new AuditNote("alice", "canary");

  private final List<Connection> connections = new ArrayList<>();

  /** To open a connection takes longer than what it is asked. */
  private Connection root;

  private JdbcLeaseStore store;
  private String username;
  private boolean elsewhere;
  private @Nullable String shownInnodbReadOnly;
  private Runnable beforeCommit = () -> {};

  enum Account {
    ORDINARY,
    ADMIN,
    ROOT
  }

  /** Something that makes a server, or the session on it, unusable. */
  enum Fault {
    READ_ONLY("is read-only (read_only=", "read_only = 1", "read_only = 0"),
    NO_LOCK("is read-only (read_only=NO_LOCK", "read_only = NO_LOCK", "read_only = 0"),
    NO_LOCK_NO_ADMIN(
        "is read-only (read_only=NO_LOCK", "read_only = NO_LOCK_NO_ADMIN", "read_only = 0"),
    SUPER_READ_ONLY("is read-only (", "super_read_only = 1", "super_read_only = 0, read_only = 0"),
    OFFLINE_MODE("offline_mode", "offline_mode = 1", "offline_mode = 0"),
    INNODB_READ_ONLY("is read-only (innodb_read_only=1)"),
    OTHER_SERVER("leads to another server now"),
    OTHER_SCHEMA("leads to another server now"),
    NO_AUTOCOMMIT("has lost the autocommit or completion_type"),
    CHAINED_COMMITS("has lost the autocommit or completion_type");

    private final String message;
    private final @Nullable String set;
    private final @Nullable String unset;

    Fault(String message) {
      this(message, null, null);
    }

    Fault(String message, @Nullable String set, @Nullable String unset) {
      this.message = message;
      this.set = set;
      this.unset = unset;
    }

    boolean isOfSession() {
      return ordinal() >= OTHER_SERVER.ordinal();
    }
  }

  /** A call of a node on the record of an election of its own. */
  private enum Call {
    READ {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return store.read(Set.of(id));
      }
    },
    READ_NOTHING {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return store.read(Set.of("absent"));
      }
    },
    RENEW {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return store.renew("a", Map.of(id, 1L));
      }
    },
    RENEW_SEVERAL {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return store.renew("a", Map.of(id, 1L, "READ", 1L));
      }
    },
    RENEW_SEVERAL_OF_WHICH_ONE_IS_LOST {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return store.renew("a", Map.of(id, 1L, "READ", 7L));
      }
    },
    RELEASE {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return store.release(id, "a", 1, "", Database.RESIGNED);
      }
    },
    CEDE {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return Leases.cede(store, id, "a", 1, Database.RESIGNED);
      }
    },
    CREATE {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return Leases.create(store, "created", "a", 10_000, 0);
      }
    },
    TOUCH {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return store.touch(id, seen);
      }
    },
    BEGIN {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return Leases.begin(store, id, seen, 10_000);
      }
    },
    TAKE_OVER {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return Leases.acquire(store, id, seen, "b", 10_000, 0, "EXPIRED");
      }
    },
    DESIGNATE {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return store.designate(id, "b", null, null);
      }
    },
    DESIGNATE_IF_UNCHANGED {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return store.designate(id, "b", seen, ALICE);
      }
    },
    DESIGNATE_FOR_ABSENT_ELECTION {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return !store.designate("absent", "b", null, ALICE);
      }
    },
    ANNOUNCE {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return announce(store, Set.of(id));
      }
    },
    ANNOUNCE_AGAIN {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return announce(store, Set.of("ANNOUNCE"));
      }
    },
    PRUNE {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        store.prune(Map.of(id, 1L), Duration.ofDays(1));
        return true;
      }
    },
    WITHDRAW {
      @Override
      Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception {
        return announce(store, Set.of());
      }
    };

    abstract Object make(JdbcLeaseStore store, String id, LeaseRow seen) throws Exception;

    private static Object announce(JdbcLeaseStore store, Set<String> ids) throws Exception {
      store.announce(
          new Announcement("a", ids, Set.of(), true, Duration.ofSeconds(10), "", "", Map.of(), ""));
      return true;
    }

    boolean writes() {
      return ordinal() > READ_NOTHING.ordinal() && this != DESIGNATE_FOR_ABSENT_ELECTION;
    }
  }

  /** What is wrong with a session is so for each account: all have it in the long tests. */
  static Stream<Arguments> faults() {
    boolean all = "all".equals(System.getProperty("election.test.servers"));
    return Stream.of(Fault.values())
        .flatMap((fault) -> Stream.of(Account.values())
            .filter((account) -> all || !fault.isOfSession() || account == Account.ORDINARY)
            .map((account) -> argumentSet(fault + " for " + account, fault, account)));
  }

  @ParameterizedTest
  @MethodSource("faults")
  void noCallOfANodeWritesOrCounts(Fault fault, Account account) throws Exception {
    use(fault, account);
    for (Call call : Call.values()) {
      LeaseRow seen = prepare(call);
      String before = TestServer.query(this.root, ROWS);
      int opened = this.connections.size();

      begin(fault);
      Throwable failure;
      try {
        failure = catchThrowable(() -> call.make(this.store, call.name(), seen));
        if (call != Call.PRUNE || failure != null) {
          assertUnknown(fault, account, call, failure);
        }
        if (!fault.isOfSession()) {
          // Nor does a new session.
          assertUnknown(
              fault, account, call, catchThrowable(() -> this.store.read(Set.of(call.name()))));
        }
      } finally {
        end(fault);
      }
      assertThat(TestServer.query(this.root, ROWS)).as(call.name()).isEqualTo(before);

      // The call would have been answered, and the leader has lost nothing.
      if (failure == null) {
        this.store.disconnect();
      }
      assertThat(call.make(this.store, call.name(), seen))
          .as(call.name())
          .isNotIn(false, Optional.empty(), OptionalLong.empty());
      assertThat(this.connections.size()).as("the session was not kept").isGreaterThan(opened);
      if (call.writes()) {
        assertThat(TestServer.query(this.root, ROWS)).as(call.name()).isNotEqualTo(before);
      }
      assertThat(this.store.renew("a", Map.of("READ", 1L)).renewed()).containsExactly("READ");
    }
  }

  private static void assertUnknown(
      Fault fault, Account account, Call call, @Nullable Throwable failure) {
    assertThat(failure).as(call.name()).isInstanceOf(LeaseStoreException.class);
    if (account != Account.ORDINARY || fault.isOfSession()) {
      assertThat(failure).as(call.name()).hasMessageContaining(fault.message);
    } else if (fault != Fault.OFFLINE_MODE) {
      assertThat(failure).as(call.name()).hasMessageContaining("is read-only (");
    }
  }

  /** Makes the record on which a call has an effect. */
  private LeaseRow prepare(Call call) throws Exception {
    String id = call.name();
    if (call == Call.BEGIN) {
      return Leases.create(this.store, id, "a", 10_000, 0).orElseThrow();
    }
    LeaseRow led = Database.led(this.store, id, "a");
    if (call == Call.CEDE) {
      this.store.designate(id, "b", null, null);
    }
    if (call == Call.PRUNE) {
      this.database.execute(
          "INSERT INTO leader_election_history (service_id, term, leader_id, lease_millis, elected_at, ended_at, reason) VALUES ('PRUNE', 0, 'a', 1, '2020-01-01', '2020-01-02', '')");
    }
    return led;
  }

  @ParameterizedTest
  @MethodSource("faults")
  void noTransactionIsConfirmed(Fault fault, Account account) throws Exception {
    assumeTrue(!fault.isOfSession(), "the session is the application's");
    use(fault, account);
    Database.led(this.store, "billing", "a");
    CommitFence fence = new CommitFence(Duration.ofMillis(500), null);
    this.database.execute("CREATE TABLE work (n int)");
    try (Connection worker = connect()) {
      worker.setAutoCommit(false);
      worker.createStatement().execute("INSERT INTO work VALUES (1)");
      begin(fault);
      try {
        assertThatThrownBy(() -> fence.hold(worker, "a", Map.of("billing", 1L)))
            .satisfiesAnyOf(
                (refused) -> assertThat(refused)
                    .isInstanceOf(LeadershipLostException.class)
                    .hasMessageContaining("could not be confirmed (the server is read-only: "),
                (ended) -> {
                  assertThat(fault).isEqualTo(Fault.OFFLINE_MODE);
                  assertThat(account).isEqualTo(Account.ORDINARY);
                  assertThat(ended).isInstanceOf(SQLException.class);
                });
      } finally {
        end(fault);
      }
    }
    try (Connection worker = connect()) {
      worker.setAutoCommit(false);
      fence.hold(worker, "a", Map.of("billing", 1L)).close();
    }
  }

  @ParameterizedTest
  @EnumSource
  void aTakeOverThatIsCommittedOnAReadOnlyServerIsUnknown(Account account) throws Exception {
    use(Fault.READ_ONLY, account);
    Database.led(this.store, "billing", "a");
    this.store.release("billing", "a", 1, "", Database.RESIGNED);
    LeaseRow released = Database.row(this.store, "billing");
    this.beforeCommit = () -> begin(Fault.READ_ONLY);
    try {
      assertThatThrownBy(
              () -> Leases.acquire(this.store, "billing", released, "b", 10_000, 0, "RELEASED"))
          .isInstanceOf(LeaseStoreException.class)
          .hasMessageContaining("is read-only (");
    } finally {
      end(Fault.READ_ONLY);
    }
  }

  /** A statement that the server has prepared looks at its variables each time. */
  @ParameterizedTest
  @CsvSource({"mysql", "mariadb"})
  void aPreparedRenewalSeesThatTheServerHasBecomeReadOnly(String driver) throws Exception {
    this.username = "root";
    this.store = store(rememberingAs(
        driver, "useServerPrepStmts=true&cachePrepStmts=true&prepStmtCacheSqlLimit=9999"));
    Database.led(this.store, "billing", "a");
    for (int i = 0; i < 3; i++) {
      assertThat(Leases.renew(this.store, "a", Map.of("billing", 1L))).isNotEmpty();
    }
    begin(Fault.READ_ONLY);
    try {
      assertThatThrownBy(() -> Leases.renew(this.store, "a", Map.of("billing", 1L)))
          .hasMessageContaining("is read-only (read_only=");
    } finally {
      end(Fault.READ_ONLY);
    }
  }

  /** A session of which the server ends each write is replaced. */
  @Test
  void aReadOnlySessionIsReplaced() throws Exception {
    use(Fault.READ_ONLY, Account.ROOT);
    Database.led(this.store, "billing", "a");
    inSession("SET SESSION TRANSACTION READ ONLY");

    assertThatThrownBy(() -> Leases.renew(this.store, "a", Map.of("billing", 1L)))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("is read-only (");
    assertThat(Leases.renew(this.store, "a", Map.of("billing", 1L))).isNotEmpty();
  }

  /** The server refuses this to every account, so that nothing needs to be asked. */
  @Test
  void aReadOnlySchemaIsTold() throws Exception {
    assumeTrue(!server().isMariaDb(), "only MySQL has read-only schemas");
    use(Fault.READ_ONLY, Account.ROOT);
    Database.led(this.store, "billing", "a");
    this.database.execute("ALTER SCHEMA " + this.database.name() + " READ ONLY = 1");

    assertThatThrownBy(() -> Leases.renew(this.store, "a", Map.of("billing", 1L)))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("is read-only (");
    this.database.execute("ALTER SCHEMA " + this.database.name() + " READ ONLY = 0");
    assertThat(Leases.renew(this.store, "a", Map.of("billing", 1L))).isNotEmpty();
  }

  private void use(Fault fault, Account account) throws Exception {
    if (fault.set != null) {
      begin(fault);
      end(fault);
    }
    this.username = switch (account) {
      case ORDINARY -> this.database.username();
      case ADMIN -> {
        String admin = Database.newUser(this.database, "ALL ON %s.*");
        server()
            .execute("GRANT %s ON *.* TO '%s'@'%%'"
                .formatted(
                    server().isMariaDb() ? "READ_ONLY ADMIN, CONNECTION ADMIN" : "CONNECTION_ADMIN",
                    admin));
        yield admin;
      }
      case ROOT -> "root";
    };
    this.store = store(rememberingAs(server().isMariaDb() ? "mariadb" : "mysql", ""));
    if (fault == Fault.OTHER_SCHEMA) {
      server().execute("CREATE DATABASE " + copy());
      if (account != Account.ROOT) {
        server().execute("GRANT ALL ON " + copy() + ".* TO '" + this.username + "'@'%'");
      }
    }
  }

  private JdbcLeaseStore store(DataSource source) {
    return closing(Database.store(source, this.database.jdbcUrl()));
  }

  private DataSource rememberingAs(String driver, String parameters) {
    TestDataSource source = new TestDataSource(
        this.database.jdbcUrl(driver, parameters), this.username, this.database.password());
    return ConnectionSource.of(() -> {
      Connection connection = source.getConnection();
      this.connections.add(connection);
      return Watched.of(connection, this::changed);
    });
  }

  private Connection connect() throws SQLException {
    return rememberingAs(server().isMariaDb() ? "mariadb" : "mysql", "").getConnection();
  }

  private @Nullable String changed(Method method, @Nullable String sql) {
    if (sql == null) {
      return null;
    }
    if (sql.equals("COMMIT")) {
      this.beforeCommit.run();
    }
    String changed = this.elsewhere
        ? sql.replace("@@server_uuid", "'elsewhere'").replace("@@server_id", "'elsewhere'")
        : sql;
    return this.shownInnodbReadOnly != null
        ? changed.replace("@@GLOBAL.innodb_read_only", this.shownInnodbReadOnly)
        : changed;
  }

  private void begin(Fault fault) {
    switch (fault) {
      case INNODB_READ_ONLY -> this.shownInnodbReadOnly = "1";
      case OTHER_SERVER -> this.elsewhere = true;
      case OTHER_SCHEMA -> {
        for (String table : List.of(LeaseTables.LEASES, LeaseTables.HISTORY, LeaseTables.MEMBERS)) {
          String original = this.database.name() + "." + table;
          asRoot(
              "CREATE TABLE %s.%s LIKE %s".formatted(copy(), table, original),
              "INSERT INTO %s.%s SELECT * FROM %s".formatted(copy(), table, original));
        }
        inSession("USE " + copy());
      }
      case NO_AUTOCOMMIT -> inSession("SET SESSION autocommit = 0");
      case CHAINED_COMMITS -> inSession("SET SESSION completion_type = 1");
      default -> {
        try {
          asRoot("SET GLOBAL " + fault.set);
        } catch (IllegalStateException ex) {
          assumeTrue(
              Stream.of("Unknown system variable", "can't be set to the value")
                  .noneMatch(ex.getMessage()::contains),
              "This server has no " + fault.set);
          throw ex;
        }
      }
    }
  }

  private void end(Fault fault) {
    switch (fault) {
      case INNODB_READ_ONLY -> this.shownInnodbReadOnly = null;
      case OTHER_SERVER -> this.elsewhere = false;
      case OTHER_SCHEMA -> asRoot("DROP DATABASE " + copy(), "CREATE DATABASE " + copy());
      case NO_AUTOCOMMIT, CHAINED_COMMITS -> {}
      default -> asRoot("SET GLOBAL " + fault.unset);
    }
  }

  @BeforeEach
  void connectRoot() {
    this.root = closing(this.database.connect());
  }

  @AfterEach
  void end() {
    this.beforeCommit = () -> {};
  }

  private void asRoot(String... statements) {
    try (Statement statement = this.root.createStatement()) {
      for (String sql : statements) {
        statement.execute(sql);
      }
    } catch (SQLException ex) {
      throw new IllegalStateException(String.join("; ", statements) + ": " + ex.getMessage(), ex);
    }
  }

  private String copy() {
    return this.database.name() + "_copy";
  }

  private void inSession(String sql) {
    try (Statement statement =
        this.connections.get(this.connections.size() - 1).createStatement()) {
      statement.execute(sql);
    } catch (SQLException ex) {
      throw new IllegalStateException(sql, ex);
    }
  }
}
