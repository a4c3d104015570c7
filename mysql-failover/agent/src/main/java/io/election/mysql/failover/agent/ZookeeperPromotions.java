package io.election.mysql.failover.agent;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.election.ElectionService;
import io.election.LeadershipLostException;
import io.election.store.LeaseStoreException;
import io.election.zookeeper.ZookeeperFence;
import java.util.List;
import java.util.Optional;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;

/** Stores the record as a node in ZooKeeper, read and written with a quorum. */
final class ZookeeperPromotions implements Promotions {

  private static final String FOLDER = "/mysql-failover";

  private static final byte[] EMPTY = {};

  private final ZookeeperFence fence;
  private final ElectionService election;
  private final AgentProperties settings;
  private final String path;

  /** Written before each read, so that a quorum confirms the read. */
  private final String clock;

  ZookeeperPromotions(ZookeeperFence fence, ElectionService election, AgentProperties settings) {
    this.fence = fence;
    this.election = election;
    this.settings = settings;
    this.path = FOLDER + "/" + election.serviceId().replace("~", "~~").replace("/", "~s");
    this.clock = this.path + "~clock";
  }

  @Override
  public Optional<Promotion> last() throws LeaseStoreException {
    List<List<Op>> requests =
        List.of(List.of(Op.setData(this.clock, EMPTY, -1)), List.of(Op.getData(this.path)));
    List<List<OpResult>> results = this.fence.sendInOrder(requests);
    if (code(results.get(0)) == Code.NONODE) {
      for (String node : List.of(FOLDER, this.path, this.clock)) {
        this.fence.send(List.of(Op.create(node, EMPTY, this.fence.acl(), CreateMode.PERSISTENT)));
      }
      results = this.fence.sendInOrder(requests);
    }
    if (results.get(0).get(0) instanceof OpResult.SetDataResult
        && results.get(1).get(0) instanceof OpResult.GetDataResult found) {
      String text = new String(found.getData(), UTF_8);
      return text.isEmpty() ? Optional.empty() : Optional.of(Promotion.parse(text, this.settings));
    }
    throw new LeaseStoreException("ZooKeeper did not return the last promotion at %s: %s, %s"
        .formatted(this.path, code(results.get(0)), code(results.get(1))));
  }

  @Override
  public boolean record(Promotion promotion) throws LeaseStoreException {
    Op inThisTerm;
    try {
      inThisTerm = this.fence.check(
          this.election.serviceId(), this.election.nodeId(), promotion.electionTerm());
    } catch (LeadershipLostException ex) {
      return false;
    }
    List<OpResult> results = this.fence.send(
        List.of(inThisTerm, Op.setData(this.path, promotion.print().getBytes(UTF_8), -1)));
    if (results.get(1) instanceof OpResult.SetDataResult) {
      return true;
    }
    Code code = code(results);
    if (code == Code.BADVERSION || code == Code.NONODE) {
      return false;
    }
    throw new LeaseStoreException(
        "The promotion was not recorded at %s: %s".formatted(this.path, code));
  }

  /** Returns the result code of the first operation of a request. */
  private static Code code(List<OpResult> results) {
    return results.get(0) instanceof OpResult.ErrorResult error
        ? Code.get(error.getErr())
        : Code.OK;
  }

  @Override
  public void close() {
    this.fence.close();
  }
}
