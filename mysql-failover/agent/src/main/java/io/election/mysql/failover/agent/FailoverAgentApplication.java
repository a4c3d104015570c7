package io.election.mysql.failover.agent;

import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.context.properties.EnableConfigurationProperties;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;

/** The agent beside one MySQL server of a replication set. */
@SpringBootApplication(exclude = DataSourceAutoConfiguration.class) // AgentConfiguration has one
@EnableConfigurationProperties({AgentProperties.class, CommandProperties.class})
public class FailoverAgentApplication {

  public static void main(String[] args) {
    SpringApplication.run(FailoverAgentApplication.class, args);
  }
}
