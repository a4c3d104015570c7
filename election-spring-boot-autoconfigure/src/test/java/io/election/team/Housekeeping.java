package io.election.team;

import io.election.LeaderOnly;
import java.util.concurrent.TimeUnit;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** Its scheduled method is not public, since Spring's scheduler does not require that. */
@Component
@LeaderOnly
class Housekeeping {

  private final Runs runs;

  Housekeeping(Runs runs) {
    this.runs = runs;
  }

  @Scheduled(fixedDelay = 50, timeUnit = TimeUnit.MILLISECONDS)
  void clean() {
    this.runs.cleanings.incrementAndGet();
  }

  void archive(Runnable copying) {
    copying.run();
  }
}
