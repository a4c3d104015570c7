package io.election.autoconfigure;

import static org.awaitility.Awaitility.await;

import io.election.LeaderOnly;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicInteger;

/** A job whose calls run until the test ends them; they return whether they were interrupted. */
public class BlockingJob {

  private final AtomicInteger begun = new AtomicInteger();

  private final CountDownLatch end = new CountDownLatch(1);

  /** Begins a call on another thread, and waits until it runs. */
  public Future<Boolean> begin(ExecutorService executor, Callable<Boolean> call) {
    int before = this.begun.get();
    Future<Boolean> running = executor.submit(call);
    await().until(() -> this.begun.get() > before);
    return running;
  }

  public void end() {
    this.end.countDown();
  }

  @LeaderOnly(interruptOnLoss = true)
  public Boolean interruptible() {
    this.begun.incrementAndGet();
    try {
      this.end.await();
      return false;
    } catch (InterruptedException ex) {
      return true;
    }
  }

  @LeaderOnly
  public Boolean plain() {
    return interruptible();
  }
}
