package io.election.playground;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Reads the record and the history on a connection past all links. One thread reads. */
final class RecordWatch {

  private static final Logger log = LoggerFactory.getLogger(RecordWatch.class);

  private final Moments moments;
  private final Broadcaster broadcaster;
  private final AtomicLong queries = new AtomicLong();

  private @Nullable Connection connection;
  private List<Database.Cell> shown = List.of();
  private List<String> changed = List.of();
  private double changedAt;
  private volatile @Nullable Row row;
  private volatile List<Database.Past> history = List.of();
  private volatile @Nullable String problem;

  RecordWatch(Moments moments, Broadcaster broadcaster) {
    this.moments = moments;
    this.broadcaster = broadcaster;
  }

  /** The record, and when it changed last. */
  record Row(List<ShownCell> cells, double changedAt) {}

  /** A column; {@code changed} if the last change was to it. */
  record ShownCell(String name, String value, boolean changed) {}

  /** Reads once, if the database runs; sends the history to the browsers if it has changed. */
  void read(Database database) {
    try {
      Connection open = connection;
      if (open == null) {
        open = database.connect();
        connection = open;
      }
      List<Database.Cell> cells = database.record(open, Playground.SERVICE);
      List<Database.Past> past = database.history(open, Playground.SERVICE);
      queries.addAndGet(2);
      problem = null;
      show(cells != null ? cells : List.of());
      if (!past.equals(history)) {
        history = past;
        broadcaster.send(new Broadcaster.Event("history", past));
      }
    } catch (SQLException ex) {
      problem = String.valueOf(ex.getMessage()).lines().findFirst().orElse("");
      disconnect();
    }
  }

  private void disconnect() {
    Connection open = connection;
    connection = null;
    if (open != null) {
      try {
        open.close();
      } catch (SQLException ex) {
        log.debug("The connection is gone", ex);
      }
    }
  }

  private void show(List<Database.Cell> cells) {
    if (!cells.equals(shown)) {
      changed = cells.stream()
          .filter((cell) -> !shown.contains(cell))
          .map(Database.Cell::name)
          .toList();
      changedAt = moments.now();
      shown = cells;
    }
    row = cells.isEmpty()
        ? null
        : new Row(
            cells.stream()
                .map((cell) ->
                    new ShownCell(cell.name(), cell.value(), changed.contains(cell.name())))
                .toList(),
            changedAt);
  }

  /** The record as it was read last; {@code null} if there is none. */
  @Nullable
  Row row() {
    return row;
  }

  List<Database.Past> history() {
    return history;
  }

  /** Why the last reading failed; {@code null} if it did not. */
  @Nullable
  String problem() {
    return problem;
  }

  /** The number of queries since the last call. */
  long takeQueries() {
    return queries.getAndSet(0);
  }
}
