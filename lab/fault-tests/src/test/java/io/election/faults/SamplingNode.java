package io.election.faults;

import io.election.ElectionService;
import io.election.LeadershipEvent;
import io.election.support.TestDatabase;
import io.election.support.process.ClassArchive;
import io.election.support.process.LeadershipLog;
import io.election.support.process.Node;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.artemis.autoconfigure.ArtemisAutoConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.boot.jms.autoconfigure.JmsAutoConfiguration;
import org.springframework.boot.kafka.autoconfigure.KafkaAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.event.EventListener;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** A process that has the starter, and asks every other millisecond whether it leads. */
@SpringBootConfiguration(proxyBeanMethods = false)
@EnableAutoConfiguration(
    exclude = {
      ArtemisAutoConfiguration.class,
      JmsAutoConfiguration.class,
      KafkaAutoConfiguration.class
    })
class SamplingNode {

  private static final Logger log = LoggerFactory.getLogger(SamplingNode.class);

  /** Returns a process whose node id is its name. */
  static Node named(String name) {
    return new Node(name, SamplingNode.class)
        .with("as.election.node-id=" + name)
        .withJvmOptions(Classes.OPTIONS);
  }

  static Node with(Class<?> configuration, Node node) {
    return node.with("spring.main.sources=" + configuration.getName());
  }

  /** Starts a node in this process, with more properties. */
  static ConfigurableApplicationContext run(TestDatabase database, String... more) {
    Map<String, String> properties = Cluster.properties(database, Cluster.LEASE, Cluster.RENEW);
    properties.put("spring.main.register-shutdown-hook", "false");
    Stream.of(more)
        .map((property) -> property.split("=", 2))
        .forEach((pair) -> properties.put(pair[0], pair[1]));
    return new SpringApplication(SamplingNode.class)
        .run(properties.entrySet().stream()
            .map((property) -> "--" + property)
            .toArray(String[]::new));
  }

  public static void main(String[] arguments) {
    ConfigurableApplicationContext context = SpringApplication.run(SamplingNode.class, arguments);
    LeadershipLog claims =
        LeadershipLog.open(Path.of(context.getEnvironment().getRequiredProperty("test.claims")));
    ElectionService election = context.getBean(ElectionService.class);
    while (true) {
      try {
        claims.sample(election);
      } catch (OutOfMemoryError ex) {
        // The question allocates no memory, but the term does.
      }
      LockSupport.parkNanos(2_000_000);
    }
  }

  @EventListener
  @Order(Ordered.HIGHEST_PRECEDENCE)
  void on(LeadershipEvent event) {
    log.info("published {}", event);
  }

  static void daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.start();
  }

  private static final class Classes {

    static final List<String> OPTIONS = ClassArchive.train(
        SamplingNode.class.getName(),
        "--server.port=0",
        "--as.election.service-id=training",
        "--as.election.node-id=a",
        "--spring.datasource.url=jdbc:mysql://127.0.0.1:1/none");
  }
}
