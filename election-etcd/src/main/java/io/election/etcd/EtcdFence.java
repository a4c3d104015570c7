package io.election.etcd;

import io.election.LeadershipLostException;
import io.election.keyvalue.KeyValueLeaseStore;
import io.election.keyvalue.KeyValueServer.Entry;
import io.election.keyvalue.KeyValueServer.Query;
import io.election.store.LeaseStoreException;
import io.etcd.jetcd.api.Compare;
import io.etcd.jetcd.api.TxnRequest;
import io.etcd.jetcd.api.TxnResponse;
import java.util.Set;

/**
 * Lets a transaction on the election's etcd succeed only in the term in which its work began,
 * however long its node was paused in between.
 *
 * <p>Thread-safe. Uses a connection of its own.
 */
public final class EtcdFence implements AutoCloseable {

  private final EtcdServer server;

  EtcdFence(EtcdServer server) {
    this.server = server;
  }

  /**
   * Returns the comparison that the transaction must contain. Call it when the work begins, with the
   * term in which it began, and use the comparison for all its transactions. It is met until the
   * term ends, or an operator designates another node.
   *
   * <p>With jetcd's own client: {@code new Cmp(ByteSequence.from(compare.getKey()), Cmp.Op.EQUAL,
   * CmpTarget.modRevision(compare.getModRevision()))}.
   *
   * @param serviceId the election
   * @param nodeId the id of this node
   * @param term the term in which this node leads
   * @return compares the key of the term
   * @throws LeadershipLostException if the term has ended
   * @throws LeaseStoreException if etcd does not answer
   */
  public synchronized Compare compare(String serviceId, String nodeId, long term)
      throws LeaseStoreException {
    String key = KeyValueLeaseStore.termKey(serviceId, term);
    this.server.begin();
    Entry found =
        this.server.read(new Query(Set.of(key), Set.of(), true)).entries().get(key);
    if (found == null || !KeyValueLeaseStore.isOpenTerm(found.value())) {
      throw new LeadershipLostException(serviceId, nodeId, term, "has ended", null);
    }
    return this.server.isWritten(key, found.version());
  }

  /**
   * Sends a transaction over the fence's own connection, with its credentials and TLS, for work that
   * has no other client of etcd. Keys are not prefixed.
   *
   * @param transaction the transaction, which should contain what {@link #compare} returned
   * @return the answer of the cluster, confirmed by a quorum
   * @throws LeaseStoreException if etcd does not answer within the operation timeout; the
   *     transaction may have been executed
   */
  public synchronized TxnResponse send(TxnRequest transaction) throws LeaseStoreException {
    this.server.begin();
    return this.server.execute(transaction);
  }

  /** Closes the connection. Never throws. */
  @Override
  public synchronized void close() {
    this.server.close();
  }
}
