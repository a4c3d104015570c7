package io.election.benchmarks.sidebyside;

import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;

/** Does the same with several things at once. */
final class Parallel {

  private Parallel() {}

  @FunctionalInterface
  interface Action<T> {

    void run(T thing) throws Exception;
  }

  static <T> void forEach(List<T> things, int threads, Action<T> action) throws Exception {
    ExecutorService pool = Executors.newFixedThreadPool(threads);
    try {
      for (Future<Boolean> future : pool.invokeAll(things.stream()
          .<Callable<Boolean>>map((thing) -> () -> {
            action.run(thing);
            return true;
          })
          .toList())) {
        future.get();
      }
    } finally {
      pool.shutdownNow();
    }
  }
}
