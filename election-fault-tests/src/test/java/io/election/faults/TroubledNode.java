package io.election.faults;

import io.election.LeaderOnly;
import io.election.LeadershipAcquiredEvent;
import java.io.IOException;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.locks.LockSupport;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Import;
import org.springframework.context.event.EventListener;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;
import org.springframework.core.env.Environment;

/**
 * A process that gets into {@link Trouble} each time it becomes leader. With {@code --test.once}
 * naming a file, it does so only if it is the first of all processes.
 */
@SpringBootConfiguration
@EnableAutoConfiguration
@Import(SamplingNode.Events.class)
class TroubledNode {

  public static void main(String[] arguments) {
    ConfigurableApplicationContext context = SpringApplication.run(TroubledNode.class, arguments);
    if (trouble(context.getEnvironment()) == Trouble.JOB_BLOCKS) {
      Job job = context.getBean(Job.class);
      Thread worker = new Thread(() -> workForEver(job), "worker");
      worker.setDaemon(true);
      worker.start();
    }
    SamplingNode.sample(context);
  }

  private static Trouble trouble(Environment environment) {
    return Trouble.valueOf(environment.getRequiredProperty("test.trouble"));
  }

  private static void workForEver(Job job) {
    while (true) {
      job.run();
      LockSupport.parkNanos(10_000_000);
    }
  }

  @Bean
  Job job() {
    return new Job();
  }

  @Bean
  Listener listener(Environment environment) {
    return new Listener(trouble(environment), environment.getProperty("test.once"));
  }

  /** A job that never ends. */
  static class Job {

    @LeaderOnly
    void run() {
      System.out.println("the job begins");
      Trouble.block();
    }
  }

  /** The listener that begins the trouble. */
  record Listener(Trouble trouble, String once) {

    @EventListener
    @Order(Ordered.LOWEST_PRECEDENCE)
    void on(LeadershipAcquiredEvent event) throws IOException {
      if (isFirst()) {
        System.out.println("trouble begins: " + this.trouble);
        this.trouble.begin();
      }
    }

    private boolean isFirst() throws IOException {
      if (this.once == null) {
        return true;
      }
      try {
        Files.createFile(Path.of(this.once));
        return true;
      } catch (FileAlreadyExistsException ex) {
        return false;
      }
    }
  }
}
