package io.election.team;

import io.election.LeaderOnly;
import java.util.concurrent.TimeUnit;
import org.springframework.scheduling.annotation.Scheduled;

/** A base that is not public, for a job that is. */
abstract class ScheduledSending {

  private final Runs runs;

  ScheduledSending(Runs runs) {
    this.runs = runs;
  }

  @LeaderOnly
  @Scheduled(fixedDelay = 50, timeUnit = TimeUnit.MILLISECONDS)
  public void send() {
    this.runs.sendings().incrementAndGet();
    sendAll();
  }

  abstract void sendAll();
}
