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
    "MySQL, 9.7.4, MYSQL",
    "MySQL, 8.0.33-25-Percona, MYSQL",
    "MySQL, 8.0.mysql_aurora.3.04.0, MYSQL",
    "MySQL, 11.4.5-MariaDB, MARIADB",
    "MariaDB, 10.11.14-MariaDB-0+deb12u2, MARIADB",
    "MariaDB, 9.7.4, MYSQL",
  })
  void theVersionTellsTheProductWhateverTheDriverSays(
      String driver, String version, Dialect dialect) {
    assertThat(Dialect.of(driver, version)).isEqualTo(dialect);
  }

  @Test
  void anUnknownProductIsNamed() {
    assertThatThrownBy(() -> Dialect.of("MySQL", "8.0.11-TiDB-v7.5.0"))
        .isInstanceOf(ElectionSetupException.class)
        .hasMessage("""
            The database of the election is 8.0.11-TiDB-v7.5.0, which is neither MySQL nor MariaDB.
            Let the election use a MySQL or MariaDB database, for instance by a DataSource bean with @ElectionDataSource. In tests without one, set as.election.enabled=false.\
            """);
    assertThatThrownBy(() -> Dialect.of("H2", "2.4.240"))
        .hasMessageStartingWith("The database of the election is H2 2.4.240, which is neither");
  }
}
