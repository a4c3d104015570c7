package io.election.test;

import io.election.store.LeaseStoreException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;

/** Threads that make calls to stores at the same instant. */
final class Race {

  /** Longer than any call may take, even on a busy machine. */
  private static final Duration PATIENCE = Duration.ofSeconds(60);

  private Race() {}

  /**
   * Makes calls at the same instant.
   *
   * @return the answers in the order of the calls; one that is unknown is empty
   */
  static <T> List<Optional<T>> run(List<? extends Callable<? extends T>> calls) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(calls.size());
    try {
      return run(threads, calls);
    } finally {
      threads.shutdownNow();
    }
  }

  private static <T> List<Optional<T>> run(
      ExecutorService threads, List<? extends Callable<? extends T>> calls) throws Exception {
    CountDownLatch start = new CountDownLatch(calls.size());
    List<Future<Optional<T>>> running = new ArrayList<>();
    for (Callable<? extends T> call : calls) {
      running.add(threads.submit(() -> {
        start.countDown();
        start.await();
        try {
          return Optional.of(call.call());
        } catch (LeaseStoreException ex) {
          return Optional.empty();
        }
      }));
    }
    List<Optional<T>> answers = new ArrayList<>();
    for (Future<Optional<T>> call : running) {
      answers.add(end(call));
    }
    return answers;
  }

  /** Makes two calls at the same instant; returns which of them are known to have done it. */
  static List<Boolean> run(Callable<Boolean> one, Callable<Boolean> other) throws Exception {
    return Race.<Boolean>run(List.of(one, other)).stream()
        .map((answer) -> answer.orElse(false))
        .toList();
  }

  private static <T> T end(Future<T> call) throws Exception {
    try {
      return call.get(PATIENCE.toMillis(), TimeUnit.MILLISECONDS);
    } catch (TimeoutException ex) {
      throw new AssertionError("A call has not ended within " + PATIENCE, ex);
    } catch (ExecutionException ex) {
      throw new AssertionError("A call has failed by " + ex.getCause(), ex.getCause());
    }
  }
}
