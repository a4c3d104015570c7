package io.election.faults;

import io.election.LeaderOnly;
import io.election.LeadershipAcquiredEvent;
import io.election.support.process.Node;
import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.jspecify.annotations.Nullable;
import org.springframework.beans.factory.annotation.Value;
import org.springframework.boot.ApplicationRunner;
import org.springframework.context.annotation.Bean;
import org.springframework.context.annotation.Configuration;
import org.springframework.context.event.EventListener;
import org.springframework.core.Ordered;
import org.springframework.core.annotation.Order;

/** The faults that a node inflicts on itself when it has become leader. */
enum InProcessFault {
  NO_MEMORY(() -> SamplingNode.daemon("allocator", InProcessFault::allocate)),
  /** Hundreds of threads compete; the common pool and all carriers are occupied. */
  NO_PROCESSOR(InProcessFault::occupyProcessors),
  LISTENER_BLOCKS(InProcessFault::block),
  LISTENER_THROWS(() -> {
    throw new StackOverflowError("thrown by a listener");
  }),
  /** A listener was interrupted and restores the interrupt, as it should. */
  LISTENER_INTERRUPTED(() -> Thread.currentThread().interrupt()),
  /** Foreign code interrupts all threads that it does not own. */
  ALL_INTERRUPTED(() -> SamplingNode.daemon(
      "interrupter",
      () -> Thread.getAllStackTraces().keySet().stream()
          .filter((thread) -> thread.getName().startsWith("election-"))
          .forEach(Thread::interrupt))),
  /** The listener works, but the node's job never ends. */
  JOB_BLOCKS(() -> {});

  static final long SECONDS = 8;

  private final Runnable begin;

  InProcessFault(Runnable begin) {
    this.begin = begin;
  }

  /** Returns a node that gets this fault each time it becomes leader. */
  Node of(Node node) {
    return SamplingNode.with(Beans.class, node).with("test.fault=" + this);
  }

  /** Returns a node that does so only if it is the first of those with the same file. */
  Node of(Node node, Path once) {
    return of(node).with("test.once=" + once);
  }

  private static void block() {
    try {
      new CountDownLatch(1).await();
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }

  private static void allocate() {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    List<byte[]> held = new ArrayList<>(1_000_000);
    int size = 1 << 20;
    int failures = 0;
    while (System.nanoTime() - end < 0) {
      try {
        held.add(new byte[size]);
      } catch (OutOfMemoryError ex) {
        failures++;
        if (size > 64) {
          size /= 2;
        } else {
          LockSupport.parkNanos(5_000_000);
        }
      }
    }
    held = null;
    System.out.println("memory is back after " + failures + " failures");
  }

  private static void occupyProcessors() {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    Runnable spin = () -> {
      while (System.nanoTime() - end < 0) {
        Thread.onSpinWait();
      }
    };
    for (int i = 0; i < 300; i++) {
      SamplingNode.daemon("spinning-" + i, spin);
    }
    for (int i = 0; i < 4 * ForkJoinPool.getCommonPoolParallelism(); i++) {
      ForkJoinPool.commonPool().execute(InProcessFault::block);
    }
    for (int i = 0; i < 2 * Runtime.getRuntime().availableProcessors(); i++) {
      startVirtual(spin);
    }
  }

  /** Starts a virtual thread that never leaves its carrier, as pinning does. */
  private static void startVirtual(Runnable task) {
    try {
      Method start = Thread.class.getMethod("startVirtualThread", Runnable.class);
      start.invoke(null, task);
      System.out.println("a virtual thread keeps its carrier");
    } catch (NoSuchMethodException ex) {
      // This JVM is older than Java 21.
    } catch (ReflectiveOperationException ex) {
      throw new IllegalStateException(ex);
    }
  }

  @Configuration(proxyBeanMethods = false)
  static class Beans {

    @Value("${test.fault}")
    private InProcessFault fault;

    @Value("${test.once:#{null}}")
    private @Nullable Path once;

    @EventListener
    @Order(Ordered.LOWEST_PRECEDENCE)
    void on(LeadershipAcquiredEvent event) throws IOException {
      try {
        if (this.once != null) {
          Files.createFile(this.once);
        }
        System.out.println("fault begins: " + this.fault);
        this.fault.begin.run();
      } catch (FileAlreadyExistsException ex) {
        // Another node was the first.
      }
    }

    @Bean
    Job job() {
      return new Job();
    }

    @Bean
    ApplicationRunner worker(Job job) {
      return (arguments) -> {
        if (this.fault == JOB_BLOCKS) {
          SamplingNode.daemon("worker", () -> {
            while (true) {
              job.run();
              LockSupport.parkNanos(10_000_000);
            }
          });
        }
      };
    }
  }

  static class Job {

    @LeaderOnly
    void run() {
      System.out.println("the job begins");
      block();
    }
  }
}
