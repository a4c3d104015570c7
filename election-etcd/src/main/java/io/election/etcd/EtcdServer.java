package io.election.etcd;

import com.google.protobuf.ByteString;
import io.election.keyvalue.KeyValueServer;
import io.election.store.LeaseStoreException;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.DeleteRangeRequest;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.PutRequest;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.ResponseOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import io.grpc.Channel;
import io.grpc.StatusRuntimeException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.NavigableSet;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BiFunction;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** The keys of an etcd cluster below a prefix. */
final class EtcdServer implements KeyValueServer {

  /** A transaction of a server that allows fewer operations than this is refused. */
  private static final int FEWEST_OPERATIONS = 12;

  /** The terms of Raft prove nothing: a restored cluster may be in the same, or merely elect. */
  private static final long NO_EPOCH = 0;

  private static final Version UNKNOWN = new Version(-1, -1);

  private final EtcdChannels channels;
  private final String prefix;
  private final Duration operationTimeout;
  private long begun = System.nanoTime();

  /**
   * How many operations a transaction has at most: fewer than the 128 that etcd allows by default,
   * and half as many after each refusal.
   */
  private int maxOperations = 100;

  /** The keys of all records, when they were last read together. */
  private Set<String> records = Set.of();

  EtcdServer(EtcdChannels channels, String prefix, Duration operationTimeout) {
    this.channels = channels;
    this.prefix = prefix;
    this.operationTimeout = operationTimeout;
  }

  @Override
  public String name() {
    return "etcd";
  }

  @Override
  public boolean reusesVersions() {
    return false;
  }

  @Override
  public void begin() {
    this.begun = System.nanoTime();
  }

  /** Learns how many operations the server allows. */
  private boolean isTooLong(LeaseStoreException failure) {
    boolean tooLong = failure.getCause() instanceof StatusRuntimeException refused
        && EtcdErrors.isTooLong(refused)
        && this.maxOperations / 2 >= FEWEST_OPERATIONS;
    if (tooLong) {
      this.maxOperations /= 2;
    }
    return tooLong;
  }

  @Override
  public Snapshot read(Query query) throws LeaseStoreException {
    while (true) {
      try {
        return readAll(query);
      } catch (LeaseStoreException ex) {
        if (!isTooLong(ex)) {
          throw ex;
        }
      }
    }
  }

  private Snapshot readAll(Query query) throws LeaseStoreException {
    List<RequestOp> requests = new ArrayList<>();
    List<String> records = query.keys().stream().filter(EtcdKeys::isRecord).toList();
    boolean allRecords = records.size() > this.maxOperations;
    if (allRecords) {
      EtcdKeys.RECORDS.forEach((range) -> requests.add(operation(
          RangeRequest.newBuilder()
              .setKey(range.from(this.prefix))
              .setRangeEnd(range.to(this.prefix)),
          query)));
    }
    for (String key : query.keys()) {
      if (!allRecords || !EtcdKeys.isRecord(key)) {
        requests.add(operation(RangeRequest.newBuilder().setKey(key(key)), query));
      }
    }
    for (Folder folder : query.folders()) {
      EtcdKeys.Range range = EtcdKeys.Range.below(folder.parent());
      requests.add(operation(
          RangeRequest.newBuilder()
              .setKey(range.from(this.prefix))
              .setRangeEnd(range.to(this.prefix))
              .setSortTarget(RangeRequest.SortTarget.KEY)
              .setSortOrder(RangeRequest.SortOrder.DESCEND)
              .setLimit(folder.newest()),
          query));
    }
    Map<String, Entry> entries = new HashMap<>();
    Set<String> found = new HashSet<>();
    long revision = Long.MAX_VALUE;
    String identity = "";
    for (int i = 0; i < requests.size(); i += this.maxOperations) {
      TxnResponse answer = execute(TxnRequest.newBuilder()
          .addAllSuccess(requests.subList(i, Math.min(i + this.maxOperations, requests.size())))
          .build());
      revision = Math.min(revision, answer.getHeader().getRevision());
      identity = Long.toHexString(answer.getHeader().getClusterId());
      for (ResponseOp response : answer.getResponsesList()) {
        for (KeyValue pair : response.getResponseRange().getKvsList()) {
          String key = pair.getKey().toStringUtf8().substring(this.prefix.length());
          if (!EtcdKeys.isRecord(key) || query.keys().contains(key)) {
            entries.put(key, entry(pair));
          }
          if (EtcdKeys.isRecord(key)) {
            found.add(key);
          }
        }
      }
    }
    if (allRecords) {
      this.records = found;
    }
    return new Snapshot(entries, identity, revision, NO_EPOCH);
  }

