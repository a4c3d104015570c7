package io.election.mysql.failover.agent;

import com.google.protobuf.ByteString;
import io.election.ElectionService;
import io.election.LeadershipLostException;
import io.election.etcd.EtcdFence;
import io.election.store.LeaseStoreException;
import io.etcd.jetcd.api.PutRequest;
import io.etcd.jetcd.api.RangeRequest;
import io.etcd.jetcd.api.RequestOp;
import io.etcd.jetcd.api.TxnRequest;
import java.util.Optional;

/** Stores the record as a key in etcd, read and written with a quorum. */
final class EtcdPromotions implements Promotions {

  private final EtcdFence fence;
  private final ElectionService election;
  private final AgentProperties settings;
  private final ByteString key;

  EtcdPromotions(EtcdFence fence, ElectionService election, AgentProperties settings) {
    this.fence = fence;
    this.election = election;
    this.settings = settings;
    this.key = ByteString.copyFromUtf8("/mysql-failover/" + election.serviceId());
  }

  @Override
  public Optional<Promotion> last() throws LeaseStoreException {
    RequestOp read = RequestOp.newBuilder()
        .setRequestRange(RangeRequest.newBuilder().setKey(this.key))
        .build();
    return this.fence
        .send(TxnRequest.newBuilder().addSuccess(read).build())
        .getResponses(0)
        .getResponseRange()
        .getKvsList()
        .stream()
        .map((found) -> Promotion.parse(found.getValue().toStringUtf8(), this.settings))
        .findFirst();
  }

  @Override
  public boolean record(Promotion promotion) throws LeaseStoreException {
    RequestOp write = RequestOp.newBuilder()
        .setRequestPut(PutRequest.newBuilder()
            .setKey(this.key)
            .setValue(ByteString.copyFromUtf8(promotion.print())))
        .build();
    try {
      return this.fence
          .send(TxnRequest.newBuilder()
              .addCompare(this.fence.compare(
                  this.election.serviceId(), this.election.nodeId(), promotion.electionTerm()))
              .addSuccess(write)
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
