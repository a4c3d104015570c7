package io.election.mysql.failover.agent;

import com.google.protobuf.ByteString;
import io.election.ElectionService;
import io.election.LeadershipLostException;
import io.election.etcd.EtcdFence;
import io.election.store.LeaseStoreException;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.PutRequest;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.util.Map;
import java.util.Optional;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Function;
import java.util.stream.Collectors;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What the agents of a set write to etcd: the record of the last promotion, and the position of each
 * server under a key of its own. Everything is read and written with a quorum, so that what was
 * written before a read is never missed. Thread-safe.
 */
final class Registry {

  private static final Logger log = LoggerFactory.getLogger(Registry.class);

  /**
   * What was read at one instant.
   *
   * @param paused why no server is promoted; empty if one may be
   */
  record Snapshot(Optional<Promotion> last, Map<String, Position> positions, String paused) {

    /** Returns the election term in which the last promotion was recorded; 0 if there was none. */
    long electionTerm() {
      return this.last.map(Promotion::electionTerm).orElse(0L);
    }
  }

  private final EtcdFence fence;
  private final ElectionService election;
  private final String record;
  private final String pause;
  private final String positions;

  /** The latest revision of etcd that was read or written. */
  private final AtomicLong seen = new AtomicLong();

  Registry(EtcdFence fence, ElectionService election) {
    this.fence = fence;
    this.election = election;
    this.record = "/mysql-failover/" + election.serviceId();
    this.pause = this.record + "/pause";
    this.positions = this.record + "/positions/";
  }

  /**
   * Reads everything.
   *
   * @throws LeaseStoreException if etcd does not answer
   * @throws IllegalArgumentException if the record was overwritten with something else
   */
  Snapshot read() throws LeaseStoreException {
    RequestOp all = RequestOp.newBuilder()
        .setRequestRange(RangeRequest.newBuilder()
            .setKey(bytes(this.record))
            .setRangeEnd(bytes(this.record + "0"))) // '0' follows '/'
        .build();
    Map<String, String> read = new TreeMap<>();
    TxnResponse answer = this.fence.send(TxnRequest.newBuilder().addSuccess(all).build());
    see(answer);
    answer
        .getResponses(0)
        .getResponseRange()
        .getKvsList()
        .forEach(
            (found) -> read.put(found.getKey().toStringUtf8(), found.getValue().toStringUtf8()));
    return new Snapshot(
        Optional.ofNullable(read.get(this.record)).map(Promotion::parse),
        read.entrySet().stream()
            .filter((each) -> each.getKey().startsWith(this.positions))
            .flatMap((each) -> Position.parse(each.getValue()).stream())
            .collect(Collectors.toMap(Position::server, Function.identity())),
        read.getOrDefault(this.pause, ""));
  }

  /**
   * Records a promotion if this node still leads in the election term of that promotion.
   *
   * @return whether it was recorded
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean record(Promotion promotion) throws LeaseStoreException {
    try {
      return put(
          this.record,
          promotion.print(),
          this.fence.compare(
              this.election.serviceId(), this.election.nodeId(), promotion.electionTerm()));
    } catch (LeadershipLostException ex) {
      return false;
    }
  }

  /**
   * Writes the first record of a set.
   *
   * @return {@code false} if there is a record
   */
  boolean initialize(Promotion first) throws LeaseStoreException {
    return put(
        this.record,
        first.print(),
        Compare.newBuilder()
            .setKey(bytes(this.record))
            .setTarget(Compare.CompareTarget.CREATE)
            .setCreateRevision(0)
            .build());
  }

  /**
   * Pauses the set, for maintenance, or ends the pause.
   *
   * @param reason why it is paused; empty to end the pause
   * @throws LeaseStoreException if the outcome is unknown
   */
  void pause(String reason) throws LeaseStoreException {
    write(put(this.pause, reason));
    log.warn("The set is {}", reason.isEmpty() ? "resumed" : "paused: " + reason);
  }

  /**
   * Publishes the position of this agent's server. When this returns, all agents can read it, and no
   * earlier request whose outcome is unknown can be executed any more.
   */
  void publish(Position position) throws LeaseStoreException {
    String key = this.positions + position.server();
    Compare unchanged = Compare.newBuilder()
        .setKey(bytes(key))
        .setTarget(Compare.CompareTarget.MOD)
        .setResult(Compare.CompareResult.LESS)
        .setModRevision(this.seen.get() + 1)
        .build();
    if (!put(key, position.print(), unchanged)) {
      throw new LeaseStoreException("the position of this server was written meanwhile");
    }
  }

  /**
   * Replaces the position of this agent's server, whose data are about to be replaced, by an empty
   * text. A deleted key would have no revision, so that an earlier request could still write it.
   */
  void withdraw(String server) throws LeaseStoreException {
    write(put(this.positions + server, ""));
  }

  private void write(RequestOp change) throws LeaseStoreException {
    this.fence.send(TxnRequest.newBuilder().addSuccess(change).build());
  }

  private boolean put(String key, String value, Compare condition) throws LeaseStoreException {
    TxnResponse answer = this.fence.send(TxnRequest.newBuilder()
        .addCompare(condition)
        .addSuccess(put(key, value))
        .build());
    if (answer.getSucceeded()) {
      see(answer);
    }
    return answer.getSucceeded();
  }

  private void see(TxnResponse answer) {
    this.seen.accumulateAndGet(answer.getHeader().getRevision(), Math::max);
  }

  private static RequestOp put(String key, String value) {
    return RequestOp.newBuilder()
        .setRequestPut(PutRequest.newBuilder().setKey(bytes(key)).setValue(bytes(value)))
        .build();
  }

  private static ByteString bytes(String text) {
    return ByteString.copyFromUtf8(text);
  }
}
