package io.election.faults;

import io.election.ElectionService;
import io.election.test.process.Claim;
import io.election.test.process.LeadershipLog;
import io.election.test.process.SafetyJudge;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.locks.LockSupport;
import org.awaitility.Awaitility;

/** Samples nodes inside the test's own process, as {@link SamplingNode} does in other processes. */
final class LocalSampler implements AutoCloseable {

  private final Path folder;

  private final Map<String, LeadershipLog> logs = new ConcurrentHashMap<>();

  private final Map<String, ElectionService> nodes = new ConcurrentHashMap<>();

  private final Thread thread = new Thread(this::run, "sampler");

  private volatile boolean closed;

  LocalSampler(Path folder) {
    this.folder = folder;
    this.thread.setDaemon(true);
    this.thread.start();
  }

  void add(String name, ElectionService node) {
    this.logs.put(name, LeadershipLog.open(this.folder.resolve(name)));
    this.nodes.put(name, node);
  }

  private void run() {
    while (!this.closed) {
      this.nodes.forEach((name, node) -> SamplingNode.sample(node, this.logs.get(name)));
      LockSupport.parkNanos(1_000_000);
    }
  }

  List<Claim> claims(String name) {
    return this.logs.get(name).claims(name);
  }

  SafetyJudge judge() {
    return new SafetyJudge(
        this.logs.keySet().stream().flatMap((name) -> claims(name).stream()).toList());
  }

  @Override
  public void close() {
    this.closed = true;
    Awaitility.await("the sampler ends").until(() -> !this.thread.isAlive());
  }
}
