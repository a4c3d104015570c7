package io.election.autoconfigure.commitfence;

import io.election.ElectionService;
import io.election.Fence;
import io.election.LeadershipLostException;
import io.election.joint.JointElectionService;
import io.election.lease.LeaseElectionService;
import io.election.mysql.CommitFence;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.UncategorizedSQLException;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.support.SQLExceptionSubclassTranslator;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Binds the terms in which leader-only calls began to transactions, and lets the transactions
 * commit only in those terms. A call is bound to the transactions that are active when it begins,
 * whatever their transaction managers, and to those that begin on its thread before it ends.
 */
final class FencedCalls implements Fence {

  private static final Logger log = LoggerFactory.getLogger(FencedCalls.class);

  /** The running calls of this application only; the JVM may run several applications. */
  @SuppressWarnings("ThreadLocalUsage") // empty when the last call has left the thread
  private final ThreadLocal<Deque<Call>> calls = new ThreadLocal<>();

  /** Transactions that have begun and not ended, including suspended ones. */
  @SuppressWarnings("ThreadLocalUsage") // empty when the last transaction has ended
  private final ThreadLocal<Deque<BoundTerms>> transactions = new ThreadLocal<>();

  private final Map<String, LongAdder> rejections = new ConcurrentHashMap<>();

  /** The URLs of connections that are known to reach the election's database. */
  private final Set<String> reached = ConcurrentHashMap.newKeySet();

  /** The messages that were logged; each is logged only once. */
  private final Set<String> logged = ConcurrentHashMap.newKeySet();

  private final Supplier<CommitFence> fence;

  private final Supplier<FencedDatabase> database;

  /** Creates the calls. The parameters are requested when first needed. */
  FencedCalls(Supplier<CommitFence> fence, Supplier<FencedDatabase> database) {
    this.fence = fence;
    this.database = database;
  }

  @Override
  public long rejections(String serviceId) {
    LongAdder count = this.rejections.get(serviceId);
    return count != null ? count.sum() : 0;
  }

  @Override
  public boolean appliesTo(ElectionService election) {
    return election instanceof LeaseElectionService || election instanceof JointElectionService;
  }

