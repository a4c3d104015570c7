package io.election.zookeeper;

import io.election.LeadershipLostException;
import io.election.keyvalue.KeyValueLeaseStore;
import io.election.store.LeaseStoreException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.OpResult;
import org.apache.zookeeper.data.ACL;

/**
 * Lets writes to the ZooKeeper of the election succeed only in the term in which their work began,
 * even if the leader was paused in between and does not know yet that another leads.
 *
 * <pre>{@code
 * long term = election.leadership().orElseThrow().term();
 * Op inThisTerm = fence.check("billing", election.nodeId(), term);
 * // ... work ...
 * client.multi(List.of(inThisTerm, Op.setData("/billing/last-run", result, -1)));
 * }</pre>
 *
 * <p>The write fails with {@link KeeperException.BadVersionException} or {@link
 * KeeperException.NoNodeException} for that operation once the term has ended, and also once an
 * operator has designated another node.
 *
 * <p>Thread-safe. Uses a session of its own.
 */
public final class ZookeeperFence implements AutoCloseable {

  private final ZookeeperSession session;
  private final String root;
  private final List<ACL> acl;

  ZookeeperFence(ZookeeperConnection connection) {
    this.session = new ZookeeperSession(connection, (client) -> {}, System::nanoTime);
    this.root = connection.root();
    this.acl = connection.acl();
  }

  /**
   * Returns the check to put into each {@code multi} of some work. Call it when the work begins,
   * with the term in which it began. Its path is that of a client with the connect string of the
   * election, including the path at its end.
   *
   * @param serviceId the election
   * @param nodeId the id of this node
   * @param term the term in which this node leads
   * @return the check
   * @throws LeadershipLostException if the term has ended
   * @throws LeaseStoreException if ZooKeeper does not answer, or refuses to show the term
   */
  public synchronized Op check(String serviceId, String nodeId, long term)
      throws LeaseStoreException {
    String path = this.root + "/" + KeyValueLeaseStore.termKey(serviceId, term);
    OpResult result = send(List.of(Op.getData(path))).get(0);
    if (result instanceof OpResult.GetDataResult found
        && KeyValueLeaseStore.isOpenTerm(new String(found.getData(), StandardCharsets.UTF_8))) {
      return Op.check(path, found.getStat().getVersion());
    }
    if (result instanceof OpResult.ErrorResult error && error.getErr() != Code.NONODE.intValue()) {
      throw new LeaseStoreException(
          "ZooKeeper does not show %s: %s".formatted(path, Code.get(error.getErr())));
    }
    throw new LeadershipLostException(serviceId, nodeId, term, "has ended", null);
  }

  /**
   * Sends a request over the fence's own session, with its credentials and TLS, for work that has no
   * other client of ZooKeeper.
   *
   * @param operations what to do: only reads, or only writes and checks, of which all happen or none
   * @return the result of each; an {@link OpResult.ErrorResult} if it failed
   * @throws LeaseStoreException if ZooKeeper does not answer within the operation timeout; writes
   *     may have happened
   */
  public synchronized List<OpResult> send(List<Op> operations) throws LeaseStoreException {
    return sendInOrder(List.of(operations)).get(0);
  }

  /**
   * Sends requests as {@link #send} does, one after the other in one session. A read that follows a
   * write shows everything that a quorum had agreed to before the write.
   *
   * @param requests the operations of each
   * @return the results of each
   * @throws LeaseStoreException if ZooKeeper does not answer all of them within the operation
   *     timeout
   */
  public synchronized List<List<OpResult>> sendInOrder(List<List<Op>> requests)
      throws LeaseStoreException {
    this.session.begin();
    List<List<OpResult>> results = new ArrayList<>();
    for (List<Op> operations : requests) {
      results.add(this.session.multi("A request of the fence", operations));
    }
    return results;
  }

  /**
   * Returns the access control list of the nodes that the election creates.
   *
   * @return the list; all permissions for everyone if neither credentials nor a list are set
   */
  public List<ACL> acl() {
    return this.acl;
  }

  /** Closes the session. Never throws. */
  @Override
  public synchronized void close() {
    this.session.close();
  }
}
