package io.election.autoconfigure.mysql;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.autoconfigure.mysql.FencedCalls.Terms;
import io.election.mysql.CommitFence;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;
import org.springframework.dao.DataAccessException;

/** The exceptions that the commit fence throws. */
class FencedCallsTest {

  @ParameterizedTest
  @ValueSource(strings = {"HY000", "70100", "XA100", "08S01", "42000"})
  void aFailureOfTheDatabaseKeepsItsCause(String state) {
    SQLException failure = new SQLException("Something else", state, 9999);
    Connection connection = (Connection) Proxy.newProxyInstance(
        getClass().getClassLoader(), new Class<?>[] {Connection.class}, (proxy, method, args) -> {
          throw failure;
        });
    FencedCalls calls = new FencedCalls(() -> new CommitFence(Duration.ofSeconds(1)), () -> {
      throw new AssertionError("not asked");
    });
    assertThatThrownBy(() -> calls.hold("'manager'", connection, new Terms(), () -> true, true))
        .isInstanceOf(DataAccessException.class)
        .hasCause(failure);
  }
}
