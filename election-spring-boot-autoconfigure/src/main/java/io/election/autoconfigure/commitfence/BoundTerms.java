package io.election.autoconfigure.commitfence;

import java.util.ArrayList;
import java.util.List;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;
import org.springframework.transaction.TransactionExecution;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * The terms on which one transaction depends, and the fence that holds them during the commit.
 */
final class BoundTerms extends Terms {

  private final TransactionExecution transaction;

  private final BooleanSupplier onThread;

  private final @Nullable String opaque;

  private final List<BoundCall> late = new ArrayList<>(0);

  private boolean ending;

  /**
   * Creates the terms.
   *
   * @param transaction the transaction
   * @param onThread whether work on this thread joins the transaction, which is then not
   *     suspended
   * @param opaque the transaction manager, if it exposes no connection but may have one
   */
  BoundTerms(TransactionExecution transaction, BooleanSupplier onThread, @Nullable String opaque) {
    this.transaction = transaction;
    this.onThread = onThread;
    this.opaque = opaque;
  }

  boolean isOf(TransactionExecution transaction) {
    return this.transaction == transaction;
  }

  /** The transaction manager, if it exposes no connection but may have one. */
  @Nullable
  String opaque() {
    return this.opaque;
  }

  @Override
  void add(BoundCall call) {
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

  boolean hasLateWithoutTransaction() {
    return this.late.stream().anyMatch((call) -> !call.hasTransaction());
  }

  boolean isOver() {
    return this.transaction.isCompleted();
  }

  boolean isActive() {
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
