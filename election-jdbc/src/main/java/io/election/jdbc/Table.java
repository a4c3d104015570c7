package io.election.jdbc;

import java.util.List;
import java.util.Optional;
import java.util.stream.Collectors;

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

  Optional<Column> column(String name) {
    return this.columns.stream().filter((column) -> column.name().equals(name)).findFirst();
  }

  /** The length that a column of names needs, so that no name is cut off. */
  long nameLength(String name) {
    return Math.max(NAME_LENGTH, column(name).map(Column::length).orElse(0L));
  }

  List<String> primaryKey() {
    return this.columns.stream().filter(Column::primary).map(Column::name).toList();
  }

  String describe() {
    return this.columns.stream()
        .map((column) ->
            (column.name() + " " + column.fullType() + " " + column.collation()).strip())
        .collect(Collectors.joining(", "));
  }
}
