package io.election.faults;

import io.election.test.TestServer;
import java.time.Duration;
import java.util.concurrent.ThreadLocalRandom;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;

/**
 * Random faults. The test takes a minute by default: {@code -Dsoak.duration=PT30M} makes it longer,
 * {@code -Dsoak.seed} repeats the faults, {@code -Dsoak.nodes} sets the number of nodes.
 */
@Tag("faults")
class SoakIT {

  @Test
  void fault_50_random_faults() throws Exception {
    Duration duration = Duration.parse(System.getProperty("soak.duration", "PT1M"));
    long seed = Long.getLong("soak.seed", ThreadLocalRandom.current().nextLong(1_000_000));
    int nodes = Integer.getInteger("soak.nodes", 3 + (int) (seed % 3));
    System.out.printf(
        "Soak: -Dsoak.duration=%s -Dsoak.seed=%d -Dsoak.nodes=%d%n", duration, seed, nodes);
    try (TestServer server = TestServer.startOwn()) {
      new Soak(server, seed, nodes).run(duration);
    }
  }
}
