package io.election.team;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.springframework.scheduling.annotation.Scheduled;
import org.springframework.stereotype.Component;

/** Counts what has run on this node, and holds a job that runs on every node. */
@Component
class Runs {

  final AtomicInteger sendings = new AtomicInteger();

  final AtomicInteger cleanings = new AtomicInteger();

  final AtomicInteger heartbeats = new AtomicInteger();

  @Scheduled(fixedDelay = 50, timeUnit = TimeUnit.MILLISECONDS)
  void beat() {
    this.heartbeats.incrementAndGet();
  }
}
