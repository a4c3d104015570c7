package io.election.mysql.failover.agent;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * Finds the problems that make a server unfit to be a source or a replica, each with its remedy.
 */
final class Fitness {

  /**
   * The filters of the applier. The server logs the GTID of a filtered transaction all the same,
   * without its rows.
   */
  private static final String FILTERS = """
      SELECT DISTINCT CONCAT('replication filters are not supported: ', filter_name, ' is ', filter_rule,
          '. Take it out of my.cnf, or CHANGE REPLICATION FILTER ', filter_name,
          ' = (); then rebuild the server, since its data may lack what was filtered out')
      FROM (SELECT filter_name, filter_rule
            FROM performance_schema.replication_applier_global_filters
            UNION SELECT filter_name, filter_rule
            FROM performance_schema.replication_applier_filters) AS filters
      WHERE filter_rule <> ''
      """;

  private static final String CHANNELS = """
      SELECT CONCAT('it replicates from ', host, ':', port, ' by the channel ', channel_name,
          ', and several sources are not supported: STOP REPLICA FOR CHANNEL ''', channel_name,
          '''; RESET REPLICA ALL FOR CHANNEL ''', channel_name, '''')
      FROM performance_schema.replication_connection_configuration
      WHERE channel_name <> ''
      """;

  /**
   * A clone first drops all data and GTIDs. After a failed clone, the server would look like a new
   * one.
   */
  private static final String FAILED_CLONE = """
      SELECT CONCAT('its data may be gone: a clone from ', source,
          IF(state = 'In Progress', ' has not ended',
              CONCAT(' has failed with error ', error_no, ', ', error_message)),
          '. Rebuild the server (POST /rebuild)')
      FROM performance_schema.clone_status
      WHERE destination = 'LOCAL INSTANCE' AND state <> 'Completed'
      """;

  /**
   * The privileges that the guard, which runs as the agent's user, and the agent need to make the
   * server read-only. A missing one would show only then.
   */
  private static final List<String> PRIVILEGES = List.of(
      "CONNECTION_ADMIN",
      "EVENT",
      "PERSIST_RO_VARIABLES_ADMIN",
      "REPLICATION_SLAVE_ADMIN",
      "SELECT",
      "SHUTDOWN",
      "SYSTEM_USER",
      "SYSTEM_VARIABLES_ADMIN",
      "UPDATE");

  private static final String ACCOUNT = """
      SELECT CONCAT('''',
          LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - LOCATE('@', REVERSE(CURRENT_USER()))),
          '''@''', SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')
      """;

  private static final String GRANTED = """
      SELECT DISTINCT privilege_type FROM information_schema.user_privileges
      WHERE grantee = (%s)
          OR grantee IN (SELECT CONCAT('''', role_name, '''@''', role_host, '''')
                         FROM information_schema.enabled_roles)
      """.formatted(ACCOUNT);

  /** The connections that write, or hold a lock acquired by LOCK TABLES. */
  private static final String BLOCKERS = """
      SELECT DISTINCT CONCAT('connection ', processlist_id, ' of ', processlist_user, '@', processlist_host,
          IF(processlist_info IS NULL, ', which holds locks on tables',
              CONCAT(' with ', LEFT(processlist_info, 80))))
      FROM performance_schema.metadata_locks
          JOIN performance_schema.threads ON thread_id = owner_thread_id
      WHERE object_type IN ('GLOBAL', 'COMMIT') AND lock_type = 'INTENTION_EXCLUSIVE'
          AND lock_status = 'GRANTED' AND processlist_id <> CONNECTION_ID()
          AND COALESCE(processlist_info, '') NOT LIKE '%mysql_failover.guard%'
      LIMIT 5
      """;

  private final MysqlServer server;

  /**
   * The result of a check.
   *
   * @param reason why the server may neither lead nor join; empty if it may
   * @param incomplete whether the server is unfit because its data may be incomplete
   */
  record Finding(String reason, boolean incomplete) {}

  Fitness(MysqlServer server) {
    this.server = server;
  }

