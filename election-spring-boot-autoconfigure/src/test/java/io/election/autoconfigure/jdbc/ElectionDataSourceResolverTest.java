package io.election.autoconfigure.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import javax.sql.DataSource;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.springframework.beans.factory.support.DefaultListableBeanFactory;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.mock.env.MockEnvironment;

class ElectionDataSourceResolverTest {

  private static final String OWN = "jdbc:mysql:///orders?cloudSqlInstance=a&socketFactory=F";

  /** Where the URL names no host, its parameters choose the server. */
  @ParameterizedTest
  @CsvSource({
    OWN + ", true",
    "jdbc:mysql://app@/orders?cloudSqlInstance=a&socketFactory=F, true",
    "jdbc:mysql:///orders?cloudSqlInstance=b&socketFactory=F, false",
    "jdbc:mysql:///orders, false",
    "jdbc:mariadb:sequential:///orders?cloudSqlInstance=a&socketFactory=F, true",
    "jdbc:mysql:///billing?cloudSqlInstance=a&socketFactory=F, false"
  })
  void sourceIsKnownToBeSharedByItsWholeUrl(String url, boolean shared) {
    DefaultListableBeanFactory beans = new DefaultListableBeanFactory();
    beans.registerSingleton("own", new DriverManagerDataSource(OWN));
    ElectionDataSourceResolver resolver = new ElectionDataSourceResolver(
        beans,
        new MockEnvironment(),
        Duration.ofSeconds(1),
        beans.getBeanProvider(DataSource.class),
        null);
    assertThat(resolver.isShared(new DriverManagerDataSource(url))).isEqualTo(shared);
  }
}
