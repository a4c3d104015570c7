package io.election.etcd;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.protobuf.ByteString;
import io.election.LeadershipLostException;
import io.election.keyvalue.KeyValueLeaseStore;
import io.election.keyvalue.KeyValueServer.Answer;
import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Create;
import io.election.keyvalue.KeyValueServer.Delete;
import io.election.keyvalue.KeyValueServer.Entry;
import io.election.keyvalue.KeyValueServer.Folder;
import io.election.keyvalue.KeyValueServer.Put;
import io.election.keyvalue.KeyValueServer.Query;
import io.election.keyvalue.KeyValueServer.Snapshot;
import io.election.keyvalue.KeyValueServer.Version;
import io.election.store.LeaseStoreException;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RangeResponse;
import io.etcd.jetcd.api.ResponseHeader;
import io.etcd.jetcd.api.ResponseOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import io.grpc.Status;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

/** What is sent, and what follows from the answer. */
class EtcdServerTest {

  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private static final Query FEW = new Query(Set.of("billing"), Set.of(), true);

  @AutoClose
  private final ScriptedEtcd etcd = new ScriptedEtcd();

  @AutoClose
  private final ScriptedEtcd another = new ScriptedEtcd();

  @AutoClose
  private final EtcdServer server = server(PATIENCE, "");

  EtcdServerTest() throws Exception {}

  private EtcdServer server(Duration timeout, String username) {
    EtcdLogin login = new EtcdLogin(username, "secret", System::nanoTime);
    return new EtcdServer(
        ScriptedEtcd.channels(login, this.etcd, this.another), "/election/", timeout);
  }

  private static Set<String> keys(String format, int count) {
    return IntStream.range(0, count).mapToObj(format::formatted).collect(Collectors.toSet());
  }

  private static KeyValue pair(String key, long revision, long lease) {
    return KeyValue.newBuilder()
        .setKey(ByteString.copyFromUtf8("/election/" + key))
        .setValue(ByteString.copyFromUtf8("value of " + key))
        .setModRevision(revision)
        .setLease(lease)
        .build();
  }

  private static TxnResponse found(long revision, KeyValue... pairs) {
    return TxnResponse.newBuilder()
        .setHeader(ResponseHeader.newBuilder().setRevision(revision).setClusterId(255))
        .setSucceeded(true)
        .addResponses(ResponseOp.newBuilder()
            .setResponseRange(RangeResponse.newBuilder().addAllKvs(List.of(pairs))))
        .build();
  }

  private static List<RangeRequest> ranges(TxnRequest transaction) {
    return transaction.getSuccessList().stream()
        .map((operation) -> operation.getRequestRange())
        .toList();
  }

  private TxnRequest only() {
    assertThat(this.etcd.transactions()).hasSize(1);
    return this.etcd.transactions().remove(0);
  }

  /** Refuses transactions with more operations than that, as etcd does. */
  private void allow(int operations) {
    this.etcd.answer((transaction) -> {
      if (transaction.getSuccessCount() > operations
          || transaction.getCompareCount() > operations) {
        throw Status.INVALID_ARGUMENT
            .withDescription("etcdserver: too many operations in txn request")
            .asRuntimeException();
      }
      return found(1);
    });
  }

  @Test
  void aReadAsksForKeysAndForTheNewestBelowOthers() throws Exception {
    this.etcd.answer((transaction) -> found(9, pair("billing", 7, 0), pair("~x/1", 8, 5)));
    for (boolean fresh : new boolean[] {true, false}) {
      Snapshot snapshot = this.server.read(
          new Query(Set.of("billing"), Set.of(new Folder("~terms/billing", 3)), fresh));

      assertThat(ranges(only()))
          .containsExactly(
              RangeRequest.newBuilder()
                  .setKey(ByteString.copyFromUtf8("/election/billing"))
                  .setSerializable(!fresh)
                  .build(),
              RangeRequest.newBuilder()
                  .setKey(ByteString.copyFromUtf8("/election/~terms/billing/"))
                  .setRangeEnd(ByteString.copyFromUtf8("/election/~terms/billing0"))
                  .setSortTarget(RangeRequest.SortTarget.KEY)
                  .setSortOrder(RangeRequest.SortOrder.DESCEND)
                  .setLimit(3)
                  .setSerializable(!fresh)
                  .build());
      assertThat(snapshot)
          .isEqualTo(new Snapshot(
              Map.of(
                  "billing", new Entry("value of billing", new Version(7, 7), false),
                  "~x/1", new Entry("value of ~x/1", new Version(8, 8), true)),
              "ff",
              9,
              0));
    }
  }