  private static Entry entry(KeyValue pair) {
    Version version = new Version(pair.getModRevision(), pair.getModRevision());
    return new Entry(pair.getValue().toStringUtf8(), version, pair.getLease() != 0);
  }

  private static RequestOp operation(RangeRequest.Builder range, Query query) {
    return RequestOp.newBuilder()
        .setRequestRange(range.setSerializable(!query.fresh()))
        .build();
  }

  @Override
  public Optional<Map<String, Version>> commit(Commit commit) throws LeaseStoreException {
    while (true) {
      try {
        return commitAll(commit);
      } catch (LeaseStoreException ex) {
        if (!isTooLong(ex)) {
          throw ex;
        }
      }
    }
  }

  private Optional<Map<String, Version>> commitAll(Commit commit) throws LeaseStoreException {
    TxnRequest.Builder transaction = TxnRequest.newBuilder();
    addChecks(transaction, commit);
    for (Write write : commit.writes()) {
      ByteString key = key(write.key());
      RequestOp.Builder operation = RequestOp.newBuilder();
      if (write instanceof Create create) {
        transaction.addCompare(isWritten(key, 0));
        operation.setRequestPut(put(key, create.value()));
      } else if (write instanceof Put put) {
        transaction.addCompare(isWritten(key, put.version().number()));
        operation.setRequestPut(put(key, put.value()));
      } else if (write instanceof Delete delete) {
        transaction.addCompare(isWritten(key, delete.version().number()));
        operation.setRequestDeleteRange(DeleteRangeRequest.newBuilder().setKey(key));
      }
      transaction.addSuccess(operation);
    }
    TxnResponse response = execute(transaction.build());
    if (!response.getSucceeded()) {
      return Optional.empty();
    }
    long revision = response.getHeader().getRevision();
    Map<String, Version> versions = new HashMap<>();
    for (Write write : commit.writes()) {
      if (!(write instanceof Delete)) {
        versions.put(write.key(), new Version(revision, revision));
      }
    }
    return Optional.of(versions);
  }

  /**
   * Compares the version of each key. If there are too many keys, compares ranges of them: no key
   * in a range was written since the records were read. A range contains as few records of other
   * nodes as possible.
   *
   * <p>The comparison of a range does not notice a deleted record until it is created again. That is
   * harmless: the comparison then fails, and the node that created the record waits for a whole
   * lease.
   */
  private void addChecks(TxnRequest.Builder transaction, Commit commit) {
    List<String> keys = commit.checks().keySet().stream().sorted().toList();
    Set<Integer> gaps = keys.size() < this.maxOperations ? Set.of() : closedGaps(keys);
    for (int first = 0, last = 0; first < keys.size(); first = ++last) {
      while (gaps.contains(last)) {
        last++;
      }
      String from = keys.get(first);
      if (first == last) {
        transaction.addCompare(isWritten(from, commit.checks().getOrDefault(from, UNKNOWN)));
      } else {
        transaction.addCompare(Compare.newBuilder()
            .setKey(key(from))
            .setRangeEnd(key(keys.get(last) + "\0"))
            .setTarget(Compare.CompareTarget.MOD)
            .setResult(Compare.CompareResult.LESS)
            .setModRevision(commit.heldAt() + 1));
      }
    }
  }

