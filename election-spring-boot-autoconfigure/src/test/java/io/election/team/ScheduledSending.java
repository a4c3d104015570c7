package io.election.team;

import io.election.LeaderOnly;
import java.util.concurrent.TimeUnit;
import org.springframework.scheduling.annotation.Scheduled;

/** The package-private base class of a public job. */
abstract class ScheduledSending {

  private final Runs runs;

  ScheduledSending(Runs runs) {
    this.runs = runs;
  }

  @LeaderOnly
  @Scheduled(fixedDelay = 50, timeUnit = TimeUnit.MILLISECONDS)
  public void send() {
    this.runs.sendings.incrementAndGet();
    sendAll();
  }

  abstract void sendAll();
}
