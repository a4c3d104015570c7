package io.election.autoconfigure;

import io.election.ElectionService;
import io.election.mysql.CommitFence;
import io.election.mysql.MysqlElectionService;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;
import org.springframework.core.Ordered;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Binds the terms in which leader-only calls began to transactions: to the one that is active when a
 * call begins, and to those that begin on its thread before it ends.
 */
final class FencedCalls implements TermBoundCalls {

  /** Of this application alone: there may be others in the JVM. */
  @SuppressWarnings("ThreadLocalUsage") // empty when the last call has left the thread
  private final ThreadLocal<Deque<Call>> calls = new ThreadLocal<>();

  private final Map<String, LongAdder> rejections = new ConcurrentHashMap<>();

  @Override
  public long rejections(String serviceId) {
    LongAdder count = this.rejections.get(serviceId);
    return count != null ? count.sum() : 0;
  }

  void rejected(String serviceId) {
    this.rejections.computeIfAbsent(serviceId, (id) -> new LongAdder()).increment();
  }

  @Override
  public boolean concern(ElectionService election) {
    return election instanceof MysqlElectionService;
  }

  @Override
  public void begin(ElectionService election, long term) {
    Call call = new Call(election.nodeId(), election.serviceId(), term);
    Deque<Call> running = this.calls.get();
    if (running == null) {
      running = new ArrayDeque<>(2);
      this.calls.set(running);
    }
    running.push(call);
    if (TransactionSynchronizationManager.isActualTransactionActive()
        && TransactionSynchronizationManager.isSynchronizationActive()) {
      bind(call);
    }
  }

  @Override
  public void end() {
    Deque<Call> running = this.calls.get();
    if (running == null) {
      return;
    }
    running.pop();
    if (running.isEmpty()) {
      this.calls.remove();
    }
  }

  /** A transaction has begun on this thread. */
  void transactionBegan() {
    Deque<Call> running = this.calls.get();
    if (running != null && TransactionSynchronizationManager.isSynchronizationActive()) {
      running.forEach(FencedCalls::bind);
    }
  }

  /**
   * The terms of the innermost transaction on this thread.
   *
   * @return {@code null} if it has none
   * @throws IllegalStateException if it has some that were not bound to it
   */
  @Nullable
  BoundTerms termsOfTransaction() {
    if (TransactionSynchronizationManager.isSynchronizationActive()) {
      return findBoundTerms();
    }
    if (this.calls.get() != null) {
      throw new IllegalStateException(
          "A transaction under @LeaderOnly cannot be fenced, since its transaction manager has synchronization switched off. Switch it on, or set as.election.mysql.commit-fence=false.");
    }
    return null;
  }

  private static void bind(Call call) {
    BoundTerms terms = findBoundTerms();
    if (terms == null) {
      terms = new BoundTerms(call.nodeId());
      TransactionSynchronizationManager.registerSynchronization(terms);
    }
    terms.add(call);
  }

  private static @Nullable BoundTerms findBoundTerms() {
    for (TransactionSynchronization synchronization :
        TransactionSynchronizationManager.getSynchronizations()) {
      if (synchronization instanceof BoundTerms terms) {
        return terms;
      }
    }
    return null;
  }

  private record Call(String nodeId, String serviceId, long term) {}

  /** What one transaction depends on, and the fence that holds it during the commit. */
  static final class BoundTerms implements TransactionSynchronization, Ordered {

    private final String nodeId;

    private final Map<String, Long> terms = new HashMap<>(2);

    private CommitFence.@Nullable Held held;

    private BoundTerms(String nodeId) {
      this.nodeId = nodeId;
    }

    private void add(Call call) {
      // Of two terms in one transaction the older one has ended: it stays, and refuses the commit.
      this.terms.merge(call.serviceId(), call.term(), Math::min);
    }

    String nodeId() {
      return this.nodeId;
    }

    Map<String, Long> terms() {
      return this.terms;
    }

    void hold(CommitFence.Held held) {
      this.held = held;
    }

    /** Before what others do after the commit, which may take long. */
    @Override
    public int getOrder() {
      return Ordered.HIGHEST_PRECEDENCE;
    }

    @Override
    public void afterCommit() {
      letGo();
    }

    @Override
    public void afterCompletion(int status) {
      letGo();
    }

    private void letGo() {
      CommitFence.Held held = this.held;
      if (held != null) {
        this.held = null;
        held.close();
      }
    }
  }
}
