package io.election.autoconfigure;

import io.election.LeadershipLostException;
import io.election.autoconfigure.FencedCalls.BoundTerms;
import io.election.mysql.CommitFence;
import java.sql.SQLException;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.jdbc.support.SQLExceptionSubclassTranslator;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.TransactionStatus;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/** Fences the transactions of one transaction manager, as the last thing before they commit. */
final class CommitFenceListener implements TransactionExecutionListener {

  private final Supplier<FencedCalls> calls;

  private final Supplier<CommitFence> fence;

  private final DataSource dataSource;

  /** Whether that is the election's database. */
  private final BooleanSupplier concerned;

  /**
   * Creates the listener.
   *
   * @param calls knows the terms of a transaction
   * @param fence the fence
   * @param dataSource where the transactions' connections come from
   * @param concerned tells whether that is the election's database; asked when first needed
   */
  CommitFenceListener(
      Supplier<FencedCalls> calls,
      Supplier<CommitFence> fence,
      DataSource dataSource,
      BooleanSupplier concerned) {
    this.calls = calls;
    this.fence = fence;
    this.dataSource = dataSource;
    this.concerned = concerned;
  }

  @Override
  public void afterBegin(TransactionExecution transaction, @Nullable Throwable failure) {
    if (failure == null) {
      this.calls.get().transactionBegan();
    }
  }

  @Override
  public void beforeCommit(TransactionExecution transaction) {
    // A read-only transaction has nothing to commit; a savepoint commits with the transaction
    // around.
    if (!transaction.isNewTransaction() || transaction.isReadOnly()) {
      return;
    }
    BoundTerms terms = this.calls.get().termsOfTransaction();
    if (terms == null || !this.concerned.getAsBoolean()) {
      return;
    }
    if (transaction instanceof TransactionStatus status) {
      // What an ORM still holds back would otherwise be written with the lock held.
      status.flush();
    }
    if (!(TransactionSynchronizationManager.getResource(this.dataSource)
        instanceof ConnectionHolder holder)) {
      throw new IllegalStateException(
          "A transaction under @LeaderOnly cannot be fenced, since its transaction manager shows no JDBC connection. Set as.election.mysql.commit-fence=false, or use one that does.");
    }
    try {
      terms.hold(this.fence.get().hold(holder.getConnection(), terms.nodeId(), terms.terms()));
    } catch (LeadershipLostException ex) {
      this.calls.get().rejected(ex.serviceId());
      throw ex;
    } catch (SQLException ex) {
      throw new SQLExceptionSubclassTranslator().translate("Commit fence", null, ex);
    }
  }
}
