package io.election.sample;

import io.election.sample.embedded.EmbeddedDatabase;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.Map;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.boot.autoconfigure.condition.ConditionalOnProperty;
import org.springframework.context.annotation.Bean;
import org.springframework.scheduling.annotation.EnableScheduling;

/**
 * One node of the sample service. Start several, each with its own {@code --server.port}: one leads.
 */
@SpringBootApplication
@EnableScheduling
public class SampleApplication {

  public static void main(String[] args) {
    SpringApplication application = new SpringApplication(SampleApplication.class);
    application.setDefaultProperties(Map.of("sample.host", hostName()));
    application.run(args);
  }

  /**
   * The database of nodes that were given none. It is left after all that uses it has ended, the
   * election included, because Spring destroys a bean after those that depend on it.
   */
  @Bean
  @ConditionalOnProperty(
      name = "spring.datasource.url",
      havingValue = "embedded",
      matchIfMissing = true)
  EmbeddedDatabase embeddedDatabase(@Value("${sample.database.directory}") Path directory) {
    return EmbeddedDatabase.join(directory);
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException ex) {
      return "localhost"; // the machine's name does not resolve
    }
  }
}
