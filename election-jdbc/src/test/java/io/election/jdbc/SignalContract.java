package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.LeadershipAcquiredEvent;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStoreException;
import io.election.support.TestDatabase;
import io.election.test.Leases;
import java.time.Duration;
import java.time.InstantSource;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** How followers on every product learn that a lease was handed back. */
abstract class SignalContract extends ServerDatabase {

  JdbcLeaseStore holder;
  long term;

  @BeforeEach
  void lead() throws Exception {
    this.holder = closing(Database.store(this.database));
    this.term = led(this.holder);
  }

  @Test
  void aFollowerThatWaitsHearsThatALeaseIsHandedBack() throws Exception {
    assertSignals(() -> release(this.holder, this.term));
  }

  @Test
  void aFollowerThatWaitsHearsThatADesignatedNodeIsGivenWayTo() throws Exception {
    assertSignals(() -> {
      this.database.execute("UPDATE leader_election SET leader_id = 'other'");
      assertThat(Leases.cede(this.holder, "jobs", "holder", this.term, Database.RESIGNED))
          .isTrue();
    });
  }

  /** Asserts that a follower hears a call of the holder, and nothing before. */
  final void assertSignals(ThrowingCallable call) throws Exception {
    Future<Boolean> heard = await(signal(), () -> {});
    awaitWaiting(1);
    assertThat(heard).isNotDone();
    assertThatCode(call).doesNotThrowAnyException();
    assertThat(heard.get()).isTrue();
  }

  /** The next regular poll is far away. */
  @Test
  void aLeaderThatStopsIsFollowedAtOnce() {
    this.holder.close();
    this.database.execute("UPDATE leader_election SET leader_id = '', lease_millis = 0");
    List<String> acquired = new CopyOnWriteArrayList<>();
    Elector first = elector("first", acquired);
    within().until(() -> acquired.size() == 1);
    elector("second", acquired);
    awaitWaiting(1);

    first.stop();

    within().until(() -> acquired.equals(List.of("first", "second")));
  }

  final Elector elector(String node, List<String> acquired) {
    return elector(node, Database.store(this.database), acquired);
  }

  final Elector elector(String node, JdbcLeaseStore store, List<String> acquired) {
    Elector elector = new Elector(
        closing(store),
        new LeaseSettings(
            Duration.ofMinutes(15),
            Duration.ofMinutes(5),
            Duration.ofSeconds(10),
            Duration.ZERO,
            true),
        () -> node,
        (serviceId) -> false,
        (event) -> {
          if (event instanceof LeadershipAcquiredEvent) {
            acquired.add(node);
          }
        },
        System::nanoTime,
        InstantSource.system());
    closing(elector::stop);
    elector.start(List.of(new LeaseElectionService("jobs", elector)));
    return elector;
  }

  @Test
  void closingEndsTheWaitingForGood() throws Exception {
    ReleaseWatch signal = signal();
    Future<Boolean> heard = await(signal, () -> {});
    awaitWaiting(1);

    signal.close();

    assertThatThrownBy(heard::get).hasCauseInstanceOf(LeaseStoreException.class);
    assertThatThrownBy(() -> signal.await("holder", () -> {}))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("closed");
  }

  static long led(JdbcLeaseStore store) throws LeaseStoreException {
    return Database.led(store, "jobs", "holder").term();
  }

  static void release(JdbcLeaseStore store, long term) throws LeaseStoreException {
    assertThat(store.release("jobs", "holder", term, "", Database.RESIGNED)).isTrue();
  }

  final ReleaseWatch signal() {
    return signal(this.database);
  }

  final ReleaseWatch signal(TestDatabase database) {
    return closing(Database.store(database).releaseWatch().orElseThrow());
  }

  static Future<Boolean> await(ReleaseWatch signal, Runnable look) {
    return inBackground(() -> signal.await("holder", look));
  }

  static Future<Boolean> inBackground(Callable<Boolean> task) {
    FutureTask<Boolean> result = new FutureTask<>(task);
    Thread thread = new Thread(result, "waits-for-a-signal");
    thread.setDaemon(true);
    thread.start();
    return result;
  }

  /** Waits until a number of connections wait for a signal in this test's database. */
  final void awaitWaiting(int count) {
    String waiting = isPostgresql()
        ? "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = '%s' AND state = 'idle' AND query LIKE 'LISTEN%%'"
        : "SELECT COUNT(*) FROM information_schema.processlist WHERE db = '%s' AND state = 'User lock'";
    within()
        .until(() ->
            String.valueOf(count).equals(server().query(waiting.formatted(this.database.name()))));
  }

  static ConditionFactory within() {
    return Awaitility.await().atMost(Duration.ofMinutes(1)).pollInterval(Duration.ofMillis(20));
  }
}
