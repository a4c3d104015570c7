package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Map;
import java.util.Properties;

/**
 * Another server, as seen by the replication user.
 *
 * @param committing the transactions that it is about to commit: they are in its binary log, and
 *     perhaps on replicas, and wait for acknowledgements
 */
record Peer(
    String uuid,
    long id,
    GtidSet executed,
    GtidSet committing,
    boolean readOnly,
    boolean asksToAcknowledge) {

  /** Queries a server, for two seconds at most. */
  static Peer inspect(String address, AgentProperties properties) throws SQLException {
    Properties login = new Properties();
    login.putAll(Map.of(
        "user",
        properties.replicationUsername(),
        "password",
        properties.replicationPassword(),
        "connectTimeout",
        "1000",
        "socketTimeout",
        "1000"));
    login.putAll(properties.tls().ofDriver());
    try (Connection connection =
            DriverManager.getConnection("jdbc:mysql://%s/".formatted(address), login);
        Statement statement = connection.createStatement();
        ResultSet row = statement.executeQuery(
            // A transaction that commits between the reads of both GTID columns is in the second
            // one.
            """
            SELECT @@GLOBAL.server_uuid, @@GLOBAL.gtid_owned, @@GLOBAL.gtid_executed,
                @@GLOBAL.read_only,
                (SELECT variable_value = 'ON' FROM performance_schema.global_variables
                 WHERE variable_name = 'rpl_semi_sync_source_enabled'),
                @@GLOBAL.server_id
            """)) {
      row.next();
      return new Peer(
          row.getString(1),
          row.getLong(6),
          GtidSet.parse(row.getString(3)),
          committing(row.getString(2)),
          row.getBoolean(4),
          row.getBoolean(5));
    }
  }

  /** Parses the GTIDs owned by threads, such as {@code uuid:5#31:6#32}. */
  static GtidSet committing(String owned) {
    return GtidSet.parse(owned.replaceAll("#\\d+", ""));
  }
}
