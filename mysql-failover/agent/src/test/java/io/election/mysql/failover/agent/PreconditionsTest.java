package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Map;
import java.util.TreeMap;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What makes a server unfit, without a server: {@link BadInputIT} has real ones. */
class PreconditionsTest {

  private static final String PROBLEM = "the agent's user lacks SHUTDOWN: GRANT SHUTDOWN";

  private final Map<String, String> variables = new TreeMap<>(CandidacyTest.FIT.variables());

  private String unfit(String problems) {
    return preconditions(problems).unfit();
  }

  private Preconditions preconditions(String problems) {
    StringBuilder text = new StringBuilder();
    this.variables.forEach(
        (name, value) -> text.append(name).append('=').append(value).append('\n'));
    return Preconditions.of(text.toString(), problems);
  }

  @Test
  void allThatIsWrongIsSaidInOrder() {
    assertThat(unfit("")).isEmpty();
    this.variables.put("skip_replica_start", "OFF");
    this.variables.remove("rpl_semi_sync_replica_enabled");
    assertThat(unfit(PROBLEM + "\nany other"))
        .isEqualTo(
            "any other; rpl_semi_sync_replica_enabled is unknown because its plugin is not loaded: set it to ON; skip_replica_start is OFF: set it to ON; "
                + PROBLEM);
  }

  @Test
  void aSettingMayContainAnEqualsSign() {
    assertThat(Preconditions.of("a=b=c", "").variables()).containsExactly(Map.entry("a", "b=c"));
  }

  @Test
  void onlyAFailedCloneLeavesTheDataIncomplete() {
    assertThat(preconditions(PROBLEM).isIncomplete()).isFalse();
    assertThat(preconditions(PROBLEM + "\nits data may be gone: a clone from a:1 has failed")
            .isIncomplete())
        .isTrue();
  }

  @ParameterizedTest
  @CsvSource({
    "rpl_semi_sync_source_enabled, OFF, ON",
    "rpl_semi_sync_source_timeout, 1000, 4294967295",
    "rpl_semi_sync_source_wait_no_replica, OFF, ON",
    "rpl_semi_sync_source_wait_for_replica_count, 1, 2",
    "rpl_semi_sync_source_wait_point, AFTER_COMMIT, AFTER_SYNC",
    "sync_binlog, 0, 1"
  })
  void whatBreaksThePromiseOfASourceIsSaid(String name, String value, String required) {
    this.variables.put("rpl_semi_sync_source_enabled", "ON");
    this.variables.put("rpl_semi_sync_source_timeout", "4294967295");
    this.variables.put("rpl_semi_sync_source_wait_no_replica", "ON");
    this.variables.put("rpl_semi_sync_source_wait_for_replica_count", "2");
    assertThat(preconditions("").brokenBy(2)).isEmpty();
    this.variables.put(name, value);
    assertThat(preconditions("").brokenBy(2))
        .isEqualTo("%s is %s: set it to %s".formatted(name, value, required));
    assertThat(preconditions(PROBLEM).brokenBy(2)).contains(PROBLEM);
  }
}
