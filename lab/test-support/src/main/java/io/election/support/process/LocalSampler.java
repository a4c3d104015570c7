package io.election.support.process;

import io.election.ElectionService;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import org.awaitility.Awaitility;

/** Samples nodes inside the test's own process, on a thread of its own. */
public final class LocalSampler implements AutoCloseable {

  private static final long PAUSE_NANOS = 1_000_000;

  private final Map<String, LeadershipLog> logs = new LinkedHashMap<>();
  private final List<Runnable> samples = new ArrayList<>();
  private final Thread thread = new Thread(this::run, "sampler");
  private volatile boolean closed;

  public LocalSampler() {
    this.thread.setDaemon(true);
    this.thread.start();
  }

  public void add(String name, ElectionService node) {
    add(name, (log) -> log.sample(node));
  }

  /** Adds a node, with what asks it and records its answer. */
  public synchronized void add(String name, Consumer<LeadershipLog> sample) {
    LeadershipLog log = LeadershipLog.inMemory();
    this.logs.put(name, log);
    this.samples.add(() -> sample.accept(log));
  }

  private void run() {
    while (!this.closed) {
      sampleAll();
      LockSupport.parkNanos(PAUSE_NANOS);
    }
  }

  private synchronized void sampleAll() {
    this.samples.forEach(Runnable::run);
  }

  public synchronized List<Claim> claims(String name) {
    return Objects.requireNonNull(this.logs.get(name), name).claims(name);
  }

  /** A judge of what all nodes have claimed so far. */
  public synchronized SafetyJudge judge() {
    return new SafetyJudge(
        this.logs.keySet().stream().flatMap((name) -> claims(name).stream()).toList());
  }

  @Override
  public void close() {
    this.closed = true;
    Awaitility.await("the sampler ends").until(() -> !this.thread.isAlive());
  }
}
