package io.election.mysql.failover.agent;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.springframework.boot.context.properties.ConfigurationProperties;
import org.springframework.boot.context.properties.bind.DefaultValue;

/**
 * Settings of the agent.
 *
 * @param server Name of the server beside this agent; one of 'as.failover.servers'.
 * @param servers Addresses, {@code host:port}, at which the servers of the set reach each other, by
 *     name; the same at all agents.
 * @param url JDBC URL with which the agent connects to its own server, without a database.
 * @param username User of the agent on its own server.
 * @param password Password of that user.
 * @param replicationUsername User with which replicas connect to the source; the same on all
 *     servers.
 * @param replicationPassword Password of that user.
 * @param promotion Whether this server becomes the source: 'allowed', 'never', or 'preferred', which
 *     makes servers that are as fresh let it go first.
 * @param positionWait Time to wait for the positions of all servers.
 * @param holdBack Additional time to wait for each server that is fresher.
 * @param applyTimeout Time that a promotion may take to apply the received transactions.
 * @param killServer Command that kills this server at once, as a list of the program and its
 *     arguments. It runs if the server does not become read-only in time, for two seconds at most.
 * @param tls Security of connections to other servers.
 */
@ConfigurationProperties("as.failover")
record AgentProperties(
    String server,
    Map<String, String> servers,
    String url,
    String username,
    @DefaultValue("") String password,
    String replicationUsername,
    @DefaultValue("") String replicationPassword,
    @DefaultValue("allowed") Rank promotion,
    @DefaultValue("2s") Duration positionWait,
    @DefaultValue("2s") Duration holdBack,
    @DefaultValue("60s") Duration applyTimeout,
    @DefaultValue List<String> killServer,
    @DefaultValue Tls tls) {

  enum Rank {
    ALLOWED,
    NEVER,
    PREFERRED
  }

  /**
   * Returns the address of a server, to which this agent may send credentials.
   *
   * @throws IllegalArgumentException if it is not a server of the set
   */
  String address(String name) {
    String address = this.servers.get(name);
    if (address == null) {
      throw new IllegalArgumentException("%s is not one of as.failover.servers, which are %s"
          .formatted(name, this.servers.keySet()));
    }
    return address;
  }
}
