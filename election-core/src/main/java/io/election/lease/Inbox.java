package io.election.lease;

import static java.util.concurrent.TimeUnit.NANOSECONDS;

import java.util.Queue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import org.jspecify.annotations.Nullable;

/** What the elector's thread is asked to do, one request after the other, and what it waits on. */
final class Inbox {

  /** What is to be done. */
  @FunctionalInterface
  interface Task {
    void run() throws LeaseStoreException;
  }

  /**
   * Something that the elector's thread is asked to do.
   *
   * @param addressee the loop that is asked: no later one does it
   * @param outcome completes once what follows from the task is done too
   */
  record Request(
      ElectionLoop addressee,
      Candidate candidate,
      Task task,
      CompletableFuture<@Nullable Void> outcome) {

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

  CompletableFuture<@Nullable Void> add(ElectionLoop addressee, Candidate candidate, Task task) {
    CompletableFuture<@Nullable Void> outcome = new CompletableFuture<>();
    this.requests.add(new Request(addressee, candidate, task, outcome));
    wakeUp();
    return outcome;
  }

  boolean isEmpty() {
    return this.requests.isEmpty();
  }

  /**
   * Does what was asked for first.
   *
   * @param addressee the loop that does it; what another one was asked is refused
   * @return the request, whose outcome is still to be completed; {@code null} if nothing was done
   */
  @Nullable
  Request runNext(ElectionLoop addressee) {
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
    } catch (Exception ex) {
      request.outcome().completeExceptionally(ex);
      return null;
    }
  }

  void refuseAll() {
    for (Request request = this.requests.poll(); request != null; request = this.requests.poll()) {
      request.refuse();
    }
  }

  /** Ends the wait; one that has not begun ends at once. */
  void wakeUp() {
    this.wakeUps.release();
  }

  void await(long nanos) throws InterruptedException {
    this.wakeUps.tryAcquire(nanos, NANOSECONDS);
    this.wakeUps.drainPermits();
  }
}
