package io.election.sample;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.util.Map;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.autoconfigure.SpringBootApplication;
import org.springframework.scheduling.annotation.EnableScheduling;

/**
 * One node of the sample service. Start several nodes, each with its own {@code --server.port}; one
 * of them leads.
 */
@SpringBootApplication
@EnableScheduling
public class SampleApplication {

  public static void main(String[] args) {
    SpringApplication application = new SpringApplication(SampleApplication.class);
    application.setDefaultProperties(Map.of("sample.host", hostName()));
    application.run(args);
  }

  private static String hostName() {
    try {
      return InetAddress.getLocalHost().getHostName();
    } catch (UnknownHostException ex) {
      return "localhost"; // the machine's name does not resolve
    }
  }
}