  @Test
  void upToAHundredRecordsAreAskedForByTheirKeysAndMoreByTheirRanges() throws Exception {
    Set<String> hundred = keys("a%03d", 100);
    this.server.read(new Query(hundred, Set.of(), true));
    assertThat(ranges(only()))
        .hasSize(100)
        .allMatch((range) -> range.getRangeEnd().isEmpty());

    this.etcd.answer((transaction) -> found(9, pair("a000", 1, 0), pair("another", 1, 0)));
    Set<String> more = keys("a%03d", 101);
    Snapshot snapshot = this.server.read(new Query(
        Stream.concat(more.stream(), Stream.of("~x/1")).collect(Collectors.toSet()),
        Set.of(),
        true));
    assertThat(ranges(only()))
        .extracting((range) -> range.getKey().toStringUtf8())
        .containsExactly("/election/", "/election/\u007f", "/election/~x/1");
    assertThat(snapshot.entries()).containsOnlyKeys("a000");
  }

  @Test
  void moreThanATransactionMayAskForIsReadByTwoAndIsAsOldAsTheOlder() throws Exception {
    AtomicInteger revision = new AtomicInteger(9);
    this.etcd.answer((transaction) -> found(revision.getAndDecrement()));
    Snapshot snapshot = this.server.read(new Query(keys("~x/%d", 101), Set.of(), true));

    assertThat(this.etcd.transactions())
        .extracting(TxnRequest::getSuccessCount)
        .containsExactly(100, 1);
    assertThat(snapshot.revision()).isEqualTo(8);
  }

  @Test
  void aServerThatAllowsFewerOperationsIsAskedForHalfAsMany() throws Exception {
    allow(12);
    this.server.read(new Query(keys("~x/%d", 30), Set.of(), true));
    assertThat(this.etcd.transactions())
        .extracting(TxnRequest::getSuccessCount)
        .containsExactly(30, 30, 25, 12, 12, 6);
    allow(11);
    assertThatThrownBy(() -> this.server.read(new Query(keys("~x/%d", 12), Set.of(), true)))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("--max-txn-ops=128");
    this.server.read(FEW);
    assertThat(this.another.transactions()).as("the connection works").isEmpty();
  }

  @Test
  void aCommitComparesAndWrites() throws Exception {
    this.etcd.answer((transaction) -> found(9));
    Version seen = new Version(5, 5);
    Commit commit = new Commit(
        Map.of("billing", seen),
        List.of(new Create("~c", "1"), new Put("~p", "2", seen), new Delete("~d", seen)),
        0);

    assertThat(this.server.commit(commit))
        .hasValue(Map.of("~c", new Version(9, 9), "~p", new Version(9, 9)));
    TxnRequest sent = only();
    assertThat(sent.getCompareList())
        .containsExactly(
            this.server.isWritten("billing", seen),
            this.server.isWritten("~c", new Version(0, 0)),
            this.server.isWritten("~p", seen),
            this.server.isWritten("~d", seen));
    assertThat(sent.getCompare(0))
        .isEqualTo(Compare.newBuilder()
            .setKey(ByteString.copyFromUtf8("/election/billing"))
            .setTarget(Compare.CompareTarget.MOD)
            .setResult(Compare.CompareResult.EQUAL)
            .setModRevision(5)
            .build());
    assertThat(sent.getSuccess(0).getRequestPut().getKey().toStringUtf8())
        .isEqualTo("/election/~c");
    assertThat(sent.getSuccess(1).getRequestPut().getValue().toStringUtf8()).isEqualTo("2");
    assertThat(sent.getSuccess(2).getRequestDeleteRange().getKey().toStringUtf8())
        .isEqualTo("/election/~d");
    this.etcd.answer((transaction) -> TxnResponse.getDefaultInstance());
    assertThat(this.server.commit(commit)).isEmpty();
  }

