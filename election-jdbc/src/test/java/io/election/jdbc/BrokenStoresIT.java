package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;
import static org.junit.platform.engine.discovery.DiscoverySelectors.selectClass;
import static org.junit.platform.launcher.core.LauncherDiscoveryRequestBuilder.request;

import io.election.jdbc.OnEveryServer.Server;
import io.election.support.ConnectionSource;
import io.election.support.Proxies;
import java.lang.reflect.InvocationTargetException;
import java.sql.Connection;
import java.sql.Statement;
import java.util.List;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.sql.DataSource;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.Parameter;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.platform.engine.FilterResult;
import org.junit.platform.engine.support.descriptor.MethodSource;
import org.junit.platform.launcher.PostDiscoveryFilter;
import org.junit.platform.launcher.core.LauncherFactory;
import org.junit.platform.launcher.listeners.SummaryGeneratingListener;
import org.junit.platform.launcher.listeners.TestExecutionSummary;

/** The contract of a store finds each mistake that a store in a database can make. */
@Tag("long")
@ParameterizedClass(name = "{0}")
@EnumSource(names = {"DEFAULT", "NEWEST_POSTGRESQL"})
class BrokenStoresIT {

  private static final String LOCK_TIMEOUT =
      "Lock wait timeout exceeded|canceling statement due to lock timeout";

  @Parameter
  Server server;

  /** A mistake, made by other statements than those of the store. */
  enum Mistake {
    TAKE_OVER_TAKES_NO_LOCK(
        "atMostOneOfManyNodesTakesALeaseOver", "nodes that took the lease over in round") {
      @Override
      String instead(String sql) {
        return sql.contains("SKIP LOCKED") && sql.startsWith("SELECT (seal")
            ? sql.replaceFirst("FOR UPDATE.*", "")
            : anyRecord(sql, "leader_id = [^,]+, term = [^,]+");
      }
    },
    TAKE_OVER_WAITS_FOR_LOCKS(
        "aTakeOverOfALockedRecordChangesNothingAndDoesNotWait", LOCK_TIMEOUT) {
      @Override
      String instead(String sql) {
        return sql.startsWith("SELECT (seal") ? sql.replace("SKIP LOCKED", "") : sql;
      }
    },
    RENEWAL_WAITS_FOR_LOCKS("aLockedRecordKeepsNoOtherLeaseFromBeingRenewed", LOCK_TIMEOUT) {
      @Override
      String instead(String sql) {
        return sql.startsWith("SELECT (seal")
            ? sql
            : sql.replace("SKIP LOCKED", "")
                .replace("lock_wait_timeout = 0", "lock_wait_timeout = 1");
      }
    },
    LOCKED_LEASES_COUNT_AS_LOST(
        "aLockedRecordKeepsNoOtherLeaseFromBeingRenewed", "leases that may still be held") {
      @Override
      String instead(String sql) {
        return sql.startsWith("SELECT service_id FROM leader_election ")
                && !sql.contains("FOR UPDATE")
            ? sql + " AND FALSE"
            : sql;
      }
    },
    UNDONE_COMMIT_IS_BELIEVED(
        "aWriteThatTheServerUndoesIsNotBelieved", "Expecting code to raise a throwable") {
      @Override
      boolean believes(String sql) {
        return sql.equals("COMMIT") || sql.equals(PostgresqlDialect.COMMIT);
      }
    },
    SESSION_IS_NOT_SET_UP(
        "aConnectionWithUnsuitableSettingsIsSetUpOrRefused", "Expected size: 2 but was: 1") {
      @Override
      String instead(String sql) {
        if (sql.startsWith("SET SESSION autocommit = 1")) {
          return "DO 0";
        }
        return sql.contains("CURRENT_USER()")
            ? sql.replaceFirst(
                "@@SESSION.autocommit.*",
                "'1', 'NO_CHAIN', '+00:00', 'STRICT_ALL_TABLES', '0', '1', '18446744073709551615', '1', '1', '4', 'READ-COMMITTED', '0', '0'")
            : sql.replaceAll("\\(@@SESSION.autocommit = 1 AND [^)]*\\)", "TRUE");
      }
    },
    SERVER_OF_A_READING_IS_NOT_CHECKED(
        "aReadingFromAnotherServerIsRefusedOrAnotherRecord", "the same record on another server") {
      @Override
      String instead(String sql) {
        return sql.replaceAll("CASE WHEN " + DIGEST + " = '[0-9a-f]+'", "CASE WHEN TRUE");
      }
    },
    SERVER_IS_NOT_COMPARED_IN_WRITES(
        "aConnectionThatLeadsToAnotherServerGrantsNothing", "RENEWAL on another server") {
      @Override
      String instead(String sql) {
        return sql.replaceAll(DIGEST + " = '[0-9a-f]+'", "TRUE")
            .replaceAll(DIGEST + " = \\?", "? IS NOT NULL");
      }
    },
    HISTORY_IS_NOT_COMPARED(
        "aRecordThatWasWrittenWordForWordAgainIsAnotherOnceANodeHasLed", "null\\]") {
      @Override
      String instead(String sql) {
        return sql.replace(TermHistory.MUST_COMPARE, "FALSE");
      }
    },
    FAILED_CONNECTION_IS_KEPT(
        "aWriteWithoutAnAnswerIsUnknownAndTheNextCallHasItsOwnAnswer",
        "did not answer within|connection has been closed") {
      @Override
      DataSource connections(DataSource source) {
        return keeping(source);
      }
    };

