package io.election.mysql.failover.agent;

import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the agent.
 *
 * @param server Name of the server beside this agent; one of 'as.failover.servers'.
 * @param servers Names of all servers of the set.
 * @param initialSource Name of the server that becomes the first source of a set that has had none.
 * @param host Host under which the other servers and agents reach this server.
 * @param port Port under which they reach it.
 * @param url JDBC URL of the server for the agent itself, without a database.
 * @param username User of the agent on its own server.
 * @param password Password of that user.
 * @param replicationUsername User by which replicas connect to the source; the same on all servers.
 * @param replicationPassword Password of that user.
 * @param acknowledgingReplicas How many replicas must acknowledge a transaction before the source
 *     does (rpl_semi_sync_source_wait_for_replica_count). 0 if replication is asynchronous: then
 *     transactions can be lost.
 * @param positionWait How long an agent waits for the positions of all servers.
 * @param holdBack How much longer an agent waits if another server is fresher.
 * @param applyTimeout How long a promotion may take to apply what was received.
 * @param onPromote Command that runs when this server has become the source, for instance to move an
 *     address; its arguments are separate. It gets AS_FAILOVER_SERVER, _ADDRESS and _TERM as
 *     environment variables.
 * @param onDemote Command that runs when this server is read-only again.
 * @param killServer Command that kills this server at once, for instance 'systemctl kill -s KILL
 *     mysqld'. It runs if the server does not become read-only in time.
 * @param hookTimeout How long such a command may take before it is ended.
 */
@ConfigurationProperties("as.failover")
record AgentProperties(
    String server,
    List<String> servers,
    @Nullable String initialSource,
    String host,
    @DefaultValue("3306") int port,
    String url,
    String username,
    @DefaultValue("") String password,
    String replicationUsername,
    @DefaultValue("") String replicationPassword,
    @DefaultValue("1") int acknowledgingReplicas,
    @DefaultValue("2s") Duration positionWait,
    @DefaultValue("2s") Duration holdBack,
    @DefaultValue("60s") Duration applyTimeout,
    @DefaultValue List<String> onPromote,
    @DefaultValue List<String> onDemote,
    @DefaultValue List<String> killServer,
    @DefaultValue("2s") Duration hookTimeout) {

  String address() {
    return this.host + ":" + this.port;
  }
}
