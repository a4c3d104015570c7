package io.election.mysql.failover.agent;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;

/** The agent beside one MySQL server of a replication set. */
@SpringBootApplication
@EnableConfigurationProperties({AgentProperties.class, CommandProperties.class})
public class FailoverAgentApplication {

  public static void main(String[] args) {
    SpringApplication.run(FailoverAgentApplication.class, args);
  }
}
