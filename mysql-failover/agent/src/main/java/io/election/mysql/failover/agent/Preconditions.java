package io.election.mysql.failover.agent;

import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;

/**
 * What the promise of a failover rests on: settings of the server, filters, channels, privileges,
 * and that its data are complete. All of it is read with the state of the server, each second.
 *
 * @param variables the values of the variables that are looked at; those of plugins that are not
 *     loaded are missing
 * @param problems what is wrong apart from them, each with its remedy
 */
record Preconditions(Map<String, String> variables, List<String> problems) {

  private static final Map<String, String> ALWAYS = new TreeMap<>(Map.ofEntries(
      Map.entry("gtid_mode", "ON"),
      Map.entry("enforce_gtid_consistency", "ON"),
      Map.entry("log_replica_updates", "ON"),
      Map.entry("sync_binlog", "1"),
      Map.entry("innodb_flush_log_at_trx_commit", "1"),
      Map.entry("binlog_error_action", "ABORT_SERVER"),
      Map.entry("relay_log_recovery", "ON"),
      Map.entry("skip_replica_start", "ON"),
      Map.entry("persisted_globals_load", "ON"),
      Map.entry("event_scheduler", "ON"),
      Map.entry("thread_handling", "one-thread-per-connection"),
      Map.entry("rpl_semi_sync_replica_enabled", "ON"),
      Map.entry("rpl_semi_sync_source_wait_point", "AFTER_SYNC")));

  /**
   * Returns the settings by which an open source waits for acknowledgements, in the order in which
   * they are made.
   *
   * @param acknowledging the number of replicas that must acknowledge
   */
  private static Map<String, String> ofSource(int acknowledging) {
    Map<String, String> settings = new LinkedHashMap<>();
    settings.put("rpl_semi_sync_source_timeout", "4294967295");
    // Without this, a source with too few replicas would not wait for them.
    settings.put("rpl_semi_sync_source_wait_no_replica", "ON");
    settings.put("rpl_semi_sync_source_wait_for_replica_count", Integer.toString(acknowledging));
    settings.put("rpl_semi_sync_source_enabled", "ON");
    return settings;
  }

  static String[] setting(int acknowledging) {
    return ofSource(acknowledging).entrySet().stream()
        .map((each) -> "SET GLOBAL %s = %s".formatted(each.getKey(), each.getValue()))
        .toArray(String[]::new);
  }

  private static Map<String, String> ofOpenSource(int acknowledging) {
    Map<String, String> required = new TreeMap<>(ALWAYS);
    required.putAll(ofSource(acknowledging));
    return required;
  }

  /**
   * The privileges that the guard, which runs as the agent's user, and the agent need to make the
   * server read-only. A missing one would show only then.
   */
  private static final List<String> PRIVILEGES = List.of(
      "CONNECTION_ADMIN",
      "EVENT",
      "PERSIST_RO_VARIABLES_ADMIN",
      "RELOAD",
      "REPLICATION_SLAVE_ADMIN",
      "SELECT",
      "SHUTDOWN",
      "SYSTEM_USER",
      "SYSTEM_VARIABLES_ADMIN");

  static final String VARIABLES =
      """
      SELECT GROUP_CONCAT(CONCAT(LOWER(variable_name), '=', variable_value) SEPARATOR '\\n')
      FROM performance_schema.global_variables WHERE variable_name IN ('%s')""".formatted(String.join("', '", ofOpenSource(1).keySet()));

  private static final String DATA_GONE = "its data may be gone: a clone from ";

  private static final String ACCOUNT = """
      CONCAT('''',
          LEFT(CURRENT_USER(), CHAR_LENGTH(CURRENT_USER()) - LOCATE('@', REVERSE(CURRENT_USER()))),
          '''@''', SUBSTRING_INDEX(CURRENT_USER(), '@', -1), '''')""";

