package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.ElectionSetupException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.function.UnaryOperator;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The DDL, which the jar and the documentation contain, and the tables that differ from it. */
class LeaseTablesTest {

  private static final Pattern COLUMN = Pattern.compile(
      "(?m)^ +(\\w+) +(varchar|mediumtext|bigint|timestamp|tinyint|blob)(?:\\((\\d+)\\))?.*?(?<!NOT )(NOT NULL|NULL)\\b");

  @Test
  void eachStatementCreatesItsTable() {
    assertThat(MysqlTables.DDL.leases())
        .startsWith("CREATE TABLE leader_election (")
        .endsWith("COMMENT='leader election'");
    assertThat(MysqlTables.DDL.history())
        .startsWith("CREATE TABLE leader_election_history (")
        .endsWith("must stay'");
    assertThat(MysqlTables.DDL.members())
        .startsWith("CREATE TABLE leader_election_member (")
        .endsWith("may be emptied'");
  }

  @Test
  void thePageShowsTheFiles() throws IOException {
    assertThat(Files.readString(Path.of("../docs/ddl.md")).replace("\r\n", "\n"))
        .contains(
            "```sql\n" + MysqlTables.DDL.all() + "\n```",
            "```sql\n" + PostgresqlDialect.INSTANCE.ddl().all() + "\n```");
  }

  /** A table as its documented DDL makes it. */
  private static Table table(String ddl) {
    String name = ddl.substring("CREATE TABLE ".length(), ddl.indexOf(" ("));
    List<Table.Column> columns = COLUMN
        .matcher(ddl)
        .results()
        .map((line) -> new Table.Column(
            line.group(1),
            line.group(2),
            line.group(2),
            line.group(3) != null && line.group(2).equals("varchar")
                ? Long.parseLong(line.group(3))
                : 0,
            line.group(2).equals("timestamp") ? 6 : 0,
            line.group(4).equals("NULL"),
            true,
            "utf8mb4_bin",
            ddl.substring(ddl.indexOf("PRIMARY KEY"))
                .lines()
                .findFirst()
                .orElse("")
                .contains(line.group(1))))
        .toList();
    return new Table(name, "BASE TABLE", "InnoDB", columns);
  }

  static Stream<Arguments> columns() {
    return Stream.of(MysqlTables.DDL.leases(), MysqlTables.DDL.history())
        .map(LeaseTablesTest::table)
        .flatMap((table) ->
            table.columns().stream().map((column) -> Arguments.of(table.name(), column.name())));
  }

  /** All tables, with the line of a column of one of them edited. */
  private static LeaseTables changed(String table, String column, UnaryOperator<String> edit) {
    Pattern line = Pattern.compile("(?m)^ +" + column + " .*$");
    List<Table> tables = Stream.of(
            MysqlTables.DDL.leases(), MysqlTables.DDL.history(), MysqlTables.DDL.members())
        .map((ddl) -> ddl.startsWith("CREATE TABLE " + table + " ")
            ? line.matcher(ddl).replaceFirst((found) -> edit.apply(found.group()))
            : ddl)
        .map(LeaseTablesTest::table)
        .toList();
    return new LeaseTables(MysqlDialect.MYSQL, tables.get(0), tables.get(1), tables.get(2));
  }

  @Test
  void whatTheDdlMakesIsComplete() {
    assertThat(changed("leader_election", "term", UnaryOperator.identity()).missing())
        .isEmpty();
  }

  @ParameterizedTest
  @MethodSource("columns")
  void aColumnOfAnotherTypeIsRefusedByItsName(String table, String column) {
    LeaseTables tables =
        changed(table, column, (line) -> line.replaceFirst("(\\w+ +)\\S+", "$1blob"));
    assertRefused(tables, column + " is blob, not ");
  }

  @ParameterizedTest
  @CsvSource({
    "leader_election, term, allows NULL",
    "leader_election, version, allows NULL",
    "leader_election, lease_millis, does not allow NULL",
    "leader_election, seal, does not allow NULL",
    "leader_election_history, ended_at, does not allow NULL",
    "leader_election_history, end_reason, does not allow NULL",
    "leader_election_history, ended_by, does not allow NULL",
    "leader_election_history, end_note, does not allow NULL"
  })
  void aColumnThatIsNullWhereItMustNotBeOrTheReverseIsRefused(
      String table, String column, String fault) {
    LeaseTables tables = changed(
        table,
        column,
        (line) ->
            line.replaceFirst("NOT NULL|NULL", line.contains("NOT NULL") ? "NULL" : "NOT NULL"));
    assertRefused(tables, column + " " + fault);
  }

  /** An upgrade adds the others. */
  static Stream<Arguments> columnsThatNobodyCanAdd() {
    Set<String> added = Set.of("term", "version", "lease_millis", "seal");
    return columns()
        .filter((column) ->
            !column.get()[0].equals("leader_election") || !added.contains(column.get()[1]));
  }

  @ParameterizedTest
  @MethodSource("columnsThatNobodyCanAdd")
  void aTableWithoutAColumnThatNobodyCanAddIsRefused(String table, String column) {
    assertRefused(changed(table, column, (line) -> ""), "it has no " + column);
  }

  /** The server compares no columns of different collations. */
  @ParameterizedTest
  @ValueSource(
      strings = {"utf8mb4_0900_bin", "utf8mb4_nopad_bin", "utf8mb3_bin", "utf8mb4_general_ci"})
  void aNameOfAnotherCollationIsNotExact(String collation) {
    assertThat(MysqlTables.isExactName(name("utf8mb4_bin"))).isTrue();
    assertThat(MysqlTables.isExactName(name(collation))).isFalse();
  }

  private static Table.Column name(String collation) {
    return new Table.Column(
        "leader_id", "varchar", "varchar(128)", 128, 0, false, false, collation, true);
  }

  private static void assertRefused(LeaseTables tables, String fault) {
    assertThatThrownBy(() -> tables.missing())
        .isInstanceOfSatisfying(
            ElectionSetupException.class, (ex) -> assertThat(ex.found()).contains(fault));
  }
}
