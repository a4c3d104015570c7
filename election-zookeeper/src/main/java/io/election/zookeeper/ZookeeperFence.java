package io.election.zookeeper;

import io.election.NotLeaderException;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.Stat;

/**
 * Lets writes to the ZooKeeper of the election succeed only in the term in which their work began,
 * even if the leader was paused in between and does not know yet that another leads.
 *
 * <pre>{@code
 * Op inThisTerm = fence.begin("billing", election.leadership().orElseThrow().term());
 * // ... work ...
 * client.multi(List.of(inThisTerm, Op.setData("/billing/last-run", result, -1)));
 * }</pre>
 *
 * <p>The write fails with {@link KeeperException.BadVersionException} or {@link
 * KeeperException.NoNodeException} for that operation once the term has ended, and also once an
 * operator has designated another node. Thread-safe.
 */
public final class ZookeeperFence {

  private final ZooKeeper client;
  private final String root;

  /**
   * Creates the fence.
   *
   * @param client the application's own client, of the same ensemble, with the right to read the
   *     nodes of the election
   * @param root the path of the node above all records, as this client sees it
   */
  public ZookeeperFence(ZooKeeper client, String root) {
    this.client = client;
    this.root = root;
  }

  /**
   * Begins work in a term, by one read.
   *
   * @param serviceId the name of the election
   * @param term the term in which this node leads
   * @return the check to put into each {@code multi} of the work
   * @throws NotLeaderException if the term has ended
   * @throws KeeperException if the term could not be read
   */
  public Op begin(String serviceId, long term) throws KeeperException, InterruptedException {
    String path = ZookeeperLeaseStore.termPath(this.root, serviceId, term);
    Stat stat = new Stat();
    try {
      if (ZookeeperLeaseStore.isOpen(this.client.getData(path, false, stat))) {
        return Op.check(path, stat.getVersion());
      }
    } catch (KeeperException.NoNodeException ex) {
      // The history was deleted, and the term with it.
    }
    throw new NotLeaderException(serviceId, null);
  }
}
