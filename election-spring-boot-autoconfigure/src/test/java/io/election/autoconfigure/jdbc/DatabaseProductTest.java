package io.election.autoconfigure.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class DatabaseProductTest {

  @ParameterizedTest
  @CsvSource({
    "jdbc:mysql://db/orders, MYSQL, false",
    "'jdbc:mysql:loadbalance://a,b/orders', MYSQL, false",
    "jdbc:mariadb://db/orders, MYSQL, false",
    "jdbc:aws-wrapper:mysql://db/orders, MYSQL, false",
    "jdbc:postgresql://db/orders, POSTGRESQL, false",
    "jdbc:postgresql:mysql, POSTGRESQL, false",
    "jdbc:aws-wrapper:postgresql://db/orders, POSTGRESQL, false",
    "jdbc:tc:postgresql:18:///orders, POSTGRESQL, false",
    "jdbc:otel:postgresql://db/orders, POSTGRESQL, false",
    "jdbc:p6spy:aws-wrapper:postgresql://db/orders, POSTGRESQL, false",
    "jdbc:h2:mem:postgresql, , true",
    "jdbc:otel:h2:mem:postgresql:a, , true",
    "jdbc:redshift://db/orders, , true",
    "jdbc:unknown://db:5432/postgresql:a, , false",
    "jdbc:unknown:postgresqlish://db, , false",
    "mysql://db/orders, , false"
  })
  void productIsKnownByTheUrlWhateverWrapsItsDriver(
      String url, DatabaseProduct product, boolean other) {
    assertThat(DatabaseProduct.of(url)).isEqualTo(product);
    assertThat(DatabaseProduct.isOther(url)).isEqualTo(other);
  }
}
