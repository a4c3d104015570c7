package io.election.autoconfigure.commitfence;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.Optional;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.springframework.jdbc.datasource.ConnectionHolder;
import org.springframework.transaction.support.TransactionSynchronization;
import org.springframework.transaction.support.TransactionSynchronizationManager;

/**
 * Fences a transaction whose manager does not report when it commits or which connection it uses.
 * The fence applies to those connections that are visible on its thread before the commit.
 */
final class UnmanagedTransaction extends Terms implements TransactionSynchronization {

  private final FencedConnections connections;

  private final String manager;

  UnmanagedTransaction(FencedConnections connections, String manager) {
    this.connections = connections;
    this.manager = manager;
  }

  boolean isOf(FencedConnections connections) {
    return this.connections == connections;
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
      this.connections.warn(this.manager, "they show no JDBC connection");
    }
  }

  private void fence(DataSource dataSource, Connection jdbc, boolean readOnly) {
    try {
      if (readOnly && FencedConnections.isReadOnly(jdbc)) {
        return;
      }
      Supplier<Optional<FencedDatabase>> shared = () -> this.connections.shared(dataSource);
      if (!jdbc.getAutoCommit()) {
        this.connections.hold(this.manager, jdbc, this, shared, false);
      } else if (this.connections.concerned(this.manager, jdbc, this, shared).isPresent()) {
        this.connections.warn(this.manager, "their connection commits each statement by itself");
      }
    } catch (SQLException ex) {
      throw FencedConnections.translated(ex);
    }
  }
}
