package io.election.autoconfigure.commitfence;

import io.election.LeadershipLostException;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.LongAdder;
import java.util.function.Supplier;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.jdbc.DatabaseDriver;
import org.springframework.dao.DataAccessException;
import org.springframework.jdbc.UncategorizedSQLException;
import org.springframework.jdbc.support.SQLExceptionSubclassTranslator;

/** Lets connections to the election's database commit only in the terms of their work. */
final class FencedConnections {

  private static final Logger log = LoggerFactory.getLogger(FencedConnections.class);

  private final Map<String, LongAdder> rejections = new ConcurrentHashMap<>();

  /** The databases of the election that connections reach, by the URLs of those. */
  private final Map<String, FencedDatabase> reached = new ConcurrentHashMap<>();

  /** The messages that were logged; each is logged only once. */
  private final Set<String> logged = ConcurrentHashMap.newKeySet();

  private final Supplier<FencedDatabases> databases;

  /** Creates the connections. The parameter is requested when first needed. */
  FencedConnections(Supplier<FencedDatabases> databases) {
    this.databases = databases;
  }

  /** Returns how often a commit was refused because a term of the election had ended. */
  long rejections(String serviceId) {
    LongAdder count = this.rejections.get(serviceId);
    return count != null ? count.sum() : 0;
  }

  /** The election's database to which connections of a source lead according to its URL. */
  Optional<FencedDatabase> shared(DataSource dataSource) {
    return this.databases.get().fenced().stream()
        .filter((database) -> database.isShared(dataSource))
        .findFirst();
  }

  /**
   * Lets a transaction commit only in its terms.
   *
   * @param manager the transaction manager, for display
   * @param jdbc the transaction's connection
   * @param terms the terms on which the transaction depends
   * @param shared the election's database to which the connection certainly leads; if it is empty,
   *     the server is asked
   * @param bounded whether the connection stays with its owner beyond the commit, so that the
   *     session's idle time may be bounded meanwhile
   * @throws LeadershipLostException if the transaction must be rolled back
   * @throws DataAccessException if the database fails otherwise
   */
  void hold(
      String manager,
      Connection jdbc,
      Terms terms,
      Supplier<Optional<FencedDatabase>> shared,
      boolean bounded) {
    try {
      FencedDatabase database = concerned(manager, jdbc, terms, shared).orElse(null);
      if (database == null) {
        return;
      }
      if (bounded) {
        terms.hold(database.fence().hold(jdbc, terms.nodeId(), terms.numbers()));
      } else {
        database.fence().confirm(jdbc, terms.nodeId(), terms.numbers());
      }
    } catch (LeadershipLostException ex) {
      this.rejections.computeIfAbsent(ex.serviceId(), (id) -> new LongAdder()).increment();
      throw ex;
    } catch (SQLException ex) {
      throw translated(ex);
    }
  }

  /**
   * Whether a connection cannot write, by its driver. A transaction that its manager treats as
   * read-only need not be so on the server, and what the driver of PostgreSQL says does not bind the
   * server: there the fence asks it.
   */
  static boolean isReadOnly(Connection jdbc) {
    try {
      return jdbc.isReadOnly()
          && DatabaseDriver.fromProductName(jdbc.getMetaData().getDatabaseProductName())
              != DatabaseDriver.POSTGRESQL;
    } catch (SQLException ex) {
      throw translated(ex);
    }
  }

  Optional<FencedDatabase> concerned(
      String manager, Connection jdbc, Terms terms, Supplier<Optional<FencedDatabase>> shared)
      throws SQLException {
    FencedDatabase concerned = shared.get().orElse(null);
    if (concerned == null) {
      concerned = reached(jdbc, terms);
    }
    if (concerned == null && isOff()) {
      return Optional.empty();
    }
    String message = concerned != null
        ? "leader-only transactions of %s are fenced: they commit only in the term in which they began"
        : "leader-only transactions of %s are not fenced: they are not on the election's database, or their user does not see leader_election_history there";
    if (this.logged.add(message + manager)) {
      log.info(message.formatted(manager));
    }
    return Optional.ofNullable(concerned);
  }

  /** Whether the settings of the database, which may be found late, switch the fence off. */
  private boolean isOff() {
    return this.databases.get().fenced().isEmpty();
  }

  private @Nullable FencedDatabase reached(Connection jdbc, Terms terms) throws SQLException {
    String url = jdbc.getMetaData().getURL();
    FencedDatabase known = url != null ? this.reached.get(url) : null;
    if (known != null) {
      return known;
    }
    for (FencedDatabase database : this.databases.get().fenced()) {
      if ((url == null || database.isLike(url))
          && database.fence().reaches(jdbc, terms.nodeId(), terms.numbers())) {
        if (url != null) {
          this.reached.put(url, database);
        }
        return database;
      }
    }
    return null;
  }

  /**
   * Does what {@link #hold} does, for work of calls that began after the commit or the rollback.
   * Such work is committed when the connection returns to autocommit.
   */
  void holdLate(
      String manager,
      Connection jdbc,
      BoundTerms terms,
      Supplier<Optional<FencedDatabase>> shared) {
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
      } else if (terms.hasLateWithoutTransaction()
          && concerned(manager, jdbc, late, shared).isPresent()) {
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
    if (!isOff() && this.logged.add(manager + reason)) {
      log.warn(
          "leader-only transactions of {} are not fenced: {}. A node that lost its leadership meanwhile may commit them. {}=false switches the fence and this message off",
          manager,
          reason,
          setting());
    }
  }

  /** The property that switches the fence off. */
  String setting() {
    return this.databases.get().setting();
  }

  static DataAccessException translated(SQLException ex) {
    String task = "Commit fence";
    DataAccessException translated = new SQLExceptionSubclassTranslator().translate(task, null, ex);
    return translated != null ? translated : new UncategorizedSQLException(task, null, ex);
  }
}