  @Override
  public Bound bind(ElectionService election, long term) {
    Call call = new Call(election.nodeId(), election.serviceId(), term);
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
    Deque<Call> running = this.calls.get();
    if (running != null) {
      for (Call call : running) {
        call.hasTransaction = true;
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
            .filter((terms) -> terms.transaction == transaction)
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

  /** Whether connections of a source lead to the election's database according to its URL. */
  boolean isShared(DataSource dataSource) {
    return this.database.get().isShared(dataSource);
  }

  /**
   * Lets a transaction commit only in its terms.
   *
   * @param manager the transaction manager, for display
   * @param jdbc the transaction's connection
   * @param terms the terms on which the transaction depends
   * @param shared whether the connection certainly leads to the election's database; if not, the
   *     server is asked
   * @param bounded whether the connection stays with its owner beyond the commit, so that the
   *     session's idle time may be bounded meanwhile
   * @throws LeadershipLostException if the transaction must be rolled back
   * @throws DataAccessException if the database fails otherwise
   */
  void hold(String manager, Connection jdbc, Terms terms, BooleanSupplier shared, boolean bounded) {
    try {
      if (!isConcerned(manager, jdbc, terms, shared)) {
        return;
      }
      if (bounded) {
        terms.held = this.fence.get().hold(jdbc, terms.nodeId(), terms.numbers);
      } else {
        this.fence.get().confirm(jdbc, terms.nodeId(), terms.numbers);
      }
    } catch (LeadershipLostException ex) {
      this.rejections.computeIfAbsent(ex.serviceId(), (id) -> new LongAdder()).increment();
      throw ex;
    } catch (SQLException ex) {
      throw translated(ex);
    }
  }

  private boolean isConcerned(String manager, Connection jdbc, Terms terms, BooleanSupplier shared)
      throws SQLException {
    boolean concerned = shared.getAsBoolean();
    if (!concerned) {
      String url = jdbc.getMetaData().getURL();
      concerned = (url != null && this.reached.contains(url))
          || this.fence.get().reaches(jdbc, terms.nodeId(), terms.numbers);
      if (concerned && url != null) {
        this.reached.add(url);
      }
    }
    String message = concerned
        ? "leader-only transactions of %s are fenced: they commit only in the term in which they began"
        : "leader-only transactions of %s are not fenced: they are not on the election's database";
    if (this.logged.add(message + manager)) {
      log.info(message.formatted(manager));
    }
    return concerned;
  }

  /**
   * Does what {@link #hold} does, for work of calls that began after the commit or the rollback.
   * Such work is committed when the connection returns to autocommit.
   */
  void holdLate(String manager, Connection jdbc, BoundTerms terms, BooleanSupplier shared) {
    Terms late = terms.late();
    try {
      if (!jdbc.getAutoCommit()) {
        boolean held = false;
        try {
          hold(manager, jdbc, late, shared, false);
          held = true;
        } finally {
          if (!held) {
            jdbc.rollback();
          }
        }
      } else if (terms.hasLateWithoutTransaction() && isConcerned(manager, jdbc, late, shared)) {
        warn(
            manager,
            "calls began after the end of a transaction, for instance in afterCommit or @TransactionalEventListener, and what they wrote was committed at once. Give them a transaction of their own (REQUIRES_NEW)");
      }
    } catch (SQLException ex) {
      throw translated(ex);
    }
  }

  /**
   * Warns once that work under {@code @LeaderOnly} was or will be committed without a check of its
   * term.
   */
  void warn(String manager, String reason) {
    if (this.logged.add(manager + reason)) {
      log.warn(
          "leader-only transactions of {} are not fenced: {}. A node that lost its leadership meanwhile may commit them. as.election.mysql.commit-fence=false switches the fence and this message off",
          manager,
          reason);
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

  private static DataAccessException translated(SQLException ex) {
    String task = "Commit fence";
    DataAccessException translated = new SQLExceptionSubclassTranslator().translate(task, null, ex);
    return translated != null ? translated : new UncategorizedSQLException(task, null, ex);
  }

  private void bind(BoundTerms transaction, Call call) {
    if (transaction.opaque == null) {
      transaction.add(call);
    } else if (transaction.isEnding()) {
      return; // later work belongs to no transaction
    } else if (TransactionSynchronizationManager.isSynchronizationActive()) {
      unmanaged(transaction.opaque).add(call);
    } else {
      warn(transaction.opaque, "its synchronization is switched off. Switch it on");
    }
  }

  private Unmanaged unmanaged(String manager) {
    for (TransactionSynchronization synchronization :
        TransactionSynchronizationManager.getSynchronizations()) {
      if (synchronization instanceof Unmanaged unmanaged && unmanaged.isOf(this)) {
        return unmanaged;
      }
    }
    Unmanaged unmanaged = new Unmanaged(manager);
    TransactionSynchronizationManager.registerSynchronization(unmanaged);
    return unmanaged;
  }

  private final class Call implements Bound {

    private final String nodeId;

    private final String serviceId;

    private final long term;

    /** Whether a transaction began within the call. */
    private boolean hasTransaction;

    private Call(String nodeId, String serviceId, long term) {
      this.nodeId = nodeId;
      this.serviceId = serviceId;
      this.term = term;
    }

    @Override
    public void close() {
      Deque<Call> running = FencedCalls.this.calls.get();
      if (running != null && running.remove(this) && running.isEmpty()) {
        FencedCalls.this.calls.remove();
      }
    }
  }

  /** Terms that must last, and the lock that keeps them from ending. */
  static class Terms {

    private final Map<String, Long> numbers = new HashMap<>(2);

    private @Nullable String nodeId;

    private CommitFence.@Nullable Held held;

    void add(Call call) {
      this.nodeId = call.nodeId;
      // If a transaction has two terms of one election, the older one has ended. It is kept, so
      // that the commit is refused.
      this.numbers.merge(call.serviceId, call.term, Math::min);
    }

    boolean isEmpty() {
      return this.numbers.isEmpty();
    }

    boolean isHeld() {
      return this.held != null;
    }

    private String nodeId() {
      return this.nodeId != null ? this.nodeId : "";
    }

    void letGo() {
      CommitFence.Held held = this.held;
      if (held != null) {
        this.held = null;
        held.close();
      }
    }
  }

  /**
   * The terms on which one transaction depends, and the fence that holds them during the commit.
   */
  static final class BoundTerms extends Terms {

    private final TransactionExecution transaction;

    private final BooleanSupplier onThread;

    /** The transaction manager, if it exposes no connection but may have one. */
    private final @Nullable String opaque;

    private final List<Call> late = new ArrayList<>(0);

    private boolean ending;

    /**
     * Creates the terms.
     *
     * @param transaction the transaction
     * @param onThread whether work on this thread joins the transaction, which is then not
     *     suspended
     * @param opaque the transaction manager, if it exposes no connection but may have one
     */
    BoundTerms(
        TransactionExecution transaction, BooleanSupplier onThread, @Nullable String opaque) {
      this.transaction = transaction;
      this.onThread = onThread;
      this.opaque = opaque;
    }

    @Override
    void add(Call call) {
      if (this.ending) {
        this.late.add(call);
      } else {
        super.add(call);
      }
    }

    /** Marks the transaction as about to end. Calls that begin later are not part of it. */
    void ending() {
      this.ending = true;
    }

    boolean isEnding() {
      return this.ending;
    }

    /** The terms of calls that began when the transaction was already over. */
    Terms late() {
      Terms terms = new Terms();
      this.late.forEach(terms::add);
      return terms;
    }

    boolean hasLate() {
      return !this.late.isEmpty();
    }

    private boolean hasLateWithoutTransaction() {
      return this.late.stream().anyMatch((call) -> !call.hasTransaction);
    }

    private boolean isOver() {
      return this.transaction.isCompleted();
    }

    private boolean isActive() {
      return !isOver() && this.onThread.getAsBoolean();
    }

    /**
     * Releases the terms before other callbacks run after the commit, since those may take long.
     */
    void letGoEarly() {
      if (TransactionSynchronizationManager.isSynchronizationActive()) {
        TransactionSynchronizationManager.registerSynchronization(new TransactionSynchronization() {

          @Override
          public int getOrder() {
            return HIGHEST_PRECEDENCE;
          }

          @Override
          public void afterCommit() {
            letGo();
          }

          @Override
          public void afterCompletion(int status) {
            letGo();
          }
        });
      }
    }
  }

  /**
   * Fences a transaction whose manager does not report when it commits or which connection it uses.
   * The fence applies to those connections that are visible on its thread before the commit.
   */
  private final class Unmanaged extends Terms implements TransactionSynchronization {

    private final String manager;

    private Unmanaged(String manager) {
      this.manager = manager;
    }

    private boolean isOf(FencedCalls calls) {
      return FencedCalls.this == calls;
    }

    @Override
    public void beforeCommit(boolean readOnly) {
      boolean shown = false;
      for (Map.Entry<Object, Object> resource :
          TransactionSynchronizationManager.getResourceMap().entrySet()) {
        if (resource.getKey() instanceof DataSource dataSource
            && resource.getValue() instanceof ConnectionHolder holder) {
          shown = true;
          if (!holder.isRollbackOnly()) {
            fence(dataSource, holder.getConnection(), readOnly);
          }
        }
      }
      if (!shown) {
        warn(this.manager, "they show no JDBC connection");
      }
    }

    private void fence(DataSource dataSource, Connection jdbc, boolean readOnly) {
      try {
        if (readOnly && jdbc.isReadOnly()) {
          return;
        }
        if (!jdbc.getAutoCommit()) {
          hold(this.manager, jdbc, this, () -> isShared(dataSource), false);
        } else if (isConcerned(this.manager, jdbc, this, () -> isShared(dataSource))) {
          warn(this.manager, "their connection commits each statement by itself");
        }
      } catch (SQLException ex) {
        throw translated(ex);
      }
    }
  }
}