    private static final String DIGEST = Stream.of(
            MysqlDialect.MYSQL, MysqlDialect.MARIADB, PostgresqlDialect.INSTANCE)
        .map((dialect) -> Pattern.quote(dialect.sourceDigest()))
        .collect(Collectors.joining("|", "(?:", ")"));

    private final AtomicInteger made = new AtomicInteger();
    private final String found;
    private final String because;

    /**
     * A mistake.
     *
     * @param found the test that finds it
     * @param because a pattern in its failure
     */
    Mistake(String found, String because) {
      this.found = found;
      this.because = because;
    }

    String instead(String sql) {
      return sql;
    }

    boolean believes(String sql) {
      return false;
    }

    DataSource connections(DataSource source) {
      return ConnectionSource.of(() -> believing(watched(source.getConnection(), this::instead)));
    }

    final Connection watched(Connection connection, UnaryOperator<String> instead) {
      return Watched.of(connection, (method, sql) -> {
        if (sql == null) {
          return null;
        }
        String other = instead.apply(sql);
        if (!other.equals(sql)) {
          this.made.incrementAndGet();
        }
        return other;
      });
    }

    /** A connection whose statements do not fail where the mistake believes them. */
    private Connection believing(Connection connection) {
      return Proxies.of(Connection.class, (method, arguments) -> {
        Object result = method.invoke(connection, arguments);
        return result instanceof Statement statement && method.getName().equals("createStatement")
            ? Proxies.of(Statement.class, (called, values) -> {
              try {
                return called.invoke(statement, values);
              } catch (InvocationTargetException ex) {
                if (values != null && values.length == 1 && believes(String.valueOf(values[0]))) {
                  this.made.incrementAndGet();
                  return false;
                }
                throw ex;
              }
            })
            : result;
      });
    }

    DataSource keeping(DataSource source) {
      Connection[] kept = new Connection[1];
      return ConnectionSource.of(() -> {
        if (kept[0] == null) {
          kept[0] = source.getConnection();
        }
        Connection connection = kept[0];
        return Proxies.of(Connection.class, (method, arguments) -> {
          if (Set.of("abort", "close").contains(method.getName())) {
            this.made.incrementAndGet();
            return null;
          }
          return method.invoke(connection, arguments);
        });
      });
    }

    /** Lets an update with a given assignment hit the record, whatever it looks like. */
    static String anyRecord(String sql, String assignment) {
      return Pattern.compile(assignment).matcher(sql).find()
          ? sql.replaceFirst("(?s) AND (leader_id = .*)$", " AND (TRUE OR ($1))")
          : sql;
    }
  }

  /** The contract on a store that makes a mistake. */
  static class BrokenContract extends SqlContract {

    private static Server server;
    private static Mistake mistake;

    BrokenContract() {
      super(server::running, Connecting.by(""));
    }

    @Override
    DataSource wrapped(DataSource connections) {
      return mistake.connections(connections);
    }
  }

  @ParameterizedTest
  @EnumSource
  void theContractFindsIt(Mistake mistake) {
    assumeTrue(
        this.server == Server.DEFAULT || mistake != Mistake.SESSION_IS_NOT_SET_UP,
        "PostgresqlSettingsIT reads the settings");
    this.server.running();
    mistake.made.set(0);
    BrokenContract.server = this.server;
    BrokenContract.mistake = mistake;
    SummaryGeneratingListener listener = new SummaryGeneratingListener();
    PostDiscoveryFilter thatTest = (test) -> FilterResult.includedIf(test.getSource()
        .filter((source) -> !(source instanceof MethodSource method)
            || method.getMethodName().equals(mistake.found))
        .isPresent());
    LauncherFactory.create()
        .execute(
            request()
                .selectors(selectClass(BrokenContract.class))
                .filters(thatTest)
                .build(),
            listener);
    TestExecutionSummary summary = listener.getSummary();
    assertThat(mistake.made.get()).as("how often the mistake was made").isPositive();
    List<String> failures = summary.getFailures().stream()
        .map((failure) -> failure.getTestIdentifier().getDisplayName() + ": "
            + failure.getException().toString().strip().replaceAll("\\s+", " "))
        .toList();
    System.out.println(mistake + " is found by " + failures);
    assertThat(failures)
        .singleElement()
        .asString()
        .startsWith(mistake.found + "()")
        .containsPattern(mistake.because);
  }
}
