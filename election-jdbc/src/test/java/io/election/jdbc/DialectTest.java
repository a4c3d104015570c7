package io.election.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.ElectionSetupException;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

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
