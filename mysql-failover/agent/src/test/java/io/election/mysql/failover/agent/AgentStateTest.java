package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.mysql.failover.agent.AgentState.Shown;
import io.election.mysql.failover.agent.Status.Role;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

class AgentStateTest {

  private static final long SHOWN_AT = Long.MAX_VALUE - 1; // the monotonic clock may wrap around

  @ParameterizedTest
  @EnumSource(names = {"SOURCE", "REPLICA"})
  void aServerThatHasNotAnsweredForLongServesNobody(Role role) {
    Shown shown = new Shown(new Status(role, "", 7), SHOWN_AT);

    assertThat(shown.statusAt(after(3))).isEqualTo(shown.status());
    assertThat(shown.statusAt(after(4)))
        .isEqualTo(
            new Status(Role.UNKNOWN, "it was %s, but has not answered for 4 s".formatted(role), 7));
  }

  @ParameterizedTest
  @EnumSource(
      names = {"SOURCE", "REPLICA"},
      mode = EnumSource.Mode.EXCLUDE)
  void theReasonOfAServerThatServesNobodyStays(Role role) {
    Shown shown = new Shown(new Status(role, "why", 0), SHOWN_AT);

    assertThat(shown.statusAt(after(60))).isEqualTo(shown.status());
  }

  private static long after(long seconds) {
    return SHOWN_AT + TimeUnit.SECONDS.toNanos(seconds);
  }
}
