package io.election.faults;

import io.election.ElectionService;
import io.election.Leadership;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Optional;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.springframework.boot.SpringApplication;
import org.springframework.boot.SpringBootConfiguration;
import org.springframework.boot.autoconfigure.EnableAutoConfiguration;
import org.springframework.context.ConfigurableApplicationContext;
import org.springframework.context.annotation.Import;

/**
 * A process that asks whether it leads, pauses, and then writes to a {@link FencedRegister}. It
 * spends most of its time between the question and the write, so that a pause of the process falls
 * there.
 */
@SpringBootConfiguration
@EnableAutoConfiguration
@Import(SamplingNode.Events.class)
class WritingNode {

  public static void main(String[] arguments) {
    ConfigurableApplicationContext context = SpringApplication.run(WritingNode.class, arguments);
    Thread writer = new Thread(() -> write(context), "writer");
    writer.setDaemon(true);
    writer.start();
    SamplingNode.sample(context);
  }

  private static void write(ConfigurableApplicationContext context) {
    ElectionService election = context.getBean(ElectionService.class);
    DataSource dataSource = context.getBean(DataSource.class);
    for (long n = 0; true; n++) {
      Optional<Leadership> leadership = election.leadership();
      LockSupport.parkNanos(
          TimeUnit.MILLISECONDS.toNanos(ThreadLocalRandom.current().nextLong(20, 60)));
      if (leadership.isPresent()) {
        try (Connection connection = dataSource.getConnection()) {
          new FencedRegister(connection).write(leadership.get().term(), election.nodeId(), n);
        } catch (SQLException ex) {
          System.out.println("the write failed: " + ex);
        }
      }
    }
  }
}