  /** Checks the settings of the server, and whether its data are complete. */
  Finding inspect(int acknowledgingReplicas) throws SQLException {
    List<String> problems = problems(acknowledgingReplicas);
    if (!problems.isEmpty()) {
      return new Finding(String.join("; ", problems), false);
    }
    String failedClone = failedClone();
    return new Finding(failedClone, !failedClone.isEmpty());
  }

  /** Returns the settings that make a failover unsafe, each with its remedy. */
  private List<String> problems(int acknowledgingReplicas) throws SQLException {
    List<String> problems = new ArrayList<>();
    Map<String, String> required = new LinkedHashMap<>(Map.of(
        "gtid_mode", "ON",
        "enforce_gtid_consistency", "ON",
        "log_replica_updates", "ON",
        "sync_binlog", "1",
        "innodb_flush_log_at_trx_commit", "1",
        "binlog_error_action", "ABORT_SERVER",
        "relay_log_recovery", "ON",
        "skip_replica_start", "ON",
        "persisted_globals_load", "ON",
        "event_scheduler", "ON"));
    if (acknowledgingReplicas > 0) {
      required.put("rpl_semi_sync_replica_enabled", "ON");
      required.put("rpl_semi_sync_source_wait_point", "AFTER_SYNC");
    }
    Map<String, String> variables = variables(required.keySet());
    for (Map.Entry<String, String> setting : required.entrySet()) {
      String found = variables.get(setting.getKey());
      if (!setting.getValue().equals(found)) {
        problems.add("%s is %s: set it to %s"
            .formatted(
                setting.getKey(),
                found != null ? found : "unknown because its plugin is not loaded",
                setting.getValue()));
      }
    }
    problems.addAll(binlogFilters());
    problems.addAll(rows(FILTERS));
    problems.addAll(rows(CHANNELS));
    missingPrivileges().ifPresent(problems::add);
    problems.sort(null);
    return problems;
  }

  private Optional<String> missingPrivileges() throws SQLException {
    Set<String> missing = new TreeSet<>(PRIVILEGES);
    missing.removeAll(rows(GRANTED));
    if (missing.isEmpty()) {
      return Optional.empty();
    }
    String account = String.join("", rows(ACCOUNT));
    return Optional.of("the agent's user %s lacks %s: GRANT %2$s ON *.* TO %1$s"
        .formatted(account, String.join(", ", missing)));
  }

  private List<String> binlogFilters() throws SQLException {
    return this.server
        .query(
            "SHOW BINARY LOG STATUS",
            (row) -> Stream.of(
                    binlogFilter("binlog_do_db", row.getString("Binlog_Do_DB")),
                    binlogFilter("binlog_ignore_db", row.getString("Binlog_Ignore_DB")))
                .flatMap(Optional::stream)
                .toList())
        .stream()
        .flatMap(List::stream)
        .toList();
  }

  private static Optional<String> binlogFilter(String name, String value) {
    return value.isEmpty()
        ? Optional.empty()
        : Optional.of("replication filters are not supported: %s is %s. Take it out of my.cnf"
            .formatted(name, value));
  }

  /**
   * Returns why the data of this server may be incomplete: the last clone into it failed or did not
   * end. Empty if it succeeded, or if there was none.
   */
  private String failedClone() throws SQLException {
    try {
      return String.join("; ", rows(FAILED_CLONE));
    } catch (SQLException ex) {
      if (ex.getErrorCode() == 1146) { // without the plugin nothing was cloned
        return "";
      }
      throw ex;
    }
  }

  /** Describes the connections that prevent the server from becoming read-only. */
  String blockers() throws SQLException {
    return String.join(", ", rows(BLOCKERS));
  }

  private List<String> rows(String query) throws SQLException {
    return this.server.query(query, (row) -> Objects.requireNonNullElse(row.getString(1), ""));
  }

  private Map<String, String> variables(Set<String> names) throws SQLException {
    return this.server
        .query(
            "SELECT variable_name, variable_value FROM performance_schema.global_variables WHERE variable_name IN ('%s')"
                .formatted(String.join("', '", names)),
            (row) -> Map.entry(
                row.getString(1).toLowerCase(Locale.ROOT),
                Objects.requireNonNullElse(row.getString(2), "")))
        .stream()
        .collect(Collectors.toMap(Map.Entry::getKey, Map.Entry::getValue));
  }
}
