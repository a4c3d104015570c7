package io.election.team;

import io.election.LeaderOnly;
import java.util.concurrent.TimeUnit;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** Its method is not public: Spring's scheduler does not ask for that. */
@Component
@LeaderOnly
class Housekeeping {

  private final Runs runs;

  Housekeeping(Runs runs) {
    this.runs = runs;
  }

  @Scheduled(fixedDelay = 50, timeUnit = TimeUnit.MILLISECONDS)
  void clean() {
    this.runs.cleanings().incrementAndGet();
  }

  /** Lasts for as long as the archive takes. */
  void archive(Runnable copying) {
    copying.run();
  }
}
