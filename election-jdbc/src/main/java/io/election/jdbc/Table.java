package io.election.jdbc;

import static io.election.jdbc.Columns.string;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.stream.Collectors;
import java.util.stream.Stream;

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

  /** Finds tables of the session's schema. All are those of one instant. */
  static Map<String, Table> find(Session session, String... names) throws SQLException {
    Map<String, Table> tables = new HashMap<>();
    String sql = Stream.of(names)
        .map(session.dialect()::description)
        .collect(Collectors.joining("UNION ALL ", "", "ORDER BY 1"));
    session.query(sql, (row) -> {
      Table table = new Table(string(row, 2), string(row, 3), string(row, 4), new ArrayList<>());
      Table known = tables.putIfAbsent(table.name(), table);
      return (known != null ? known : table)
          .columns()
          .add(new Column(
              string(row, 5),
              string(row, 6),
              string(row, 7),
              row.getLong(8),
              row.getLong(9),
              row.getBoolean(10),
              row.getBoolean(11),
              string(row, 12),
              row.getBoolean(13)));
    });
    return tables;
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