  /**
   * A server logs the GTID of a filtered transaction all the same, without its rows. A clone first
   * drops all data and GTIDs, so that a server looks like a new one if it fails.
   */
  static final String PROBLEMS = """
      SELECT GROUP_CONCAT(problem ORDER BY problem SEPARATOR '\\n') FROM (
          SELECT DISTINCT CONCAT('replication filters are not supported: ', filter_name, ' is ',
              filter_rule, '. Take it out of my.cnf, or CHANGE REPLICATION FILTER ', filter_name,
              ' = (); then rebuild the server, since its data may lack what was filtered out')
              AS problem
          FROM (SELECT filter_name, filter_rule
                FROM performance_schema.replication_applier_global_filters
                UNION SELECT filter_name, filter_rule
                FROM performance_schema.replication_applier_filters) AS filters
          WHERE filter_rule <> ''
          UNION ALL
          SELECT CONCAT('it replicates from ', host, ':', port, ' by the channel ', channel_name,
              ', and several sources are not supported: STOP REPLICA FOR CHANNEL ''', channel_name,
              '''; RESET REPLICA ALL FOR CHANNEL ''', channel_name, '''')
          FROM performance_schema.replication_connection_configuration WHERE channel_name <> ''
          UNION ALL
          SELECT CONCAT('%1$s', source,
              IF(state = 'In Progress', ' has not ended',
                  CONCAT(' has failed with error ', error_no, ', ', error_message)),
              '. Rebuild the server (POST /rebuild)')
          FROM performance_schema.clone_status
          WHERE destination = 'LOCAL INSTANCE' AND state <> 'Completed'
          UNION ALL
          SELECT 'the X protocol is on, and nothing ends its clients: mysqlx=OFF in my.cnf'
          FROM information_schema.plugins
          WHERE plugin_name = 'mysqlx' AND plugin_status = 'ACTIVE'
          UNION ALL
          SELECT 'the guard sees no locks: performance_schema=ON in my.cnf, setup_instruments with wait/lock/metadata/sql/mdl and setup_consumers with global_instrumentation enabled'
          FROM DUAL WHERE 2 > (SELECT COUNT(*) FROM (
              SELECT enabled FROM performance_schema.setup_instruments
              WHERE name = 'wait/lock/metadata/sql/mdl'
              UNION ALL SELECT enabled FROM performance_schema.setup_consumers
              WHERE name = 'global_instrumentation') AS seen WHERE enabled = 'YES')
          UNION ALL
          SELECT CONCAT('the agent''s user ', %2$s, ' lacks ',
              GROUP_CONCAT(needed ORDER BY needed SEPARATOR ', '), ': GRANT ',
              GROUP_CONCAT(needed ORDER BY needed SEPARATOR ', '), ' ON *.* TO ', %2$s)
          FROM (VALUES %3$s) AS privileges (needed)
          WHERE needed NOT IN (
              SELECT privilege_type FROM information_schema.user_privileges
              WHERE grantee = %2$s
                  OR grantee IN (SELECT CONCAT('''', role_name, '''@''', role_host, '''')
                                 FROM information_schema.enabled_roles))
          HAVING COUNT(*) > 0) AS all_problems""".formatted(
          DATA_GONE,
          ACCOUNT,
          PRIVILEGES.stream().map("ROW('%s')"::formatted).collect(Collectors.joining(", ")));

  static Preconditions of(String variables, String problems) {
    return new Preconditions(
        variables
            .lines()
            .collect(Collectors.toMap(
                (line) -> line.substring(0, line.indexOf('=')),
                (line) -> line.substring(line.indexOf('=') + 1))),
        problems.lines().toList());
  }

  /** Returns why the server may neither lead nor join, with remedies; empty if it may. */
  String unfit() {
    return unfit(ALWAYS);
  }

  /**
   * Returns what breaks the promise of the open source; empty if nothing does.
   *
   * @param acknowledging the number of replicas that must acknowledge
   */
  String brokenBy(int acknowledging) {
    return unfit(ofOpenSource(acknowledging));
  }

  private String unfit(Map<String, String> required) {
    List<String> found = new ArrayList<>(this.problems);
    required.forEach((name, value) -> {
      String is = this.variables.get(name);
      if (!value.equals(is)) {
        found.add("%s is %s: set it to %s"
            .formatted(name, is != null ? is : "unknown because its plugin is not loaded", value));
      }
    });
    found.sort(null);
    return String.join("; ", found);
  }

  /** Returns whether the data may be incomplete, so that a clone has to replace them. */
  boolean isIncomplete() {
    return this.problems.stream().anyMatch((each) -> each.startsWith(DATA_GONE));
  }
}