  /** Sends a commit with checks alone; returns the first and the last key of each comparison. */
  private List<String> compared(List<String> keys) throws Exception {
    Map<String, Version> checks = new TreeMap<>();
    keys.forEach((key) -> checks.put(key, new Version(5, 5)));
    this.etcd.answer((transaction) -> found(9));
    this.server.commit(new Commit(checks, List.of(), 7));
    List<String> compared = new ArrayList<>();
    for (Compare compare : only().getCompareList()) {
      String from = compare.getKey().toStringUtf8().substring("/election/".length());
      assertThat(compare.getTarget()).isEqualTo(Compare.CompareTarget.MOD);
      if (compare.getRangeEnd().isEmpty()) {
        assertThat(compare.getResult()).isEqualTo(Compare.CompareResult.EQUAL);
        assertThat(compare.getModRevision()).isEqualTo(5);
        compared.add(from);
      } else {
        assertThat(compare.getResult()).isEqualTo(Compare.CompareResult.LESS);
        assertThat(compare.getModRevision()).isEqualTo(7 + 1);
        String end = compare.getRangeEnd().toStringUtf8();
        assertThat(end).endsWith("\0");
        compared.add(from + " to " + end.substring("/election/".length(), end.length() - 1));
      }
    }
    return compared;
  }

  /** Makes the server know these records, and a hundred that nothing is asked about. */
  private void know(String... records) throws Exception {
    KeyValue[] pairs = Stream.of(records).map((key) -> pair(key, 1, 0)).toArray(KeyValue[]::new);
    this.etcd.answer((transaction) -> found(9, pairs));
    this.server.read(new Query(keys("z%03d", 101), Set.of(), true));
    only();
  }

  private static List<String> sorted(String format, int count) {
    return keys(format, count).stream().sorted().toList();
  }

  @Test
  void manyChecksAreComparedByRangesWithoutRecordsOfOthers() throws Exception {
    assertThat(compared(sorted("a%03d", 99))).isEqualTo(sorted("a%03d", 99));
    assertThat(compared(sorted("a%03d", 100))).containsExactly("a000 to a099");

    know("a000", "a050x");
    List<String> mixed = new ArrayList<>(sorted("a%03d", 100));
    mixed.addAll(List.of("~terms/a/1", "~terms/b/1", "\u8d26\u6237", "\u8d26\u6238"));
    assertThat(compared(mixed))
        .containsExactly(
            "a000 to a050",
            "a051 to a099",
            "~terms/a/1",
            "~terms/b/1",
            "\u8d26\u6237 to \u8d26\u6238");
  }

  /** Each gap has a record of another node, except that one has two: it stays open. */
  @Test
  void ifThereAreTooManyRangesThoseWithTheFewestRecordsOfOthersAreJoined() throws Exception {
    List<String> others = new ArrayList<>();
    for (String key : sorted("a%03d", 102)) {
      others.add(key + "x");
      if (!Set.of("a010", "a020", "a030").contains(key)) {
        others.add(key + "y");
      }
    }
    know(others.toArray(String[]::new));

    List<String> compared = compared(sorted("a%03d", 102));
    assertThat(compared).hasSize(99).contains("a010 to a011", "a020 to a021", "a030 to a031");
  }

  @Test
  void aTokenThatHasExpiredIsReplacedOnce() throws Exception {
    try (EtcdServer server = server(PATIENCE, "ours")) {
      server.begin();
      server.read(FEW);
      AtomicInteger refusals = new AtomicInteger(1);
      this.etcd.answer((transaction) -> {
        if (refusals.getAndDecrement() > 0) {
          throw Status.UNAUTHENTICATED
              .withDescription("etcdserver: invalid auth token")
              .asRuntimeException();
        }
        return found(9);
      });
      assertThat(server.read(FEW).revision()).isEqualTo(9);
      assertThat(this.etcd.logins()).hasSize(2);

      refusals.set(2);
      assertThatThrownBy(() -> server.read(FEW)).hasMessageContaining("invalid auth token");
      assertThat(this.etcd.transactions()).hasSize(5);
    }
  }

  @Test
  void aFailureIsFollowedByTheNextEndpointUnlessNoOtherIsBetter() throws Exception {
    this.etcd.answer((transaction) -> {
      throw Status.RESOURCE_EXHAUSTED.asRuntimeException();
    });
    assertThatThrownBy(() -> this.server.read(FEW)).isInstanceOf(LeaseStoreException.class);
    this.etcd.answer((transaction) -> {
      throw Status.UNAVAILABLE.asRuntimeException();
    });
    assertThatThrownBy(() -> this.server.read(FEW)).hasMessageContaining("UNAVAILABLE");
    assertThat(this.etcd.transactions()).hasSize(2);
    this.server.read(FEW);
    assertThat(this.another.transactions()).hasSize(1);

    this.server.close();
    ScriptedEtcd.await("closed").until(() -> this.another.connections() == 0);
  }

