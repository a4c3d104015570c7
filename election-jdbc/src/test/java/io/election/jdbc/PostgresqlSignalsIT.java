package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.election.support.PgBouncer;
import io.election.support.PostgresqlServer;
import io.election.support.TestDatabase;
import java.util.List;
import java.util.Set;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;

/** How followers on PostgreSQL learn that a lease was handed back. */
@OnEveryServer(mysql = false, postgresql = true)
class PostgresqlSignalsIT extends SignalContract {

  @Test
  void allHearASignalAndNobodyThatOfANamesake() throws Exception {
    TestDatabase other = server().newDatabase().withTables();
    JdbcLeaseStore namesake = closing(Database.store(other));
    long there = led(namesake);
    Future<Boolean> first = await(signal(), () -> {});
    Future<Boolean> second = await(signal(), () -> {});
    ReleaseWatch ofAnother = signal();
    inBackground(() -> ofAnother.await("another", () -> {}));
    awaitWaiting(3);
    assertThat(
            this.database.query(
                "SELECT COUNT(DISTINCT query) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'LISTEN%'"))
        .as("channels of two holders")
        .isEqualTo("2");
    release(namesake, there);
    this.database.execute("NOTIFY leader_election");
    assertThat(first).isNotDone();
    assertThat(second).isNotDone();
    release(this.holder, this.term);
    assertThat(first.get()).isTrue();
    assertThat(second.get()).isTrue();
  }

  /** A limit of the role or the database would end each wait. */
  @Test
  void aSessionThatListensMayRest() throws Exception {
    this.database.execute(
        "ALTER ROLE " + this.database.username() + " SET idle_session_timeout = 200");
    Future<Boolean> heard = await(signal(), () -> {});
    awaitWaiting(1);
    Awaitility.await()
        .until(() -> heard.isDone()
            || this.database.query(
                    "SELECT 1 FROM pg_stat_activity WHERE query LIKE 'LISTEN%' AND now() - state_change > '1 s'")
                != null);
    release(this.holder, this.term);
    assertThat(heard.get()).isTrue();
  }

  @Test
  void behindAPoolerAFollowerPollsAndSaysSoOnce() throws Exception {
    try (PgBouncer bouncer = PgBouncer.to((PostgresqlServer) server())) {
      JdbcLeaseStore pooled = closing(Database.store(
          bouncer.dataSourceOf(this.database, this.database.username()),
          bouncer.jdbcUrl(this.database)));
      FollowedLeases followed = new FollowedLeases();
      followed.read(Set.of("jobs"), pooled.read(Set.of("jobs")));
      AtomicLong ticker = new AtomicLong();
      ReleaseListener listener = closing(new ReleaseListener(
          pooled.releaseWatch().orElseThrow(), followed, "follower", () -> {}, ticker::get));
      List<String> logged = Database.logged(ReleaseListener.class, Level.INFO, () -> {
        for (int i = 0; i < 3; i++) {
          assertThat(listener.listen()).isZero();
          ticker.addAndGet(listener.listen());
        }
      });
      assertThat(logged)
          .singleElement()
          .asString()
          .contains("a pooler in between delivers no notifications", "noticed at the next poll");
      release(this.holder, this.term);
      assertThat(pooled.read(Set.of("jobs")).get("jobs").row().leaseMillis()).isZero();
    }
  }
}
