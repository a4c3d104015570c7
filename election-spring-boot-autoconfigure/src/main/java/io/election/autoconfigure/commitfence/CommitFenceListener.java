package io.election.autoconfigure.commitfence;

import java.sql.Connection;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.TransactionExecutionListener;
import org.springframework.transaction.support.TransactionSynchronizationManager;
import org.springframework.util.function.SingletonSupplier;

/** Fences the transactions of one transaction manager immediately before they commit. */
final class CommitFenceListener implements TransactionExecutionListener {

  private final Supplier<FencedCalls> calls;

  private final String manager;

  private final boolean opaque;

  private final @Nullable DataSource dataSource;

  private final Supplier<Boolean> keepsConnection;

  /** The election's database to which the DataSource leads. */
  private final Supplier<Optional<FencedDatabase>> shared;

  /**
   * Creates the listener.
   *
   * @param calls provides the terms of a transaction
   * @param manager the transaction manager, for display
   * @param dataSource the source of the transactions' connections; {@code null} if the transaction
   *     manager does not expose it
   * @param opaque whether the transactions may use a database although the manager does not expose
   *     it
   * @param keepsConnection whether a connection stays with its transaction until other listeners
   *     have been notified of the commit; evaluated when first needed
   */
  CommitFenceListener(
      Supplier<FencedCalls> calls,
      String manager,
      @Nullable DataSource dataSource,
      boolean opaque,
      BooleanSupplier keepsConnection) {
    this.calls = calls;
    this.manager = "'" + manager + "'";
    this.dataSource = dataSource;
    this.opaque = opaque;
    this.keepsConnection = SingletonSupplier.of(keepsConnection::getAsBoolean);
    this.shared = SingletonSupplier.of(() ->
        dataSource != null ? this.calls.get().connections().shared(dataSource) : Optional.empty());
  }

  /**
   * Whether this listener already belongs to the given calls, so that a second one is not added.
   */
  boolean isOf(Supplier<FencedCalls> calls) {
    return this.calls == calls || this.calls.get() == calls.get();
  }

  @Override
  public void afterBegin(TransactionExecution transaction, @Nullable Throwable failure) {
    if (failure == null) {
      Object resource = resource();
      this.calls
          .get()
          .began(new BoundTerms(
              transaction, () -> resource() == resource, this.opaque ? this.manager : null));
    }
  }

  @Override
  public void beforeCommit(TransactionExecution transaction) {
    FencedCalls calls = this.calls.get();
    BoundTerms terms = calls.find(transaction);
    if (terms == null) {
      return; // a savepoint commits with the enclosing transaction
    }
    terms.ending();
    if (terms.isEmpty() || terms.isHeld() || transaction.isRollbackOnly()) {
      return;
    }
    if (!(resource() instanceof ConnectionHolder holder)) {
      if (this.dataSource == null) {
        return;
      }
      if (this.shared.get().isPresent()) {
        throw new IllegalStateException(
            "A transaction under @LeaderOnly cannot be fenced, since its transaction manager shows no JDBC connection. Set %s=false, or use one that does."
                .formatted(calls.connections().setting()));
      }
      calls.connections().warn(this.manager, "they show no JDBC connection");
      return;
    }
    Connection jdbc = holder.getConnection();
    if (transaction.isReadOnly() && FencedConnections.isReadOnly(jdbc)) {
      return; // it has nothing to commit
    }
    calls.connections().hold(this.manager, jdbc, terms, this.shared, this.keepsConnection.get());
    if (terms.isHeld()) {
      terms.letGoEarly();
    }
  }

  @Override
  public void beforeRollback(TransactionExecution transaction) {
    BoundTerms terms = this.calls.get().find(transaction);
    if (terms != null) {
      terms.ending();
    }
  }

  @Override
  public void afterCommit(TransactionExecution transaction, @Nullable Throwable failure) {
    after(transaction);
  }

  @Override
  public void afterRollback(TransactionExecution transaction, @Nullable Throwable failure) {
    after(transaction);
  }

  private void after(TransactionExecution transaction) {
    FencedCalls calls = this.calls.get();
    BoundTerms terms = calls.find(transaction);
    if (terms == null) {
      return;
    }
    calls.ended(terms);
    terms.letGo();
    if (terms.hasLate() && resource() instanceof ConnectionHolder holder) {
      calls.connections().holdLate(this.manager, holder.getConnection(), terms, this.shared);
    }
  }

  private @Nullable Object resource() {
    return this.dataSource != null
        ? TransactionSynchronizationManager.getResource(this.dataSource)
        : null;
  }
}
