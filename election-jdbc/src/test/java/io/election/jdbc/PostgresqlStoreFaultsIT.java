package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.store.LeaseRow;
import io.election.support.ConnectionSource;
import io.election.test.Leases;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.atomic.AtomicBoolean;
import javax.sql.DataSource;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** How a store on PostgreSQL behaves when the database fails. */
@Tag("faults")
@OnEveryServer(mysql = false, postgresql = true)
class PostgresqlStoreFaultsIT extends StoreFaultsContract {

  private static final String ROWS = """
      SELECT concat((SELECT string_agg(CAST(l AS text), ' ' ORDER BY l) FROM leader_election l),
          (SELECT string_agg(CAST(h AS text), ' ' ORDER BY h) FROM leader_election_history h))
      """;

  /** It would be lost by a promotion, or a crash. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', quoteCharacter = '"', textBlock = """
      WHEN pg_is_in_recovery() THEN 'it is  | WHEN true THEN 'it is | is read-only (it is a standby)
      current_setting('synchronous_commit') | 'off'                 | lost the synchronous_commit
      """)
  void noCallWritesOrCountsWhereItWouldNotLast(String asked, String instead, String told)
      throws Exception {
    AtomicBoolean unusable = new AtomicBoolean();
    DataSource source = this.database.dataSource();
    use(ConnectionSource.of(() -> Watched.of(
        source.getConnection(),
        (method, sql) -> sql != null && unusable.get() ? sql.replace(asked, instead) : sql)));
    Map<String, Long> terms = led(2);
    Set<String> one = Set.of("service-0");
    LeaseRow seen = row("service-0");
    List<ThrowingCallable> calls = List.of(
        () -> this.store.read(one),
        () -> this.store.read(Set.of("absent")),
        () -> this.store.renew("a", Map.of("service-0", 1L)),
        () -> this.store.renew("a", terms),
        () -> this.store.release("service-0", "a", 1, "", Database.RESIGNED),
        () -> this.store.touch("service-0", seen),
        () -> this.store.designate("service-0", "b", seen, null),
        () -> Leases.create(this.store, "new", "a", 10_000, 0),
        () -> Leases.acquire(this.store, "service-0", seen, "b", 10_000, 0, "EXPIRED"));
    String before = this.database.query(ROWS);
    for (ThrowingCallable call : calls) {
      assertThat(this.store.read(one)).hasSize(1);
      unusable.set(true);
      assertFails(call, told);
      assertThat(this.database.query(ROWS)).isEqualTo(before);
      unusable.set(false);
    }
    assertThat(Leases.acquire(this.store, "service-0", seen, "b", 10_000, 0, "EXPIRED"))
        .isPresent();
  }
}
