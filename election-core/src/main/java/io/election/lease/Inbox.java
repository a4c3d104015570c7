package io.election.lease;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import io.election.store.LeaseStoreException;
import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/**
 * The requests to the elector's thread, which it processes in order, and the wake-ups it waits for.
 */
final class Inbox {

  /** The work of a request. */
  @FunctionalInterface
  interface Task {
    void run() throws LeaseStoreException;
  }

  /**
   * A request to the elector's thread.
   *
   * @param addressee the loop that may process the request; a later one refuses it
   * @param outcome completes once the consequences of the task are done too
   */
  record Request(
      Object addressee, Candidate candidate, Task task, CompletableFuture<@Nullable Void> outcome) {

    void refuse() {
      this.outcome.completeExceptionally(notRunning(this.candidate));
    }
  }

  private final Queue<Request> requests = new ConcurrentLinkedQueue<>();

  private final Semaphore wakeUps = new Semaphore(0);

  static IllegalStateException notRunning(Candidate candidate) {
    return new IllegalStateException(
        "Election '%s' is not running on this node".formatted(candidate.serviceId()));
  }

  CompletableFuture<@Nullable Void> add(Object addressee, Candidate candidate, Task task) {
    CompletableFuture<@Nullable Void> outcome = new CompletableFuture<>();
    this.requests.add(new Request(addressee, candidate, task, outcome));
    wakeUp();
    return outcome;
  }

  boolean isEmpty() {
    return this.requests.isEmpty();
  }

  /**
   * Runs the oldest request.
   *
   * @param addressee the loop that runs it; a request to another loop is refused
   * @return the request, whose outcome the caller must complete; {@code null} if nothing was done
   */
  @Nullable
  Request runNext(Object addressee) {
    Request request = this.requests.poll();
    if (request == null) {
      return null;
    }
    if (request.addressee() != addressee) {
      request.refuse();
      return null;
    }
    try {
      request.task().run();
      return request;
    } catch (Throwable ex) {
      request.outcome().completeExceptionally(ex);
      return null;
    }
  }

  void refuseAll() {
    for (Request request = this.requests.poll(); request != null; request = this.requests.poll()) {
      request.refuse();
    }
  }

  /** Ends the current wait. If there is none, the next wait ends at once. */
  void wakeUp() {
    this.wakeUps.release();
  }

  void await(long nanos) throws InterruptedException {
    this.wakeUps.tryAcquire(nanos, NANOSECONDS);
    this.wakeUps.drainPermits();
  }
}