  @Test
  void theCallsOfAnOperationEndTogether() throws Exception {
    try (EtcdServer server = server(Duration.ofMillis(300), "")) {
      this.etcd.answer((transaction) -> null);
      server.begin();
      assertThatThrownBy(() -> server.read(FEW))
          .hasMessageContaining("has not answered within 300 ms");
      assertThatThrownBy(() -> server.read(FEW))
          .as("the time of this operation is over")
          .hasMessageContaining("has not answered within 300 ms");
      assertThat(this.another.transactions()).isEmpty();
    }
  }

  @Test
  void aCommitWithTooManyComparisonsIsRepeatedWithFewer() throws Exception {
    allow(50);
    Map<String, Version> checks = new TreeMap<>();
    keys("a%03d", 60).forEach((key) -> checks.put(key, new Version(5, 5)));

    assertThat(this.server.commit(new Commit(checks, List.of(), 7))).isPresent();
    assertThat(this.etcd.transactions())
        .extracting(TxnRequest::getCompareCount)
        .containsExactly(60, 1);
  }

  @Test
  void theServerIsEtcd() throws Exception {
    assertThat(this.server.name()).isEqualTo("etcd");
    assertThat(this.server.reusesVersions()).isFalse();
    assertThat(this.server.logIndex().await()).hasValue(ScriptedEtcd.LOG_INDEX);
    this.server.watch((change) -> {}).close();
  }

  @Test
  void aThreadThatIsInterruptedWhileItWaitsForTheLogRemainsInterrupted() throws Exception {
    this.etcd.hideLog();
    Answer<OptionalLong> index = this.server.logIndex();
    Thread.currentThread().interrupt();
    assertThatThrownBy(index::await).isInstanceOf(LeaseStoreException.class);
    assertThat(Thread.interrupted()).isTrue();
  }

  /** Each call of a fence is an operation with its own time. */
  @Test
  void aFenceWorksAfterACallThatWasNotAnswered() throws Exception {
    String key = KeyValueLeaseStore.termKey("billing", 7);
    EtcdFence fence = new EtcdFence(server(Duration.ofMillis(300), ""));
    this.etcd.answer((transaction) -> null);
    TxnResponse response = found(9, pair(key, 9, 0));
    this.another.answer((transaction) -> response);

    assertThatThrownBy(() -> fence.compare("billing", "a", 7))
        .isInstanceOf(LeaseStoreException.class);
    ScriptedEtcd.await("answered")
        .untilAsserted(() -> assertThatThrownBy(() -> fence.compare("billing", "a", 7))
            .isInstanceOf(LeadershipLostException.class));
    this.another.answer((transaction) -> null);
    assertThatThrownBy(() -> fence.send(TxnRequest.getDefaultInstance()))
        .isInstanceOf(LeaseStoreException.class);
    this.etcd.answer((transaction) -> response);
    ScriptedEtcd.await("answered")
        .ignoreExceptions()
        .until(() -> fence.send(TxnRequest.getDefaultInstance()).equals(response));
    fence.close();
    ScriptedEtcd.await("closed").until(() -> this.etcd.connections() == 0);
  }

  @Test
  void aStoreUsesItsLoginAndTheUsualPort() throws Exception {
    try (EtcdLeaseStore store = EtcdLeaseStore.builder(List.of(this.etcd.url()))
        .login("ours", "secret")
        .operationTimeout(PATIENCE)
        .build()) {
      assertThat(store.read(Set.of("billing"))).isEmpty();
      assertThat(this.etcd.logins()).hasSize(1);
    }
    try (EtcdLeaseStore store = EtcdLeaseStore.builder(
            List.of("http://127.0.0.254", "http://127.0.0.254:65535"))
        .build()) {
      assertThatThrownBy(() -> store.read(Set.of("billing")))
          .hasMessageContaining("127.0.0.254:2379, 127.0.0.254:65535");
    }
  }
}
