package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import java.net.ConnectException;
import java.sql.SQLException;
import org.junit.jupiter.api.Test;

class RefusalsTest {

  private static final ConnectException REFUSED = new ConnectException("Connection refused");

  @Test
  void aServerThatDoesNotRunIsToldWithItsRemedy() {
    assertThat(Refusals.text(new SQLException("Communications link failure", REFUSED)))
        .startsWith("nothing listens at its address: start the server");
  }

  @Test
  void otherFailuresSpeakForThemselves() {
    assertThat(Refusals.text(new SQLException("Access denied\nfor root")))
        .isEqualTo("Access denied");
    assertThat(Refusals.text(new SQLException("late", new ConnectException("timed out"))))
        .isEqualTo("late");
    assertThat(Refusals.text(REFUSED)).isEqualTo("Connection refused");
    assertThat(Refusals.text(new SQLException())).isEqualTo("java.sql.SQLException");
  }
}
