package io.election.lease;

import io.election.LeadershipEvent;
import java.time.Duration;
import java.util.Optional;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Delivers events to their listener, one at a time and on a dedicated thread, so that a slow
 * listener delays only later events.
 */
final class EventDelivery {

  private final Consumer<LeadershipEvent> listener;

  private final Runnable onAdded;

  private final Duration pause;

  private final ElectionLog log;

  /** An empty element marks the end of the events. */
  private final LinkedBlockingQueue<Optional<LeadershipEvent>> events = new LinkedBlockingQueue<>();

  private @Nullable Thread thread;

  /**
   * Creates a delivery without a thread.
   *
   * @param onAdded runs for each event, on the thread that adds it
   * @param pause how long to pause after an unexpected failure
   */
  EventDelivery(
      Consumer<LeadershipEvent> listener, Runnable onAdded, Duration pause, ElectionLog log) {
    this.listener = listener;
    this.onAdded = onAdded;
    this.pause = pause;
    this.log = log;
  }

  /** Queues an event. */
  void add(LeadershipEvent event) {
    this.events.add(Optional.of(event));
    this.onAdded.run();
  }

  /** Logs an event for operators. */
  void log(LeadershipEvent event) {
    this.log.changed(event);
  }

  /** Starts a thread, which waits until the previous one has ended. */
  void start() {
    Thread last = this.thread;
    this.thread = Daemon.start("election-events", () -> {
      awaitEnd(last);
      Daemon.repeat(this::deliverNext, this.pause, this.log);
    });
  }

  /** Ends the thread once it has delivered what is queued. */
  void end() {
    this.events.add(Optional.empty());
  }

  /** Waits for the end of the thread. */
  void awaitEnd(Duration patience) throws InterruptedException {
    Thread thread = this.thread;
    if (thread == null) {
      return;
    }
    thread.join(patience.toMillis());
    if (thread.isAlive()) {
      this.log.listenerStillRuns();
    }
  }

  /** Delivers the queued events on the calling thread, without waiting. */
  void deliverNow() {
    for (Optional<LeadershipEvent> event = this.events.poll();
        event != null;
        event = this.events.poll()) {
      event.ifPresent(this::deliver);
    }
  }

  private boolean deliverNext() throws InterruptedException {
    Optional<LeadershipEvent> event = this.events.take();
    event.ifPresent(this::deliver);
    return event.isPresent();
  }

  private void deliver(LeadershipEvent event) {
    try {
      this.listener.accept(event);
    } catch (Throwable ex) {
      this.log.listenerFailed(event, ex);
    }
  }

  @SuppressWarnings("ThreadJoinLoop") // each interruption is logged
  private void awaitEnd(@Nullable Thread predecessor) {
    while (predecessor != null && predecessor.isAlive()) {
      try {
        predecessor.join();
      } catch (InterruptedException ex) {
        // Interrupted by unrelated code.
        this.log.interrupted(ex);
      }
    }
  }
}
