package io.election.lease;

import io.election.LeadershipEvent;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/**
 * Delivers events to their listener, one at a time and on a dedicated thread, so that a slow
 * listener delays only later events.
 */
final class EventDelivery {

  private final Consumer<LeadershipEvent> listener;

  private final Runnable onChange;

  private final Duration pause;

  private final ElectionLog log;

  private final LinkedBlockingQueue<Change> changes = new LinkedBlockingQueue<>();

  private @Nullable Thread thread;

  /**
   * The events of one change, in their order.
   *
   * @param events the events; empty to mark the end
   * @param lock held until what asks the election sees the change too
   */
  private record Change(List<LeadershipEvent> events, Object lock) {

    static final Change END = new Change(List.of(), new Object());
  }

  /**
   * Creates a delivery without a thread.
   *
   * @param onChange runs for each change, on the thread that made it
   * @param pause how long to pause after an unexpected failure
   */
  EventDelivery(
      Consumer<LeadershipEvent> listener, Runnable onChange, Duration pause, ElectionLog log) {
    this.listener = listener;
    this.onChange = onChange;
    this.pause = pause;
    this.log = log;
  }

  /**
   * Queues the events of a change before it becomes visible, since a lack of memory may stop this
   * method, and no other step of a change.
   *
   * @param lock the lock under which the change becomes visible, held by the caller; no event is
   *     delivered before it is free
   */
  void add(List<LeadershipEvent> events, Object lock) {
    this.changes.add(new Change(events, lock));
  }

  /** Announces that a change is visible, and logs its events for operators. */
  void changed(List<LeadershipEvent> events) {
    this.onChange.run();
    events.forEach(this.log::changed);
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
    this.changes.add(Change.END);
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
    for (Change change = this.changes.poll(); change != null; change = this.changes.poll()) {
      deliver(change);
    }
  }

  private boolean deliverNext() throws InterruptedException {
    Change change = this.changes.take();
    deliver(change);
    return !change.events().isEmpty();
  }

  @SuppressWarnings("EmptyBlock") // waits until the change is visible
  private void deliver(Change change) {
    synchronized (change.lock()) {
      // The thread that made the change has published it.
    }
    change.events().forEach(this::deliver);
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
