package io.election.mysql.failover.agent;

import com.google.protobuf.ByteString;
import io.election.etcd.EtcdFence;
import io.election.etcd.EtcdLeaseStore;
import io.election.lease.LeaseStoreException;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.KVGrpc;
import io.etcd.jetcd.api.KeyValue;
import io.etcd.jetcd.api.PutRequest;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.TxnRequest;
import io.grpc.Grpc;
import io.grpc.InsecureChannelCredentials;
import io.grpc.ManagedChannel;
import io.grpc.StatusRuntimeException;
import java.net.URI;
import java.time.Duration;
import java.util.Iterator;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;

/** The record of the last promotion, in the etcd of the election. Thread-safe. */
final class Promotions implements AutoCloseable {

  private final List<ManagedChannel> channels;
  private final EtcdFence fence;
  private final ByteString key;
  private final Duration timeout;

  /**
   * Creates the access, which connects upon the first call.
   *
   * @param endpoints the members of the cluster, as in {@code as.election.etcd.endpoints}
   * @param key the key of the record
   */
  Promotions(List<String> endpoints, String prefix, String key, Duration timeout) {
    this.channels = endpoints.stream()
        .map(URI::create)
        .map((uri) -> Grpc.newChannelBuilderForAddress(
                uri.getHost(), uri.getPort(), InsecureChannelCredentials.create())
            .build())
        .toList();
    this.fence = EtcdLeaseStore.builder(endpoints)
        .prefix(prefix)
        .operationTimeout(timeout)
        .buildFence();
    this.key = ByteString.copyFromUtf8(key);
    this.timeout = timeout;
  }

  /**
   * Reads the last promotion, confirmed by a quorum.
   *
   * @throws LeaseStoreException if etcd does not answer
   * @throws IllegalArgumentException if somebody has written something else
   */
  Optional<Promotion> last() throws LeaseStoreException {
    RangeRequest request = RangeRequest.newBuilder().setKey(this.key).build();
    return call((etcd) -> etcd.range(request)).getKvsList().stream()
        .map(KeyValue::getValue)
        .map(ByteString::toStringUtf8)
        .map(Promotion::parse)
        .findFirst();
  }

  /**
   * Records a promotion, if this node still leads in the term of the election in which it began.
   *
   * @return whether it was recorded
   * @throws LeaseStoreException if the outcome is unknown
   */
  boolean record(Promotion promotion, String serviceId, String nodeId, long electionTerm)
      throws LeaseStoreException {
    Compare leads = this.fence.compare(serviceId, nodeId, electionTerm);
    TxnRequest request = TxnRequest.newBuilder()
        .addCompare(leads)
        .addSuccess(RequestOp.newBuilder()
            .setRequestPut(PutRequest.newBuilder()
                .setKey(this.key)
                .setValue(ByteString.copyFromUtf8(promotion.print()))))
        .build();
    return call((etcd) -> etcd.txn(request)).getSucceeded();
  }

  private <T> T call(Function<KVGrpc.KVBlockingStub, T> request) throws LeaseStoreException {
    Iterator<ManagedChannel> channels = this.channels.iterator();
    while (true) {
      try {
        return request.apply(KVGrpc.newBlockingStub(channels.next())
            .withDeadlineAfter(this.timeout.toMillis(), TimeUnit.MILLISECONDS));
      } catch (StatusRuntimeException ex) {
        if (!channels.hasNext()) {
          throw new LeaseStoreException("etcd does not answer: " + ex.getStatus(), ex);
        }
      }
    }
  }

  @Override
  public void close() {
    this.channels.forEach(ManagedChannel::shutdownNow);
    this.fence.close();
  }
}
