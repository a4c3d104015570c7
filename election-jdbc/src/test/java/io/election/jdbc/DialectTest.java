package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.ElectionSetupException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class DialectTest {

  @ParameterizedTest
  @CsvSource({
    "9.7.4, MYSQL",
    "8.0.33-25-Percona, MYSQL",
    "8.0.mysql_aurora.3.04.0, MYSQL",
    "11.4.5-MariaDB, MARIADB",
    "10.11.14-MariaDB-0+deb12u2, MARIADB",
  })
  void theVersionTellsTheProductWhateverTheDriverSays(String version, MysqlDialect dialect) {
    assertThat(MysqlDialect.ofVersion(version)).isEqualTo(dialect);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu)",
        "PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu",
        "PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC, Redshift 1.0.63590",
        "PostgreSQL 16 (Aurora DSQL)",
        "PostgreSQL 9.4.26 (Greenplum Database 6.25.3)"
      })
  void whatOnlySpeaksTheProtocolIsNamed(String version) {
    assertThatThrownBy(() -> PostgresqlDialect.supported(version, 160_000))
        .isInstanceOf(ElectionSetupException.class)
        .hasMessageContaining(version + ", which is none of MySQL, MariaDB and PostgreSQL");
  }

  @Test
  void anOldPostgresqlIsRefused() {
    String version = "PostgreSQL 13.14 on x86_64-pc-linux-gnu";
    assertThatThrownBy(() -> PostgresqlDialect.supported(version, 130_014))
        .hasMessageContaining(version, "14 is the oldest");
    assertThat(PostgresqlDialect.supported("PostgreSQL 14.0", 140_000)).isEqualTo(140_000);
  }

  @Test
  void theMessageGrantsWhatThePageDoes() throws IOException {
    Statements.Facts facts = new Statements.Facts("", "", "orders", "app", 0, "");
    String grants = PostgresqlDialect.INSTANCE.grants(facts).replace("\"", "");
    assertThat(Files.readString(Path.of("../docs/postgresql.md")).replace("\r\n", "\n"))
        .contains("```sql\n" + grants + "\n```");
  }

  @Test
  void anUnknownProductIsNamed() {
    assertThatThrownBy(() -> MysqlDialect.ofVersion("8.0.11-TiDB-v7.5.0"))
        .isInstanceOf(ElectionSetupException.class)
        .hasMessage("""
            The database of the election is 8.0.11-TiDB-v7.5.0, which is none of MySQL, MariaDB and PostgreSQL.
            Let the election use one of these, for instance by a DataSource bean with @ElectionDataSource, or set as.election.algorithm=Zookeeper or Etcd.\
            """);
    assertThat(Dialects.of("H2")).isNull();
  }
}
