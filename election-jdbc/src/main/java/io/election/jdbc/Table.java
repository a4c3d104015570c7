package io.election.jdbc;

import java.sql.SQLException;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
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
      boolean primary) {

    /**
     * Whether the column holds names and distinguishes those that differ in more than trailing
     * blanks. Another binary collation would do so too, but the server does not compare columns of
     * different collations.
     */
    boolean isExactName() {
      return this.type.equals("varchar")
          && this.length >= NAME_LENGTH
          && this.collation.equals("utf8mb4_bin");
    }

    String describe() {
      return this.name + " " + this.fullType;
    }
  }

  /** Describes a table of the session's database; {@code null} if there is none of that name. */
  static @Nullable Table find(Session session, String name) throws SQLException {
    record Kind(String type, String engine) {}
    Optional<Kind> kind = session
        .query("""
                SELECT table_type, engine FROM information_schema.tables
                WHERE table_schema = DATABASE() AND table_name = ?
                """, (row) -> new Kind(Session.string(row, 1), Session.string(row, 2)), name)
        .stream()
        .findFirst();
    if (kind.isEmpty()) {
      return null;
    }
    // The server also shows a unique key as PRI if there is no primary key.
    List<Column> columns = session.query(
        """
            SELECT column_name, data_type, column_type, character_maximum_length,
                datetime_precision, is_nullable, column_default, extra, collation_name,
                column_name IN (SELECT column_name FROM information_schema.statistics
                    WHERE table_schema = DATABASE() AND table_name = ? AND index_name = 'PRIMARY')
            FROM information_schema.columns
            WHERE table_schema = DATABASE() AND table_name = ? ORDER BY ordinal_position
            """,
        (row) -> {
          boolean nullable = Session.string(row, 6).equals("YES");
          String extra = Session.string(row, 8).toLowerCase(Locale.ROOT);
          return new Column(
              Session.string(row, 1).toLowerCase(Locale.ROOT),
              Session.string(row, 2).toLowerCase(Locale.ROOT),
              Session.string(row, 3),
              row.getLong(4),
              row.getLong(5),
              nullable,
              nullable
                  || row.getString(7) != null
                  || extra.contains("auto_increment")
                  || extra.contains("generated"),
              Session.string(row, 9),
              row.getBoolean(10));
        },
        name,
        name);
    return new Table(name, kind.get().type(), kind.get().engine(), columns);
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
    return String.join(", ", this.columns.stream().map(Column::describe).toList());
  }
}
