package io.election.keyvalue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import com.sun.management.ThreadMXBean;
import io.election.AuditNote;
import io.election.LeadershipAcquiredEvent.Reason;
import io.election.LeadershipLostEvent;
import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Query;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStore.Claim;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import io.election.store.Ticker;
import java.lang.management.ManagementFactory;
import java.time.Duration;
import java.time.Instant;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.Stream;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;
import org.slf4j.LoggerFactory;

/** What keys and heartbeats do beyond the contract, with both kinds of versions. */
class KeyValueLeaseStoreTest {

  private static final long LEASE = 10_000;

  private static final TermEnd RESIGNED = new TermEnd(LeadershipLostEvent.Reason.RESIGNED, null);

  private final MemoryKeyValueServer.Cluster cluster = new MemoryKeyValueServer.Cluster();
  private final LeaseStore a = new KeyValueLeaseStore(new MemoryKeyValueServer(this.cluster));
  private final LeaseStore b = new KeyValueLeaseStore(new MemoryKeyValueServer(this.cluster));

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aRenewalIsOneSmallWriteHoweverManyElections(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    Map<String, Long> terms = new HashMap<>();
    for (int i = 0; i < 500; i++) {
      terms.put("service-" + i, lead(this.a, "service-" + i, "a"));
    }
    this.cluster.commits.clear();
    this.cluster.queries.clear();

    assertThat(this.a.renew("a", terms).renewed()).isEqualTo(terms.keySet());

    // Where numbers of versions come back, a reading shows afterwards that these were the records.
    assertThat(this.cluster.queries).hasSize(reusesVersions ? 1 : 0);
    assertThat(this.cluster.commits).singleElement().satisfies((commit) -> {
      assertThat(commit.writes()).hasSize(1);
      assertThat(commit.checks()).hasSize(500);
    });
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aFollowerReadsWithOneRequest(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    lead(this.a, "x", "a");
    lead(this.b, "y", "b");
    this.b.read(Set.of("x", "y"));
    this.cluster.queries.clear();

    this.b.read(Set.of("x", "y"));

    assertThat(this.cluster.queries).singleElement().satisfies((query) -> {
      assertThat(query.fresh()).isFalse();
      assertThat(query.keys()).as("records, heartbeats, identity").hasSize(5);
      assertThat(query.folders()).as("no history").isEmpty();
    });
  }

  @Test
  void aPollParsesARecordOnceWhileItStaysTheSame() throws Exception {
    long ofTwo = polling(2);
    long ofHundreds = polling(500);
    assertThat(ofHundreds).isLessThan(ofTwo + 500 * 2_000);
  }

  /** The least bytes that a poll allocates between two renewals. */
  private long polling(int elections) throws Exception {
    Map<String, Long> terms = new HashMap<>();
    for (int i = 0; i < elections; i++) {
      terms.put(elections + "-" + i, lead(this.a, elections + "-" + i, "a"));
    }
    ThreadMXBean threads = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    long least = Long.MAX_VALUE;
    for (int i = 0; i < 20; i++) {
      this.a.renew("a", terms);
      long before = threads.getThreadAllocatedBytes(Thread.currentThread().getId());
      assertThat(this.b.read(terms.keySet())).hasSize(elections);
      least =
          Math.min(least, threads.getThreadAllocatedBytes(Thread.currentThread().getId()) - before);
    }
    return least;
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void termsOfANewStoreBeginLow(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    assertThat(lead(this.a, "x", "a")).isLessThan(10_000);
  }

  /** By the age followers know when the next renewal comes. */
  @Test
  void theAgeOfARecordCountsFromBeforeItWasTakenToTheMiddleOfARead() throws Exception {
    AtomicLong clock = new AtomicLong(1_000_000);
    LeaseStore slow = new KeyValueLeaseStore(
        new MemoryKeyValueServer(this.cluster, this.cluster::commit, (query) -> {
          clock.addAndGet(100);
          return this.cluster.read(query);
        }),
        () -> Instant.ofEpochMilli(clock.get()),
        System::nanoTime,
        () -> "r" + clock.get());
    Claim claim = new Claim("a", LEASE, 0, Reason.CREATED);
    LeaseRow created = slow.create("x", claim).orElseThrow();
    long begun = clock.get();
    slow.acquire("x", created, claim);
    slow.read(Set.of("x"));

    long asked = clock.get();
    assertThat(age(slow, "x")).hasMillis(asked + 50 - begun);
  }

  @Test
  void theAgeOfARecordIsUnknownUntilItsHolderRenews() throws Exception {
    long earlier = lead(this.a, "x", "a");
    long term = lead(this.a, "y", "a");
    assertThat(age(this.b, "y")).isNegative();

    this.a.renew("a", Map.of("x", earlier, "y", term));

    assertThat(age(this.b, "y")).isGreaterThanOrEqualTo(Duration.ZERO);
  }

  private static Duration age(LeaseStore store, String id) throws LeaseStoreException {
    return Objects.requireNonNull(store.read(Set.of(id)).get(id)).age();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anElectionThatItsProcessRenewsNoMoreRestsThoughTheHeartbeatGoesOn(boolean reusesVersions)
      throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    lead(this.a, "x", "a");
    long term = lead(this.a, "y", "a");
    this.a.renew("a", Map.of("y", term));
    LeaseRow seen = row(this.b, "x");
    LeaseRow renewed = row(this.b, "y");

    this.a.renew("a", Map.of("y", term));
    this.a.renew("a", Map.of("y", term));

    assertThat(row(this.b, "y")).isNotEqualTo(renewed);
    assertThat(row(this.b, "x")).isEqualTo(seen);
    assertThat(age(this.b, "x")).as("unknown").isNegative();
    assertThat(take(this.b, "x", seen, "b")).isTrue();
  }

  /** Its record, which is replaced by hand and comes back, is missed by a read or by a renewal. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anElectionThatWasEditedRestsTooOnceItsProcessRenewsItNoMore(boolean reusesVersions)
      throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    Map<String, Long> both = Map.of("x", lead(this.a, "x", "a"), "y", lead(this.a, "y", "a"));
    Map<String, Long> one = Map.of("y", both.getOrDefault("y", 0L));
    String record = this.cluster.get("x");
    this.cluster.put("x", "a");
    this.a.read(Set.of("x"));
    assertThat(this.a.renew("a", both).renewed()).contains("x");
    assertRests("x", one);

    this.cluster.put("x", "c");
    this.a.read(Set.of("x"));
    this.cluster.put("x", record);
    assertThat(this.a.renew("a", both).renewed()).contains("x");
    assertRests("x", one);

    this.cluster.put("x", "c");
    assertThat(this.a.renew("a", both).renewed()).containsExactly("y");
    this.cluster.put("x", record);
    this.a.read(Set.of("x"));
    assertRests("x", one);
  }

  private void assertRests(String serviceId, Map<String, Long> renewing)
      throws LeaseStoreException {
    this.a.renew("a", renewing);
    LeaseRow seen = row(this.b, serviceId);
    this.a.renew("a", renewing);
    assertThat(row(this.b, serviceId)).isEqualTo(seen);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aTakeOverFailsIfTheHolderHasRenewedSinceItWasSeen(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    LeaseRow seen = row(this.b, "x");
    this.a.renew("a", Map.of("x", term));

    assertThat(take(this.b, "x", seen, "b")).isFalse();
    assertThat(this.a.renew("a", Map.of("x", term)).renewed()).containsExactly("x");
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aTakeOverFailsIfTheHolderRenewsAtThatMoment(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    LeaseRow seen = row(this.b, "x");
    this.cluster.interruption = () -> renewed("x", term);

    assertThat(take(this.b, "x", seen, "b")).isFalse();
  }

  /** Another process of the same name, after an operator has written that name. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aTwinDoesNotKeepWarmWhatTheHolderRenewsAtThatMoment(boolean reusesVersions)
      throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    this.cluster.put("x", "a");
    renewed("x", term);
    LeaseRow seen = row(this.b, "x");
    this.cluster.interruption = () -> renewed("x", term);

    assertThat(this.b.touch("x", seen)).isEmpty();
  }

  private void renewed(String serviceId, long term) {
    try {
      assertThat(this.a.renew("a", Map.of(serviceId, term)).renewed()).containsExactly(serviceId);
    } catch (LeaseStoreException ex) {
      throw new IllegalStateException(ex);
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void termsGrowThoughEverythingIsDeleted(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    for (String kept : List.of("nothing", Keys.IDENTITY)) {
      deleteAllBut(kept);
      long next = lead(this.b, "x", "b");
      assertThat(next).isGreaterThan(term);
      term = next;
    }
    deleteAllBut("nothing");
    this.cluster.put("x", "c");
    assertThat(this.a.acquire("x", row(this.a, "x"), claim("a", Reason.EXPIRED)).orElseThrow())
        .isGreaterThan(term);
  }

  private void deleteAllBut(String kept) {
    List.copyOf(this.cluster.entries.keySet()).stream()
        .filter((key) -> !key.equals(kept))
        .forEach(this.cluster::delete);
  }

  /** An operator deletes a record and writes a name, twice, and a node led in between. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void noLateTakeOverHitsARecordWrittenByHandAgain(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    this.cluster.put("x", "c");
    LeaseRow seen = row(this.a, "x");
    Commit late = sent(() -> take(this.a, "x", seen, "a"));
    assertThat(take(this.b, "x", row(this.b, "x"), "b")).isTrue();
    this.cluster.delete("x");
    this.cluster.put("x", "c");

    assertThat(this.cluster.commit(late)).isEmpty();
  }

  @Test
  void noLateCreationHitsAnElectionThatAnotherNodeLed() throws Exception {
    this.cluster.reusesVersions = true;
    Commit late = sent(() -> this.a.create("x", claim("a", Reason.CREATED)));
    lead(this.b, "x", "b");
    this.cluster.delete("x");

    assertThat(this.cluster.commit(late)).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void noLateCreationHitsAnElectionWhoseLastTermHadEnded(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    assertThat(this.a.release("x", "a", term, "", RESIGNED)).isTrue();
    this.cluster.delete("x");
    Commit late = sent(() -> this.a.create("x", claim("a", Reason.CREATED)));
    lead(this.b, "x", "b");
    this.cluster.delete("x");

    assertThat(this.cluster.commit(late)).isEmpty();
  }

  /** Its record was deleted, and another node keeps a new one warm, which comes to its version. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void noRenewalCountsForARecordThatAnotherNodeKeepsWarm(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    this.cluster.delete("x");
    LeaseRow row = this.b.create("x", claim("b", Reason.CREATED)).orElseThrow();
    row = this.b.touch("x", row).orElseThrow();

    assertThat(this.a.renew("a", Map.of("x", term)).renewed()).isEmpty();

    assertThat(row(this.b, "x")).isEqualTo(row);
  }

  /** The record has the number that the leader knows, and others watch another heartbeat. */
  @Test
  void noRenewalCountsForARecordByHandThatComesToTheVersionOfTheLeaders() throws Exception {
    this.cluster.reusesVersions = true;
    long term = lead(this.a, "x", "a");
    this.a.renew("a", Map.of("x", term));
    for (String text : List.of("a", "{\"leader\":\"a\",\"heartbeat\":\"other\"}")) {
      long number = this.cluster.entries.get("x").version().number();
      this.cluster.delete("x");
      while (this.cluster.entries.get("x") == null
          || this.cluster.entries.get("x").version().number() < number) {
        this.cluster.put("x", text);
      }
      LeaseRow seen = row(this.b, "x");

      boolean renewed = !this.a.renew("a", Map.of("x", term)).renewed().isEmpty();

      assertThat(renewed).isEqualTo(!row(this.b, "x").equals(seen));
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void noLateReleaseHitsTheNextLeader(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    Commit late = sent(() -> this.a.release("x", "a", term, "", RESIGNED));
    this.cluster.delete("x");
    lead(this.b, "x", "b");

    assertThat(this.cluster.commit(late)).isEmpty();
  }

  @Test
  void aReleaseWritesWithoutAReadingOnlyWhatThisProcessHasSeenLast() throws Exception {
    long x = lead(this.a, "x", "a");
    long y = lead(this.a, "y", "a");
    Map<String, Long> both = Map.of("x", x, "y", y);
    this.a.renew("a", both);
    assertThat(readingsOf(
            () -> assertThat(this.a.release("x", "a", x, "", RESIGNED)).isTrue()))
        .isZero();

    // Another node has written in between, and this one has seen that.
    lead(this.b, "z", "b");
    row(this.a, "z");
    assertThat(readingsOf(
            () -> assertThat(this.a.release("y", "a", y, "b", RESIGNED)).isTrue()))
        .isEqualTo(1);

    assertThat(row(this.b, "x").leaseMillis()).isZero();
    assertThat(row(this.b, "y").leaderId()).isEqualTo("b");
    for (Map.Entry<String, Long> led : both.entrySet()) {
      Term ended = Term.of(this.cluster.get(Keys.term(led.getKey(), led.getValue())));
      assertThat(ended.endReason()).isEqualTo("RESIGNED");
    }
  }

  /** A take-over goes on with the operation of the read, and so within its time limit. */
  @Test
  void aReadingCountsForATakeOverOnlyForAMoment() throws Exception {
    AtomicLong ticker = new AtomicLong();
    MemoryKeyValueServer server = new MemoryKeyValueServer(this.cluster);
    LeaseStore store = first(server, ticker::get);
    for (long millis : List.of(249L, 250L)) {
      String id = "x" + millis;
      long term = lead(this.a, id, "a");
      assertThat(this.a.release(id, "a", term, "", RESIGNED)).isTrue();
      LeaseRow free = row(store, id);
      int begun = server.begun;
      ticker.addAndGet(Duration.ofMillis(millis).toNanos());

      int readings = readingsOf(() -> assertThat(take(store, id, free, "b")).isTrue());

      assertThat(readings).isEqualTo(millis == 250 ? 1 : 0);
      assertThat(server.begun - begun).isEqualTo(readings);
    }
  }

  /** Other clients write while the server reads: the log is asked for after that. */
  @ParameterizedTest
  @CsvSource({"249, 0", "250, 1"})
  void aReadingCountsFromBeforeItWasSentAndItsLogFromAfterIt(long millis, int readings)
      throws Exception {
    AtomicLong ticker = new AtomicLong();
    MemoryKeyValueServer slow =
        new MemoryKeyValueServer(this.cluster, this.cluster::commit, (query) -> {
          ticker.addAndGet(Duration.ofMillis(millis).toNanos());
          this.cluster.put("of-another-client", "");
          return this.cluster.read(query);
        });
    LeaseStore store = first(slow, ticker::get);
    assertThat(this.a.release("x", "a", lead(this.a, "x", "a"), "", RESIGNED)).isTrue();
    store.read(Set.of("x"));
    LeaseRow free = row(store, "x");

    assertThat(readingsOf(() -> assertThat(take(store, "x", free, "b")).isTrue()))
        .isEqualTo(readings);
  }

  /** The log has begun again since the reading, and so another history may have. */
  @Test
  void aReadingThatProvesNothingIsNoneForATakeOver() throws Exception {
    LeaseStore store = first(new MemoryKeyValueServer(this.cluster), () -> 0);
    long term = lead(this.a, "x", "a");
    assertThat(this.a.release("x", "a", term, "", RESIGNED)).isTrue();
    row(store, "x");
    this.cluster.surplus = -1000;
    LeaseRow free = row(store, "x");
    assertThat(free.leaseMillis()).isZero();

    assertThat(take(store, "x", free, "b")).isFalse();

    assertThat(row(store, "x").leaseMillis()).as("watched, and not free").isEqualTo(LEASE);
  }

  @Test
  void aReadingCountsForOneTakeOver() throws Exception {
    LeaseStore store = first(new MemoryKeyValueServer(this.cluster), () -> 0);
    Set<String> ids = Set.of("x", "y");
    for (String id : ids) {
      assertThat(this.a.release(id, "a", lead(this.a, id, "a"), "", RESIGNED)).isTrue();
    }
    Map<String, LeaseStore.Reading> free = store.read(ids);

    assertThat(readingsOf(
            () -> assertThat(take(store, "x", free.get("x").row(), "b")).isTrue()))
        .isZero();
    assertThat(readingsOf(
            () -> assertThat(take(store, "y", free.get("y").row(), "b")).isTrue()))
        .isEqualTo(1);
  }

  static Stream<Arguments> otherCalls() {
    return Stream.of(
        Arguments.of("renew", (Call) (store) -> store.renew("b", Map.of("z", 1L))),
        Arguments.of("create", (Call) (store) -> store.create("z", claim("b", Reason.CREATED))),
        Arguments.of("members", (Call) (store) -> store.members(Set.of("x"))),
        Arguments.of("history", (Call) (store) -> store.history(Set.of("x"))),
        Arguments.of("prune", (Call) (store) -> store.prune(Map.of("x", 1L), Duration.ofDays(30))));
  }

  /** Another call of the store. */
  @FunctionalInterface
  private interface Call {

    void on(KeyValueLeaseStore store) throws LeaseStoreException;
  }

  @ParameterizedTest(name = "{0}")
  @MethodSource("otherCalls")
  void aReadingBeforeAnotherCallIsNoneForATakeOver(String name, Call call) throws Exception {
    KeyValueLeaseStore store = first(new MemoryKeyValueServer(this.cluster), () -> 0);
    assertThat(this.a.release("x", "a", lead(this.a, "x", "a"), "", RESIGNED)).isTrue();
    LeaseRow free = row(store, "x");
    call.on(store);

    assertThat(readingsOf(() -> assertThat(take(store, "x", free, "b")).isTrue()))
        .isEqualTo(1);
  }

  @Test
  void aReadingFromBeforeTheCloseIsNoneForATakeOver() throws Exception {
    LeaseStore store = first(new MemoryKeyValueServer(this.cluster), () -> 0);
    assertThat(this.a.release("x", "a", lead(this.a, "x", "a"), "", RESIGNED)).isTrue();
    LeaseRow free = row(store, "x");
    store.close();

    assertThat(readingsOf(() -> assertThat(take(store, "x", free, "b")).isTrue()))
        .isEqualTo(1);
  }

  @Test
  void aStoreThatIsOpenedAgainHoldsNoLeaseOfBefore() throws Exception {
    long term = lead(this.a, "x", "a");
    this.a.close();

    assertThat(this.a.renew("a", Map.of("x", term)).renewed()).isEmpty();
  }

  /** That reading does not show the heartbeat of the node itself, which the write compares. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aTakeOverThatGoesOnWithAReadingCostsNoOtherLease(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    LeaseStore store = first(new MemoryKeyValueServer(this.cluster), () -> 0);
    long held = lead(store, "y", "b");
    assertThat(this.a.release("x", "a", lead(this.a, "x", "a"), "", RESIGNED)).isTrue();

    assertThat(take(store, "x", row(store, "x"), "b")).isTrue();

    Map<String, Long> both = Map.of("x", row(this.a, "x").term(), "y", held);
    assertThat(store.renew("b", both).renewed()).isEqualTo(both.keySet());
  }

  /** The reading did not show that, but the write compares the heartbeat. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aTakeOverThatGoesOnWithAReadingReadsAgainIfTheHeartbeatIsGone(boolean reusesVersions)
      throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    LeaseStore store = first(new MemoryKeyValueServer(this.cluster), () -> 0);
    long lost = lead(store, "y", "b");
    assertThat(this.a.release("x", "a", lead(this.a, "x", "a"), "", RESIGNED)).isTrue();
    LeaseRow free = row(store, "x");
    this.cluster.below(Keys.HEARTBEATS).keySet().forEach(this.cluster::delete);

    assertThat(take(store, "x", free, "b")).isTrue();

    Map<String, Long> both = Map.of("x", row(this.a, "x").term(), "y", lost);
    assertThat(store.renew("b", both).renewed()).containsExactly("x");
  }

  @Test
  void aReadingThatShowsALeaderAsksForNoLog() throws Exception {
    LeaseStore store = first(new MemoryKeyValueServer(this.cluster), () -> 0);
    lead(this.a, "x", "a");
    row(store, "x");
    int asked = this.cluster.logsAsked;

    row(store, "x");

    assertThat(this.cluster.logsAsked).isEqualTo(asked);
  }

  /** A node that is the first to try for each record that was handed back. */
  private static KeyValueLeaseStore first(MemoryKeyValueServer server, Ticker ticker) {
    Supplier<String> random = () -> UUID.randomUUID().toString();
    WatchedKeys hints = new WatchedKeys() {
      @Override
      Set<String> open(Set<String> serviceIds) {
        return serviceIds;
      }
    };
    return new KeyValueLeaseStore(
        server, InstantSource.system(), ticker, random, new HeldLeases(random), hints);
  }

  private int readingsOf(ThrowingCallable call) throws Exception {
    this.cluster.queries.clear();
    assertThatCode(call).doesNotThrowAnyException();
    return this.cluster.queries.size();
  }

  /** The record, the term or the heartbeat was written in between, by whomever. */
  @Test
  void aReleaseReadsWhatHasChangedSinceThisProcessWroteIt() throws Exception {
    for (String id : List.of("x", "y", "z")) {
      long term = lead(this.a, id, "a");
      this.a.renew("a", Map.of(id, term));
      String key =
          List.of(Keys.record(id), Keys.term(id, term), heartbeat()).get(id.charAt(0) - 'x');
      this.cluster.put(key, this.cluster.get(key));

      boolean released = this.a.release(id, "a", term, "", RESIGNED);

      assertThat(released).as(key).isEqualTo(!key.equals(heartbeat()));
    }
  }

  private String heartbeat() {
    return Keys.HEARTBEATS + "/"
        + Keys.name(this.cluster.below(Keys.HEARTBEATS).keySet().iterator().next());
  }

  /** The server goes back behind the last renewal, to a state in which this node led too. */
  @Test
  void aReleaseOnAServerThatWasSetBackFreesNothing() throws Exception {
    long term = lead(this.a, "x", "a");
    MemoryKeyValueServer.Cluster.State before = this.cluster.state();
    long surplus = this.cluster.surplus;
    renewed("x", term);
    this.cluster.restore(before);
    this.cluster.surplus = surplus;

    this.a.release("x", "a", term, "", RESIGNED);

    LeaseStore fresh = new KeyValueLeaseStore(new MemoryKeyValueServer(this.cluster));
    assertThat(row(fresh, "x").leaseMillis()).as("watched, and not free").isEqualTo(LEASE);
  }

  /** Another client writes to the keys whenever this one is about to. */
  @Test
  void aCallWhoseCommitsAreAllRefusedEnds() throws Exception {
    List<Commit> refused = new ArrayList<>();
    AtomicBoolean refuses = new AtomicBoolean();
    LeaseStore store = new KeyValueLeaseStore(new MemoryKeyValueServer(
        this.cluster,
        (commit) ->
            refuses.get() && refused.add(commit) ? Optional.empty() : this.cluster.commit(commit),
        this.cluster::read));
    long term = lead(store, "x", "a");
    LeaseRow seen = row(store, "x");
    refuses.set(true);

    assertThat(store.create("y", claim("a", Reason.CREATED))).isEmpty();
    assertThat(refused).hasSize(4);
    assertThat(store.touch("x", seen)).isEmpty();
    assertThat(refused).hasSize(8);
    assertThat(take(store, "x", seen, "a")).isFalse();
    assertThat(refused).hasSize(12);
    assertThatThrownBy(() -> store.release("x", "a", term, "", RESIGNED))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("'x' changes while it is released");
    assertThat(refused).as("one of them without a reading").hasSize(17);
    assertThatThrownBy(() -> store.designate("x", "b", null, null))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("'x' belongs to another tool, or changes all the time");
    assertThat(refused).hasSize(21);
    LeaseStore.Renewals renewals = store.renew("a", Map.of("x", term));
    assertThat(renewals.renewed()).isEmpty();
    assertThat(renewals.unknown()).containsExactly("x");
    assertThat(renewals.problem()).contains("in a loop");
    assertThat(refused).hasSize(32);
  }

  @Test
  void aCallThatReadsAgainAndAgainEnds() throws Exception {
    List<Query> queries = new ArrayList<>();
    LeaseStore records = new KeyValueLeaseStore(new MemoryKeyValueServer(
        this.cluster, this.cluster::commit, (query) -> {
          if (query.keys().contains("x")) {
            queries.add(query);
            String token = "t" + queries.size();
            this.cluster.put("x", Json.write(new LeaseRecord("x", "c", 1L, LEASE, token)));
          }
          return this.cluster.read(query);
        }));
    assertThatThrownBy(() -> records.read(Set.of("x")))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("change while they are read");
    assertThat(queries).hasSize(4);

    queries.clear();
    this.cluster.reusesVersions = true;
    LeaseStore epochs = new KeyValueLeaseStore(
        new MemoryKeyValueServer(this.cluster, this.cluster::commit, (query) -> {
          queries.add(query);
          this.cluster.chooseLeader();
          return this.cluster.read(query);
        }));
    assertThatThrownBy(() -> epochs.create("y", claim("a", Reason.CREATED)))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("choose their leader again and again");
    assertThat(queries).as("each with one more for the identity").hasSize(8);
  }

  /** Otherwise a call has what an earlier one has left of the time limit. */
  @Test
  void eachCallBeginsItsTimeLimit() throws Exception {
    MemoryKeyValueServer server = new MemoryKeyValueServer(this.cluster);
    KeyValueLeaseStore store = new KeyValueLeaseStore(server);
    LeaseRow created = store.create("x", claim("a", Reason.CREATED)).orElseThrow();
    assertThat(server.begun).isEqualTo(1);
    LeaseRow touched = store.touch("x", created).orElseThrow();
    assertThat(server.begun).isEqualTo(2);
    long term = store.acquire("x", touched, claim("a", Reason.CREATED)).orElseThrow();
    assertThat(server.begun).isEqualTo(3);
    assertThat(store.renew("a", Map.of("x", term)).renewed()).hasSize(1);
    assertThat(server.begun).isEqualTo(4);
    assertThat(store.read(Set.of("x"))).hasSize(1);
    assertThat(store.read(Set.of())).isEmpty();
    assertThat(server.begun).isEqualTo(5);
    assertThat(store.designate("x", "b", null, null)).isTrue();
    assertThat(server.begun).isEqualTo(6);
    assertThat(store.release("x", "a", term, null, RESIGNED)).isTrue();
    assertThat(server.begun).isEqualTo(7);
    assertThat(store.members(Set.of("x")).get("x")).isEmpty();
    assertThat(server.begun).isEqualTo(8);
    assertThat(store.history(Set.of("x"))).hasSize(1);
    assertThat(server.begun).isEqualTo(9);
    store.prune(Map.of("x", term), Duration.ZERO);
    assertThat(server.begun).isEqualTo(10);
    store.announce(new Announcement(
        "a", Set.of("x"), Set.of(), true, Duration.ofMillis(LEASE), "1", "keys", Map.of(), ""));
    assertThat(server.begun).isEqualTo(11);
    assertThat(server.closed).isFalse();
    store.close();
    assertThat(server.closed).isTrue();
  }

  /** Returns a request that its sender gave up, and that may still arrive. */
  private Commit sent(ThrowingCallable call) {
    this.cluster.held = new ArrayList<>();
    assertThatThrownBy(call).isInstanceOf(LeaseStoreException.class);
    List<Commit> held = this.cluster.held;
    this.cluster.held = null;
    assertThat(held).hasSize(1);
    // Otherwise the next node could choose the same term, which hides what this request would do.
    this.cluster.put("unrelated", "");
    return held.get(0);
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aDeletedHeartbeatEndsTheLeaderships(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    this.a.renew("a", Map.of("x", term));
    List<Commit> late = new ArrayList<>(this.cluster.commits);
    this.cluster.below(Keys.HEARTBEATS).keySet().forEach(this.cluster::delete);

    assertThat(this.a.renew("a", Map.of("x", term)).renewed()).isEmpty();

    assertThat(take(this.a, "x", row(this.a, "x"), "a")).isTrue();
    for (Commit commit : late) {
      assertThat(this.cluster.commit(commit)).isEmpty();
    }
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void noLeaseComesBackAfterTheHeartbeatWasDeleted(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    Map<String, Long> terms = Map.of("x", lead(this.a, "x", "a"), "y", lead(this.a, "y", "a"));
    this.cluster.below(Keys.HEARTBEATS).keySet().forEach(this.cluster::delete);
    assertThat(this.a.renew("a", terms).renewed()).isEmpty();

    long other = lead(this.a, "z", "a");
    assertThat(this.a.release("w", "a", lead(this.a, "w", "a"), "", RESIGNED)).isTrue();

    this.a.renew("a", Map.of("z", other));
    assertThat(this.cluster.below(Keys.HEARTBEATS).values())
        .singleElement()
        .satisfies((value) -> assertThat(Heartbeat.of(value).except()).isEmpty());
    assertThat(this.a.renew("a", terms).renewed()).isEmpty();
  }

  /** The heartbeat that the copy names goes on, and does not renew this election. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aRecordThatWasCopiedFromAnotherElectionIsTakenAfterItsLease(boolean reusesVersions)
      throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    String held = this.cluster.value("x").orElseThrow();
    long other = lead(this.a, "released", "a");
    assertThat(this.a.release("released", "a", other, "", RESIGNED)).isTrue();
    String released = this.cluster.value("released").orElseThrow();
    for (String copy : List.of(held, released)) {
      for (String to : List.of("new", "led")) {
        String id = to + copy.length();
        if (to.equals("led")) {
          lead(this.b, id, "b");
        }
        this.cluster.put(id, copy);
        LeaseRow seen = row(this.b, id);
        assertThat(Objects.equals(seen.leaseMillis(), 0L)).as("free").isFalse();

        renewed("x", term);

        assertThat(row(this.b, id)).as(id).isEqualTo(seen);
        assertThat(take(this.b, id, seen, "b")).as(id).isTrue();
      }
    }
  }

  /** Of two elections of one leader, one record is copied over the other. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aCopyOverTheLeadersRecordIsReplacedByTheRecordThatItRenews(boolean reusesVersions)
      throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    lead(this.a, "x", "a");
    long term = lead(this.a, "y", "a");
    this.cluster.put("y", this.cluster.value("x").orElseThrow());
    LeaseRow seen = row(this.b, "y");

    assertThat(this.a.renew("a", Map.of("y", term)).renewed()).containsExactly("y");

    assertThat(row(this.b, "y")).isNotEqualTo(seen);
    assertThat(take(this.b, "y", seen, "b")).isFalse();
  }

  /** An operator ends the term, and writes the leader's name. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aNameByHandIsNotHeldInATermThatHasEnded(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    String key = Keys.term("x", term);
    Term ended = Term.of(this.cluster.value(key).orElseThrow()).over("by hand", null, 1);
    this.cluster.put(key, Json.write(ended));
    this.cluster.put("x", "a");

    assertThat(this.a.renew("a", Map.of("x", term)).renewed()).isEmpty();
    assertThat(this.cluster.value("x")).contains("a");
  }

  @Test
  void aRecordThatAnOperatorReleasesIsNotHeldThoughItNamesTheLeader() throws Exception {
    long term = lead(this.a, "x", "a");
    this.cluster.put("x", "{\"leader\":\"a\",\"leaseMillis\":0}");

    assertThat(this.a.renew("a", Map.of("x", term)).renewed()).isEmpty();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aNameByHandIsReplacedByTheRecordThatTheLeaderRenews(boolean reusesVersions)
      throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    long other = lead(this.a, "y", "a");
    this.cluster.put("x", "a");
    LeaseRow seen = row(this.b, "x");

    assertThat(this.a.renew("a", Map.of("x", term, "y", other)).renewed()).contains("x");

    assertThat(row(this.b, "x")).isNotEqualTo(seen);
  }

  /** Another one writes the heartbeat at that moment: a copy of the process, or an operator. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aNameByHandIsNotReplacedByARecordWithAHeartbeatOfAnother(boolean reusesVersions)
      throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    this.cluster.put("x", "a");
    Runnable edit = () -> this.cluster.below(Keys.HEARTBEATS).forEach(this.cluster::put);
    this.cluster.interruption = () -> this.cluster.interruption = edit;

    assertThat(this.a.renew("a", Map.of("x", term)).renewed()).isEmpty();

    assertThat(this.cluster.get("x")).isEqualTo("a");
  }

  /** Its process is the one that the last term names, since the record names none. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void theLeaderAloneCedesToANameByHand(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    this.cluster.put("x", "b");
    assertThat(this.b.designate("x", "c", null, new AuditNote("ops", "upgrade")))
        .isTrue();
    this.cluster.put("x", "b");

    assertThat(this.b.release("x", "a", term, null, RESIGNED)).isFalse();
    assertThat(this.a.release("x", "a", term, null, RESIGNED)).isTrue();

    assertThat(row(this.b, "x").leaderId()).isEqualTo("b");
    assertThat(row(this.b, "x").leaseMillis()).isZero();
    Term ended = Term.of(this.cluster.value(Keys.term("x", term)).orElseThrow());
    assertThat(ended.open()).isFalse();
    assertThat(ended.endedBy()).isEqualTo("ops");
  }

  /** Two nodes found an empty history at the same time, and one of them was late. */
  @Test
  void aMarkThatComesLateHidesNoLeader() throws Exception {
    this.cluster.reusesVersions = true;
    long term = lead(this.a, "x", "a");
    this.cluster.put(Keys.term("x", term + 5), Json.write(Term.MARK));
    this.cluster.put("x", "a");
    LeaseRow seen = row(this.b, "x");
    assertThat(seen.leaseMillis()).isEqualTo(LEASE);

    renewed("x", term);

    assertThat(row(this.b, "x")).isNotEqualTo(seen);
    assertThat(this.a.release("x", "a", term, "", RESIGNED)).isTrue();
    assertThat(take(this.b, "x", row(this.b, "x"), "b")).isTrue();
    assertThat(row(this.b, "x").term()).isGreaterThan(term + 5);
  }

  /** Otherwise a fence still lets the work of that term pass. */
  @Test
  void aTakeOverEndsTheTermBelowAMarkThatCameLate() throws Exception {
    long term = lead(this.a, "x", "a");
    this.cluster.put(Keys.term("x", term + 5), Json.write(Term.MARK));

    assertThat(take(this.b, "x", row(this.b, "x"), "b")).isTrue();

    assertThat(Term.of(this.cluster.get(Keys.term("x", term))).open()).isFalse();
  }

  /** An operator has taken the instruction back, and its note does not say why the term ended. */
  @Test
  void aHandBackDoesNotTakeOverTheNoteOfAnInstructionThatItDoesNotFollow() throws Exception {
    long term = lead(this.a, "x", "a");
    this.b.designate("x", "c", null, new AuditNote("ops", "upgrade"));
    this.cluster.put("x", "a");

    assertThat(this.a.release("x", "a", term, "", RESIGNED)).isTrue();

    assertThat(Term.of(this.cluster.get(Keys.term("x", term))).endedBy()).isNull();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anotherClusterShowsAnotherRecord(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    lead(this.a, "x", "a");
    LeaseRow seen = row(this.a, "x");
    assertThat(seen.own()).isTrue();

    this.cluster.identity = "restored";

    assertThat(row(this.a, "x")).isNotEqualTo(seen);
    assertThat(row(this.a, "x").own()).isFalse();
    assertThat(take(this.a, "x", seen, "a")).isFalse();
  }

  /** How a server goes back to an earlier state. */
  enum Restore {
    EPOCH,
    SNAPSHOT,

    /** Its log goes back too: only who has seen more notices that. */
    COPY,
    COPY_AFTER_SNAPSHOT
  }

  /**
   * A server goes back to a state in which the record was free. Since then a node took it, which may
   * still lead. Nobody may take it at once, nor be the second to lead in its term.
   */
  @ParameterizedTest
  @EnumSource
  void afterARestoreNoNodeTakesAtOnceWhatWasFree(Restore restore) throws Exception {
    this.cluster.reusesVersions = restore == Restore.EPOCH;
    long earlier = lead(this.a, "x", "a");
    if (restore == Restore.COPY_AFTER_SNAPSHOT) {
      this.cluster.restore(this.cluster.state());
      earlier =
          this.a.acquire("x", row(this.a, "x"), claim("a", Reason.EXPIRED)).orElseThrow();
    }
    assertThat(this.a.release("x", "a", earlier, "", RESIGNED)).isTrue();
    assertThat(row(this.b, "x").leaseMillis()).isZero();
    MemoryKeyValueServer.Cluster.State before = this.cluster.state();
    long surplus = this.cluster.surplus;
    LeaseRow released = row(this.a, "x");
    long term = this.a.acquire("x", released, claim("a", Reason.RELEASED)).orElseThrow();
    renewed("x", term);
    this.cluster.revision += 1_000_000;
    long other = lead(this.a, "y", "a");
    assertThat(row(this.b, "x").term()).isEqualTo(term);

    this.cluster.restore(before);
    if (restore.name().startsWith("COPY")) {
      this.cluster.surplus = surplus;
    }

    LeaseStore fresh = new KeyValueLeaseStore(new MemoryKeyValueServer(this.cluster));
    for (LeaseStore store : List.of(this.b, fresh)) {
      if (store == this.b) {
        assertThat(take(store, "x", released, "b")).isFalse();
      }
      LeaseRow restored = row(store, "x");
      assertThat(restored).isNotEqualTo(released);
      assertThat(restored.leaseMillis()).as("watched, and not free").isEqualTo(LEASE);
    }
    LeaseRow watched = row(this.b, "x");
    assertThat(this.a.renew("a", Map.of("x", term)).renewed()).isEmpty();
    assertThat(take(this.a, "x", released, "a")).isFalse();
    assertThat(take(this.b, "x", watched, "b"))
        .as("none has begun another history")
        .isTrue();
    assertThat(row(fresh, "x").term()).isNotEqualTo(term);
    assertThat(lead(fresh, "y", "c")).isGreaterThan(other);
  }

  /**
   * Another election's lease is shorter, and so a node leads it early in the restored history. That
   * says nothing of who leads this one.
   */
  @ParameterizedTest
  @CsvSource({"false, false", "true, false", "false, true", "true, true"})
  void afterARestoreEachElectionIsWatchedForItsOwnLease(boolean reusesVersions, boolean held)
      throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    lead(this.a, "short", "a");
    if (!held) {
      assertThat(this.a.release("x", "a", term, "", RESIGNED)).isTrue();
    }
    MemoryKeyValueServer.Cluster.State before = this.cluster.state();
    assertThat(take(this.b, "x", row(this.b, "x"), "b")).isTrue();

    this.cluster.restore(before);

    LeaseStore c = new KeyValueLeaseStore(new MemoryKeyValueServer(this.cluster));
    row(c, "short");
    assertThat(take(c, "short", row(c, "short"), "c")).isTrue();
    if (held) {
      // A process that was paused knows nothing of the later history.
      assertThat(this.a.release("x", "a", term, "", RESIGNED)).isTrue();
    }

    assertThat(row(c, "x").leaseMillis()).as("watched, and not free").isEqualTo(LEASE);
    assertThat(take(c, "x", row(c, "x"), "c")).isTrue();
    long next = row(c, "x").term();
    assertThat(c.release("x", "c", next, "", RESIGNED)).isTrue();
    assertThat(row(this.b, "x").leaseMillis()).as("free in this history").isZero();
  }

  @Test
  void aRestoreIsToldOfByOneNodeAndANewClusterIsNot() throws Exception {
    ListAppender<ILoggingEvent> told = new ListAppender<>();
    told.start();
    Logger logger = (Logger) LoggerFactory.getLogger(Lineage.class);
    logger.addAppender(told);
    try {
      lead(this.a, "x", "a");
      assertThat(told.list).isEmpty();
      this.cluster.restore(this.cluster.state());
      row(this.a, "x");
      row(this.b, "x");
    } finally {
      logger.detachAppender(told);
    }
    assertThat(told.list).singleElement().asString().contains("restored from a snapshot");
  }

  /** The data that were put back are older than all elections. */
  @Test
  void termsGrowThoughTheServerWentBackBehindItsIdentity() throws Exception {
    MemoryKeyValueServer.Cluster.State before = this.cluster.state();
    this.cluster.revision += 1_000_000;
    long term = lead(this.a, "x", "a");
    this.cluster.restore(before);

    assertThat(lead(this.a, "x", "a")).isGreaterThan(term);
  }

  /** An operator restores the same snapshot twice. The data do not show the first restore. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void noTermBeginsTwiceThoughASnapshotIsRestoredTwice(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    lead(this.a, "x", "a");
    MemoryKeyValueServer.Cluster.State before = this.cluster.state();
    Set<Long> terms = new HashSet<>();
    for (int i = 0; i < 2; i++) {
      this.cluster.restore(before);
      Instant now = Instant.now().plusSeconds(i);
      LeaseStore store = new KeyValueLeaseStore(
          new MemoryKeyValueServer(this.cluster),
          () -> now,
          System::nanoTime,
          () -> UUID.randomUUID().toString());
      for (int j = 0; j < 10; j++) {
        assertThat(take(store, "x", row(store, "x"), "b" + j)).isTrue();
        assertThat(terms.add(row(store, "x").term())).isTrue();
      }
      assertThat(terms.add(lead(store, "y", "b"))).isTrue();
    }
  }

  /** The data of ZooKeeper do not show that an epoch is used again. */
  @Test
  void termsAfterAnotherEpochBeginAtTheTime() throws Exception {
    this.cluster.reusesVersions = true;
    lead(this.a, "x", "a");
    MemoryKeyValueServer.Cluster.State before = this.cluster.state();
    for (long millis : List.of(1_700_000_000_000L, 1_700_000_000_001L)) {
      this.cluster.restore(before);
      LeaseStore store = new KeyValueLeaseStore(
          new MemoryKeyValueServer(this.cluster),
          () -> Instant.ofEpochMilli(millis),
          System::nanoTime,
          () -> UUID.randomUUID().toString());
      long term =
          store.acquire("x", row(store, "x"), claim("b", Reason.EXPIRED)).orElseThrow();

      assertThat(term).isBetween(millis * 1_000, millis * 1_000 + 99);
      assertThat(lead(store, "y", "b")).isBetween(millis * 1_000, millis * 1_000 + 99);
    }
  }

  /** The server is set back while a process leads, to a state that differs in nothing of its own. */
  @Test
  void aRenewalInARevisionThatWasSeenBeforeDoesNotCount() throws Exception {
    long term = lead(this.a, "x", "a");
    MemoryKeyValueServer.Cluster.State before = this.cluster.state();
    this.cluster.put("unrelated", "");
    row(this.a, "x");

    this.cluster.restore(before);

    assertThat(this.a.renew("a", Map.of("x", term)).renewed()).isEmpty();
  }

  static Stream<Arguments> copies() {
    return Stream.of(true, false)
        .flatMap((reuses) -> Stream.of(true, false).map((led) -> Arguments.of(reuses, led)));
  }

  /** A copy of the process renews at that moment, or an operator edits its heartbeat. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aTakeOverWhileAnotherWritesTheHeartbeatIsUnderAnotherToken(boolean reusesVersions)
      throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long earlier = lead(this.a, "x", "a");
    LeaseRow created = this.a.create("y", claim("a", Reason.CREATED)).orElseThrow();
    this.cluster.interruption =
        () -> this.cluster.below(Keys.HEARTBEATS).forEach(this.cluster::put);

    long term = this.a.acquire("y", created, claim("a", Reason.CREATED)).orElseThrow();

    assertThat(this.cluster.below(Keys.HEARTBEATS)).hasSize(2);
    assertThat(this.a.renew("a", Map.of("x", earlier, "y", term)).renewed()).containsExactly("y");
  }

  @Test
  void aFenceLooksAtTheTermsKeyAndIsOpenWhileANodeLeads() {
    Term created = Term.opened("a", LEASE, "CREATED", null, 1);
    Term led = created.led(LEASE, "token", 2);

    assertThat(KeyValueLeaseStore.termKey("x", 7)).isEqualTo(Keys.term("x", 7));
    assertThat(KeyValueLeaseStore.isOpenTerm(Json.write(led))).isTrue();
    for (Term other : List.of(Term.MARK, created, led.over("EXPIRED", null, 3))) {
      assertThat(KeyValueLeaseStore.isOpenTerm(Json.write(other))).isFalse();
    }
  }

  /** Two processes have one token: what one of them renews must not hide what the other renews. */
  @ParameterizedTest
  @MethodSource("copies")
  void ofTwoCopiesOfAProcessOneTakesAnotherToken(boolean reusesVersions, boolean hadLed)
      throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    LeaseStore third = new KeyValueLeaseStore(new MemoryKeyValueServer(this.cluster));
    if (hadLed) {
      long term = lead(this.a, "earlier", "a");
      assertThat(this.a.release("earlier", "a", term, "", RESIGNED)).isTrue();
    } else {
      this.cluster.put("earlier", "c");
      this.a.read(Set.of("earlier"));
    }
    LeaseStore copy = copyOf(this.a);

    Map<String, Long> x = new HashMap<>(Map.of("x", lead(this.a, "x", "a")));
    Map<String, Long> y = new HashMap<>(Map.of("y", lead(copy, "y", "a")));
    Map<String, LeaseRow> seen = new HashMap<>();
    for (int i = 0; i < 5; i++) {
      this.a.read(Set.of("x", "y"));
      copy.read(Set.of("x", "y"));
      renewed(this.a, x);
      renewed(copy, y);
      changed(x, third, seen);
      renewed(copy, y);
      renewed(this.a, x);
      changed(y, third, seen);
    }
    assertThat(x.size() + y.size()).as("one of them goes on").isPositive();
  }

  /** Renews leases, of which those remain that are renewed. */
  private static void renewed(LeaseStore leader, Map<String, Long> terms)
      throws LeaseStoreException {
    terms.keySet().retainAll(leader.renew("a", terms).renewed());
  }

  private static void changed(
      Map<String, Long> renewed, LeaseStore reader, Map<String, LeaseRow> last)
      throws LeaseStoreException {
    for (String id : renewed.keySet()) {
      LeaseRow now = row(reader, id);
      assertThat(now).as(id).isNotEqualTo(last.put(id, now));
    }
  }

  private LeaseStore copyOf(LeaseStore original) throws Exception {
    KeyValueLeaseStore copy = new KeyValueLeaseStore(new MemoryKeyValueServer(this.cluster));
    Copies.copy((KeyValueLeaseStore) original, copy);
    return copy;
  }

  /** A poll may show neither renewal: a later pause of them must not look like an earlier one. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anElectionThatIsRenewedBetweenTwoPausesHasChanged(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    Map<String, Long> both = Map.of("x", lead(this.a, "x", "a"), "y", lead(this.a, "y", "a"));
    Map<String, Long> one = Map.of("y", both.getOrDefault("y", 0L));
    this.a.renew("a", one);
    LeaseRow paused = row(this.b, "x");
    this.a.renew("a", both);
    this.a.renew("a", one);

    assertThat(row(this.b, "x")).isNotEqualTo(paused);
    assertThat(take(this.b, "x", paused, "b")).isFalse();
  }

  /** A renewal without an answer may have written the heartbeat. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void whatItsOwnRequestWroteWithoutAnAnswerIsNoOtherProcess(boolean reusesVersions)
      throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    Commit late = sent(() -> this.a.renew("a", Map.of("x", term)));
    assertThat(this.cluster.commit(late)).isPresent();

    assertThat(this.a.renew("a", Map.of("x", term)).renewed()).containsExactly("x");

    Commit never = sent(() -> this.a.renew("a", Map.of("x", term)));
    assertThat(this.a.renew("a", Map.of("x", term)).renewed()).containsExactly("x");
    assertThat(this.cluster.commit(never)).isEmpty();
  }

  /** The same for the first heartbeat, which a take-over creates. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aTakeOverWithoutAnAnswerLeavesTheProcessItsToken(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    LeaseRow created = this.a.create("x", claim("a", Reason.CREATED)).orElseThrow();
    Commit late = sent(() -> this.a.acquire("x", created, claim("a", Reason.CREATED)));
    assertThat(this.cluster.commit(late)).isPresent();

    long term = lead(this.a, "y", "a");

    assertThat(this.cluster.below(Keys.HEARTBEATS)).hasSize(1);
    Map<String, Long> both = Map.of("x", row(this.a, "x").term(), "y", term);
    assertThat(this.a.renew("a", both).renewed()).isEqualTo(both.keySet());
  }

  /** An operator writes something into the heartbeat, even what was there. */
  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void anEditedHeartbeatEndsTheLeaderships(boolean reusesVersions) throws Exception {
    this.cluster.reusesVersions = reusesVersions;
    long term = lead(this.a, "x", "a");
    this.a.renew("a", Map.of("x", term));
    this.cluster.below(Keys.HEARTBEATS).forEach(this.cluster::put);

    assertThat(this.a.renew("a", Map.of("x", term)).renewed()).isEmpty();

    assertThat(take(this.a, "x", row(this.a, "x"), "a")).isTrue();
    assertThat(this.cluster.below(Keys.HEARTBEATS)).hasSize(2);
  }

  static Stream<String> whateverIsWrittenByHandIsRead() {
    return Stream.of(
        "{",
        "{\"leader\":[1]}",
        "\u0000",
        "a\nb",
        "{}",
        "",
        "x".repeat(1_000_000),
        "{" + "\"x\":[".repeat(100_000),
        // Of a later version, or of none.
        "{\"leader\":\"c\",\"term\":9,\"leaseMillis\":5000,\"heartbeat\":\"t\",\"priority\":{\"a\":1}}",
        "{\"leader\":\"c\",\"term\":-9,\"leaseMillis\":-5000,\"heartbeat\":\"a/b\"}");
  }

  @ParameterizedTest
  @MethodSource
  void whateverIsWrittenByHandIsRead(String text) throws Exception {
    lead(this.a, "x", "a");
    this.cluster.put("x", text);

    LeaseRow row = row(this.b, "x");

    assertThat(row.leaderId()).hasSizeLessThan(130).doesNotContain("\n", "\u0000");
    assertThat(take(this.b, "x", row, "b")).isTrue();
  }

  @ParameterizedTest
  @ValueSource(booleans = {false, true})
  void aChangeWakesTheNode(boolean readsFirst) throws Exception {
    lead(this.a, "x", "a");
    CountDownLatch woken = new CountDownLatch(1);
    if (readsFirst) {
      this.b.read(Set.of("x"));
    }
    LeaseStore.Watch watch = this.b.watch("b", woken::countDown);
    if (!readsFirst) {
      this.b.read(Set.of("x"));
    }
    this.cluster.put("x", "b");

    assertThat(woken.await(10, TimeUnit.SECONDS)).isTrue();
    watch.close();
  }

  private static Claim claim(String nodeId, Reason reason) {
    return new Claim(nodeId, LEASE, 0, reason);
  }

  private static long lead(LeaseStore store, String serviceId, String nodeId)
      throws LeaseStoreException {
    LeaseRow created = store.create(serviceId, claim(nodeId, Reason.CREATED)).orElseThrow();
    return store.acquire(serviceId, created, claim(nodeId, Reason.CREATED)).orElseThrow();
  }

  private static boolean take(LeaseStore store, String serviceId, LeaseRow seen, String nodeId)
      throws LeaseStoreException {
    return store.acquire(serviceId, seen, claim(nodeId, Reason.EXPIRED)).isPresent();
  }

  private static LeaseRow row(LeaseStore store, String serviceId) throws LeaseStoreException {
    return Objects.requireNonNull(store.read(Set.of(serviceId)).get(serviceId)).row();
  }
}
