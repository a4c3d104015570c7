package io.election.jdbc;

import static io.election.jdbc.Columns.string;

import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/**
 * A table as the server describes it.
 *
 * @param name its name
 * @param type its type, {@code BASE TABLE} for an ordinary table
 * @param engine its engine; empty if it has none
 * @param columns its columns in their order
 */
record Table(String name, String type, String engine, List<Column> columns) {

  static final int NAME_LENGTH = 128;

  /**
   * A column.
   *
   * @param name its name in lower case
   * @param type its type without length, in lower case
   * @param fullType its type as declared
   * @param length length of text in characters; 0 for other types
   * @param precision digits of fractional seconds; 0 for other types
   * @param nullable whether it may be null
   * @param omissible whether an INSERT may omit it
   * @param collation collation of text; empty for other types
   * @param primary whether it belongs to the primary key
   */
  record Column(
      String name,
      String type,
      String fullType,
      long length,
      long precision,
      boolean nullable,
      boolean omissible,
      String collation,
      boolean primary) {}

  /** Finds a table in the session's schema; {@code null} if there is none of that name. */
  static @Nullable Table find(Session session, String name) throws SQLException {
    record Found(String type, String engine, Column column) {}
    List<Found> found = session.query(
        session.dialect().description(name),
        (row) -> new Found(
            string(row, 1),
            string(row, 2),
            new Column(
                string(row, 3),
                string(row, 4),
                string(row, 5),
                row.getLong(6),
                row.getLong(7),
                row.getBoolean(8),
                row.getBoolean(9),
                string(row, 10),
                row.getBoolean(11))));
    return found.isEmpty()
        ? null
        : new Table(
            name,
            found.get(0).type(),
            found.get(0).engine(),
            found.stream().map(Found::column).toList());
  }

  Optional<Column> column(String name) {
    return this.columns.stream().filter((column) -> column.name().equals(name)).findFirst();
  }

  /** The length that a column of names needs, so that no name is cut off. */
  long nameLength(String name) {
    return Math.max(NAME_LENGTH, column(name).map(Column::length).orElse(0L));
  }

  List<String> names() {
    return this.columns.stream().map(Column::name).toList();
  }

  List<String> primaryKey() {
    return this.columns.stream().filter(Column::primary).map(Column::name).toList();
  }

  String describe() {
    return this.columns.stream()
        .map((column) -> column.name() + " " + column.fullType())
        .collect(Collectors.joining(", "));
  }
}