  /**
   * Returns the keys, by index, that are in one range with the next key: first all without another
   * record in between, then, while there are too many ranges, those with the fewest.
   */
  private Set<Integer> closedGaps(List<String> keys) {
    NavigableSet<String> others = new TreeSet<>(this.records);
    keys.forEach(others::remove);
    Map<Integer, Integer> costs = new HashMap<>();
    for (int i = 0; i + 1 < keys.size(); i++) {
      String from = keys.get(i);
      String to = keys.get(i + 1);
      // A key that begins with ~ is not a record, and may be written often.
      if (from.charAt(0) > '~' || to.charAt(0) < '~') {
        costs.put(i, others.subSet(from, to).size());
      }
    }
    Set<Integer> closed = new HashSet<>();
    costs.entrySet().stream().sorted(Map.Entry.comparingByValue()).forEach((gap) -> {
      if (gap.getValue() == 0 || keys.size() - closed.size() >= this.maxOperations) {
        closed.add(gap.getKey());
      }
    });
    return closed;
  }

  /** Compares a key with a version that was read. The comparison fails once the key has changed. */
  Compare isWritten(String key, Version version) {
    return isWritten(key(key), version.number());
  }

  /** Compares the revision at which a key was written; 0 if it does not exist. */
  private static Compare isWritten(ByteString key, long revision) {
    return Compare.newBuilder()
        .setKey(key)
        .setTarget(Compare.CompareTarget.MOD)
        .setResult(Compare.CompareResult.EQUAL)
        .setModRevision(revision)
        .build();
  }

  private static PutRequest.Builder put(ByteString key, String value) {
    return PutRequest.newBuilder().setKey(key).setValue(ByteString.copyFromUtf8(value));
  }

  private ByteString key(String key) {
    return ByteString.copyFromUtf8(this.prefix + key);
  }

  /** Executes a transaction. */
  TxnResponse execute(TxnRequest transaction) throws LeaseStoreException {
    return call((channel, nanos) -> KVGrpc.newBlockingStub(channel)
        .withDeadlineAfter(nanos, TimeUnit.NANOSECONDS)
        .txn(transaction));
  }

  /** A cluster that was restored from a snapshot numbers its writes on, and begins a log. */
  @Override
  public Answer<OptionalLong> logIndex() throws LeaseStoreException {
    AtomicReference<@Nullable EtcdStatus> sent = new AtomicReference<>(call(EtcdStatus::ask));
    return () -> OptionalLong.of(call((channel, nanos) -> {
          EtcdStatus status = sent.getAndSet(null);
          return (status != null ? status : EtcdStatus.ask(channel, nanos)).await();
        })
        .getRaftAppliedIndex());
  }

  /** Repeats a request once if etcd refused it because the token had expired. */
  private <T> T call(BiFunction<Channel, Long, T> request) throws LeaseStoreException {
    boolean again = true;
    while (true) {
      try {
        long rest = this.operationTimeout.toNanos() - (System.nanoTime() - this.begun);
        return request.apply(this.channels.open(rest), rest);
      } catch (StatusRuntimeException ex) {
        if (again && EtcdErrors.isExpiredToken(ex)) {
          this.channels.logOut();
          again = false;
          continue;
        }
        if (EtcdErrors.costsConnection(ex)) {
          this.channels.drop();
        }
        throw new LeaseStoreException(
            EtcdErrors.explain(ex, this.channels.toString(), this.prefix, this.operationTimeout),
            ex);
      }
    }
  }

  @Override
  public Watch watch(Consumer<Change> changed) {
    return new EtcdWatch(this.channels.another(), this.prefix, changed);
  }

  @Override
  public void close() {
    this.channels.drop();
  }
}
