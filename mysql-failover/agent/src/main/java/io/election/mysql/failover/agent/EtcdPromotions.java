package io.election.mysql.failover.agent;

import com.google.protobuf.ByteString;
import io.election.ElectionService;
import io.election.LeadershipLostException;
import io.election.etcd.EtcdFence;
import io.election.store.LeaseStoreException;
import io.etcd.jetcd.api.PutRequest;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.ResponseOp;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.util.Optional;

/** Stores the record as a key in etcd, read and written with a quorum. */
final class EtcdPromotions implements Promotions {

  private final EtcdFence fence;
  private final ElectionService election;
  private final AgentProperties settings;
  private final ByteString key;
  private final ByteString pauseKey;
  private volatile String paused = "";

  EtcdPromotions(EtcdFence fence, ElectionService election, AgentProperties settings) {
    this.fence = fence;
    this.election = election;
    this.settings = settings;
    this.pauseKey = ByteString.copyFromUtf8("/mysql-failover-pause/" + election.serviceId());
    this.key = ByteString.copyFromUtf8("/mysql-failover/" + election.serviceId());
  }

  @Override
  public Optional<Promotion> last() throws LeaseStoreException {
    TxnResponse found = this.fence.send(TxnRequest.newBuilder()
        .addSuccess(read(this.key))
        .addSuccess(read(this.pauseKey))
        .build());
    this.paused = text(found.getResponses(1)).orElse("");
    return text(found.getResponses(0)).map((text) -> Promotion.parse(text, this.settings));
  }

  private static RequestOp read(ByteString key) {
    return RequestOp.newBuilder()
        .setRequestRange(RangeRequest.newBuilder().setKey(key))
        .build();
  }

  private static Optional<String> text(ResponseOp found) {
    return found.getResponseRange().getKvsList().stream()
        .map((each) -> each.getValue().toStringUtf8())
        .findFirst();
  }

  @Override
  public String paused() {
    return this.paused;
  }

  @Override
  public void pause(String reason) throws LeaseStoreException {
    this.fence.send(
        TxnRequest.newBuilder().addSuccess(write(this.pauseKey, reason)).build());
  }

  private static RequestOp write(ByteString key, String text) {
    return RequestOp.newBuilder()
        .setRequestPut(PutRequest.newBuilder().setKey(key).setValue(ByteString.copyFromUtf8(text)))
        .build();
  }

  @Override
  public boolean record(Promotion promotion) throws LeaseStoreException {
    try {
      return this.fence
          .send(TxnRequest.newBuilder()
              .addCompare(this.fence.compare(
                  this.election.serviceId(), this.election.nodeId(), promotion.electionTerm()))
              .addSuccess(write(this.key, promotion.print()))
              .build())
          .getSucceeded();
    } catch (LeadershipLostException ex) {
      return false;
    }
  }

  @Override
  public void close() {
    this.fence.close();
  }
}
