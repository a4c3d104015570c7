package io.election.lease;

import static java.util.concurrent.TimeUnit.SECONDS;

import java.util.concurrent.CompletableFuture;
import java.util.concurrent.Executor;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * The boundary to the code of the application that an elector asks: whatever an answer is, and
 * whatever is thrown, costs the election that it is about a wait, and nothing else. Thread-safe.
 */
final class Answers {

  private static final int THREADS = 4;

  private static final long IDLE_SECONDS = 10;

  private final Executor executor;

  private final Runnable wakeUp;

  private final ElectionLog log;

  private final Clocks clocks;

  /**
   * Creates a boundary.
   *
   * @param executor runs questions whose answers may come late
   * @param wakeUp wakes the elector when such an answer has come
   */
  Answers(Executor executor, Runnable wakeUp, ElectionLog log, Clocks clocks) {
    this.executor = executor;
    this.wakeUp = wakeUp;
    this.log = log;
    this.clocks = clocks;
  }

  /** Returns daemon threads, which exist only while there is something to ask. */
  static Executor threads() {
    ThreadPoolExecutor threads = new ThreadPoolExecutor(
        THREADS, THREADS, IDLE_SECONDS, SECONDS, new LinkedBlockingQueue<>(), (task) -> {
          Thread thread = new Thread(task, "election-questions");
          thread.setDaemon(true);
          return thread;
        });
    threads.allowCoreThreadTimeOut(true);
    return threads;
  }

  /**
   * Asks on the calling thread.
   *
   * @param asked the subject of the log line: the bean or the question
   * @param otherwise the answer that counts if there is no valid one
   * @param consequence the end of the log line: the effect on the election
   */
  <T> T ask(
      String serviceId,
      String asked,
      Supplier<? extends @Nullable T> question,
      T otherwise,
      String consequence) {
    String problem;
    Throwable failure = null;
    try {
      T answer = question.get();
      if (answer != null) {
        return answer;
      }
      problem = "answered null";
    } catch (Throwable ex) {
      problem = "failed: " + ex;
      failure = ex;
    }
    log(serviceId, asked, problem, consequence, failure);
    return otherwise;
  }

  /**
   * Runs a task on the calling thread. The parameters are those of {@link #ask}.
   *
   * @return whether it ended without a failure
   */
  boolean run(String serviceId, String asked, Runnable task, String consequence) {
    return ask(
        serviceId,
        asked,
        () -> {
          task.run();
          return true;
        },
        false,
        consequence);
  }

  /** Asks on another thread. The parameters are those of {@link #ask}. */
  <T> CompletableFuture<T> askLater(
      String serviceId,
      String asked,
      Supplier<? extends @Nullable T> question,
      T otherwise,
      String consequence) {
    CompletableFuture<T> answer = new CompletableFuture<>();
    return ask(
        serviceId,
        asked,
        () -> {
          this.executor.execute(() -> {
            answer.complete(ask(serviceId, asked, question, otherwise, consequence));
            this.wakeUp.run();
          });
          return answer;
        },
        CompletableFuture.completedFuture(otherwise),
        consequence);
  }

  /** Logs that an answer has not come yet. */
  void late(String serviceId, String asked, String consequence) {
    log(serviceId, asked, "has not answered yet", consequence, null);
  }

  @SuppressWarnings("EmptyCatch") // out of memory: logging is not possible
  private void log(
      String serviceId,
      String asked,
      String problem,
      String consequence,
      @Nullable Throwable failure) {
    try {
      this.log.wrongAnswer(serviceId, asked, problem, consequence, failure, this.clocks.now());
    } catch (Throwable ex) {
    }
  }
}
