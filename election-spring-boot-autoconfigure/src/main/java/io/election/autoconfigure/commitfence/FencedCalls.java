package io.election.autoconfigure.commitfence;

import io.election.ElectionService;
import io.election.Fence;
import io.election.lease.LeaseElectionService;
import java.util.ArrayDeque;
import java.util.Deque;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Binds the terms in which leader-only calls began to transactions, and lets the transactions
 * commit only in those terms. A call is bound to the transactions that are active when it begins,
 * whatever their transaction managers, and to those that begin on its thread before it ends.
 */
final class FencedCalls implements Fence {

  /** The running calls of this application only; the JVM may run several applications. */
  @SuppressWarnings("ThreadLocalUsage") // empty when the last call has left the thread
  private final ThreadLocal<Deque<BoundCall>> calls = new ThreadLocal<>();

  /** Transactions that have begun and not ended, including suspended ones. */
  @SuppressWarnings("ThreadLocalUsage") // empty when the last transaction has ended
  private final ThreadLocal<Deque<BoundTerms>> transactions = new ThreadLocal<>();

  private final FencedConnections connections;

  FencedCalls(FencedConnections connections) {
    this.connections = connections;
  }

  FencedConnections connections() {
    return this.connections;
  }

  @Override
  public long rejections(String serviceId) {
    return this.connections.rejections(serviceId);
  }

  @Override
  public boolean appliesTo(ElectionService election) {
    return election instanceof LeaseElectionService;
  }

  @Override
  public Bound bind(ElectionService election, long term) {
    BoundCall call = new BoundCall(this.calls, election, term);
    boolean known = false;
    Deque<BoundTerms> transactions = this.transactions.get();
    if (transactions != null) {
      for (BoundTerms transaction : transactions) {
        if (transaction.isActive()) {
          known = true;
          bind(transaction, call);
        }
      }
    }
    if (!known
        && TransactionSynchronizationManager.isActualTransactionActive()
        && TransactionSynchronizationManager.isSynchronizationActive()) {
      unmanaged("a transaction manager that is not a bean").add(call);
    }
    ofThread(this.calls).push(call);
    return call;
  }

  /**
   * Notes that a transaction has begun on this thread.
   *
   * @param terms the terms on which it depends
   */
  void began(BoundTerms terms) {
    Deque<BoundTerms> transactions = ofThread(this.transactions);
    transactions.removeIf(BoundTerms::isOver);
    transactions.push(terms);
    Deque<BoundCall> running = this.calls.get();
    if (running != null) {
      for (BoundCall call : running) {
        call.transactionBegan();
        bind(terms, call);
      }
    }
  }

  /**
   * Finds the terms on which a transaction of this thread depends.
   *
   * @return the terms; {@code null} for a savepoint, or if its begin was not reported
   */
  @Nullable
  BoundTerms find(TransactionExecution transaction) {
    Deque<BoundTerms> transactions = this.transactions.get();
    return transactions == null
        ? null
        : transactions.stream()
            .filter((terms) -> terms.isOf(transaction))
            .findFirst()
            .orElse(null);
  }

  /** Notes that a transaction of this thread has ended, whatever its outcome. */
  void ended(BoundTerms terms) {
    Deque<BoundTerms> transactions = this.transactions.get();
    if (transactions != null) {
      transactions.remove(terms);
      if (transactions.isEmpty()) {
        this.transactions.remove();
      }
    }
  }

  private static <T> Deque<T> ofThread(ThreadLocal<Deque<T>> all) {
    Deque<T> mine = all.get();
    if (mine == null) {
      mine = new ArrayDeque<>(2);
      all.set(mine);
    }
    return mine;
  }

  private void bind(BoundTerms transaction, BoundCall call) {
    String opaque = transaction.opaque();
    if (opaque == null) {
      transaction.add(call);
    } else if (transaction.isEnding()) {
      return; // later work belongs to no transaction
    } else if (TransactionSynchronizationManager.isSynchronizationActive()) {
      unmanaged(opaque).add(call);
    } else {
      this.connections.warn(opaque, "its synchronization is switched off. Switch it on");
    }
  }

  private UnmanagedTransaction unmanaged(String manager) {
    for (TransactionSynchronization synchronization :
        TransactionSynchronizationManager.getSynchronizations()) {
      if (synchronization instanceof UnmanagedTransaction unmanaged
          && unmanaged.isOf(this.connections)) {
        return unmanaged;
      }
    }
    UnmanagedTransaction unmanaged = new UnmanagedTransaction(this.connections, manager);
    TransactionSynchronizationManager.registerSynchronization(unmanaged);
    return unmanaged;
  }
}
