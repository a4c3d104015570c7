package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.ArgumentMatchers.contains;
import static org.mockito.Mockito.mock;
import static org.mockito.Mockito.when;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** What makes a server unfit, without a server: {@link BadInputIT} has real ones. */
class FitnessTest {

  private final MysqlServer server = mock();

  private final List<Map.Entry<String, String>> variables = new ArrayList<>(List.of(
      Map.entry("gtid_mode", "ON"),
      Map.entry("enforce_gtid_consistency", "ON"),
      Map.entry("log_replica_updates", "ON"),
      Map.entry("sync_binlog", "1"),
      Map.entry("innodb_flush_log_at_trx_commit", "1"),
      Map.entry("binlog_error_action", "ABORT_SERVER"),
      Map.entry("relay_log_recovery", "ON"),
      Map.entry("persisted_globals_load", "ON"),
      Map.entry("event_scheduler", "ON")));

  private final List<String> privileges = new ArrayList<>(List.of(
      "CONNECTION_ADMIN",
      "EVENT",
      "PERSIST_RO_VARIABLES_ADMIN",
      "REPLICATION_SLAVE_ADMIN",
      "SELECT",
      "SYSTEM_USER",
      "SYSTEM_VARIABLES_ADMIN",
      "UPDATE"));

  @BeforeEach
  void answer() throws SQLException {
    when(this.server.query(any(), any())).thenReturn(List.of());
    when(this.server.query(contains("global_variables"), any())).thenReturn(cast(this.variables));
    when(this.server.query(contains("SELECT CONCAT('''',\n    LEFT"), any()))
        .thenReturn(cast(List.of("'agent'@'%'")));
    when(this.server.query(contains("user_privileges"), any())).thenReturn(cast(this.privileges));
  }

  @SuppressWarnings("unchecked")
  private static List<Object> cast(List<?> rows) {
    return (List<Object>) rows;
  }

  @Test
  void whatTheFencesNeedIsCheckedBeforeTheyAreNeeded() throws SQLException {
    this.variables.add(Map.entry("skip_replica_start", "OFF"));
    assertThat(new Fitness(this.server).inspect(0).reason())
        .isEqualTo(
            "skip_replica_start is OFF: set it to ON; the agent's user 'agent'@'%' lacks SHUTDOWN: GRANT SHUTDOWN ON *.* TO 'agent'@'%'");
    this.variables.set(this.variables.size() - 1, Map.entry("skip_replica_start", "ON"));
    this.privileges.add("SHUTDOWN");
    assertThat(new Fitness(this.server).inspect(0).reason()).isEmpty();
  }
}
