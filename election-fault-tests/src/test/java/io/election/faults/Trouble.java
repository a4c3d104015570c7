package io.election.faults;

import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;

/** The faults that a {@link TroubledNode} inflicts on itself. */
enum Trouble {
  /** The heap is exhausted for some seconds. */
  NO_MEMORY {
    @Override
    void begin() {
      daemon("allocator", Trouble::allocate);
    }
  },
  /**
   * Hundreds of threads compete; the common pool and the carriers of virtual threads are occupied.
   */
  NO_PROCESSOR {
    @Override
    void begin() {
      Runnable spin = spinning();
      for (int i = 0; i < 300; i++) {
        daemon("spinning-" + i, spin);
      }
      for (int i = 0; i < 4 * ForkJoinPool.getCommonPoolParallelism(); i++) {
        ForkJoinPool.commonPool().execute(Trouble::block);
      }
      for (int i = 0; i < 2 * Runtime.getRuntime().availableProcessors(); i++) {
        startVirtual(spin);
      }
    }
  },
  /** A listener never returns. */
  LISTENER_BLOCKS {
    @Override
    void begin() {
      block();
    }
  },
  /** A listener throws an unexpected throwable. */
  LISTENER_THROWS {
    @Override
    void begin() {
      throw new StackOverflowError("thrown by a listener");
    }
  },
  /** A listener was interrupted and restores the interrupt, as it should. */
  LISTENER_INTERRUPTED {
    @Override
    void begin() {
      Thread.currentThread().interrupt();
    }
  },
  /** Foreign code interrupts all threads that it does not own. */
  ALL_INTERRUPTED {
    @Override
    void begin() {
      daemon(
          "interrupter",
          () -> Thread.getAllStackTraces().keySet().stream()
              .filter((thread) -> thread.getName().startsWith("election-"))
              .forEach(Thread::interrupt));
    }
  },
  /** The listener works, but the node's job never ends. */
  JOB_BLOCKS {
    @Override
    void begin() {}
  };

  static final long SECONDS = 8;

  /** Begins the fault. A listener calls this when the node has become leader. */
  abstract void begin();

  static void block() {
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

  private static Runnable spinning() {
    long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(SECONDS);
    return () -> {
      while (System.nanoTime() - end < 0) {
        Thread.onSpinWait();
      }
    };
  }

  private static void daemon(String name, Runnable task) {
    Thread thread = new Thread(task, name);
    thread.setDaemon(true);
    thread.start();
  }

  /**
   * Starts a virtual thread that never leaves its carrier, which affects others as pinning does.
   */
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
}
