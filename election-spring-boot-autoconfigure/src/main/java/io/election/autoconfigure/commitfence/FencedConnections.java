package io.election.autoconfigure.commitfence;

import io.election.LeadershipLostException;
import io.election.jdbc.CommitFence;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.BooleanSupplier;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.UncategorizedSQLException;
import org.springframework.jdbc.support.SQLExceptionSubclassTranslator;

/** Lets connections to the election's database commit only in the terms of their work. */
final class FencedConnections {

  private static final Logger log = LoggerFactory.getLogger(FencedConnections.class);

  private final Map<String, LongAdder> rejections = new ConcurrentHashMap<>();

  /** The URLs of connections that are known to reach the election's database. */
  private final Set<String> reached = ConcurrentHashMap.newKeySet();

  /** The messages that were logged; each is logged only once. */
  private final Set<String> logged = ConcurrentHashMap.newKeySet();

  private final Supplier<CommitFence> fence;

  private final Supplier<FencedDatabase> database;

  /** Creates the connections. The parameters are requested when first needed. */
  FencedConnections(Supplier<CommitFence> fence, Supplier<FencedDatabase> database) {
    this.fence = fence;
    this.database = database;
  }

  /** Returns how often a commit was refused because a term of the election had ended. */
  long rejections(String serviceId) {
    LongAdder count = this.rejections.get(serviceId);
    return count != null ? count.sum() : 0;
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
        terms.hold(this.fence.get().hold(jdbc, terms.nodeId(), terms.numbers()));
      } else {
        this.fence.get().confirm(jdbc, terms.nodeId(), terms.numbers());
      }
    } catch (LeadershipLostException ex) {
      this.rejections.computeIfAbsent(ex.serviceId(), (id) -> new LongAdder()).increment();
      throw ex;
    } catch (SQLException ex) {
      throw translated(ex);
    }
  }

  boolean isConcerned(String manager, Connection jdbc, Terms terms, BooleanSupplier shared)
      throws SQLException {
    boolean concerned = shared.getAsBoolean();
    if (!concerned) {
      String url = jdbc.getMetaData().getURL();
      concerned = (url != null && this.reached.contains(url))
          || this.fence.get().reaches(jdbc, terms.nodeId(), terms.numbers());
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

  static DataAccessException translated(SQLException ex) {
    String task = "Commit fence";
    DataAccessException translated = new SQLExceptionSubclassTranslator().translate(task, null, ex);
    return translated != null ? translated : new UncategorizedSQLException(task, null, ex);
  }
}
