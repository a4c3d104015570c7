package io.election.autoconfigure.commitfence;

import io.election.ElectionService;
import io.election.Fence;
import java.util.Deque;

/** A leader-only call on its thread, bound to the term in which it began. */
final class BoundCall implements Fence.Bound {

  private final ThreadLocal<Deque<BoundCall>> running;

  private final String nodeId;

  private final String serviceId;

  private final long term;

  private boolean hasTransaction;

  /**
   * Creates the call.
   *
   * @param running the calls of each thread, of which it is one until it is closed
   */
  BoundCall(ThreadLocal<Deque<BoundCall>> running, ElectionService election, long term) {
    this.running = running;
    this.nodeId = election.nodeId();
    this.serviceId = election.serviceId();
    this.term = term;
  }

  String nodeId() {
    return this.nodeId;
  }

  String serviceId() {
    return this.serviceId;
  }

  long term() {
    return this.term;
  }

  /** Notes that a transaction began within the call. */
  void transactionBegan() {
    this.hasTransaction = true;
  }

  boolean hasTransaction() {
    return this.hasTransaction;
  }

  @Override
  public void close() {
    Deque<BoundCall> calls = this.running.get();
    if (calls != null && calls.remove(this) && calls.isEmpty()) {
      this.running.remove();
    }
  }
}
