package io.election.mysql.failover.agent;

import io.election.ElectionService;
import io.election.Leadership;
import io.election.lease.LeaseElectionService;
import io.election.store.LeaseSettings;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Makes a source read-only when its duty ends, before its lease may end. */
final class Fence {

  private static final Logger log = LoggerFactory.getLogger(Fence.class);

  /** How long it may take to make the server read-only before the server is killed. */
  private static final Duration FENCE = Duration.ofSeconds(2);

  /**
   * How long before the end of the lease the guard has acted, if the agent dies right after a
   * renewal.
   */
  private static final Duration BEFORE_LEASE = Duration.ofMillis(1_250);

  /** Longer than the time between two statements of the agent. */
  private static final Duration SHORTEST_SILENCE = Duration.ofMillis(1_750);

  private final AgentProperties properties;
  private final MysqlServer server;
  private final ElectionService election;
  private final LeaseSettings settings;
  private final Hooks hooks;

  Fence(
      AgentProperties properties,
      MysqlServer server,
      ElectionService election,
      LeaseSettings settings,
      Hooks hooks) {
    this.properties = properties;
    this.server = server;
    this.election = election;
    this.settings = settings;
    this.hooks = hooks;
  }

  /** Makes the server read-only, or kills it if it does not answer before the lease may end. */
  void run() {
    long began = System.nanoTime();
    MysqlServer server = this.server.another(FENCE);
    Future<Void> fenced = VitalThread.start("fence", () -> {
      fence(server);
      return null;
    });
    boolean refused = false;
    try {
      // There is time while the lease is renewed, also after an operator has ended the leadership.
      while (!fenced.isDone()
          && (leaseRemaining().compareTo(margin()) > 0
              || System.nanoTime() - began < margin().toNanos())) {
        TimeUnit.MILLISECONDS.sleep(10);
      }
      fenced.get(0, TimeUnit.MILLISECONDS);
      log.info(
          "{} is read-only, {} ms after it began to step down as the source",
          this.properties.server(),
          (System.nanoTime() - began) / 1_000_000);
      return;
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    } catch (ExecutionException | TimeoutException ex) {
      log.error("{} could not be made read-only in time", this.properties.server(), ex);
      refused = Refusals.isRefused(ex);
    } finally {
      fenced.cancel(true);
      server.abort();
    }
    // A server that is being shut down listens no more, but still answers its clients: it commits
    // what waits for acknowledgements.
    if (!this.hooks.run("kill-server", this.properties.killServer(), 0) && !refused) {
      log.error("{} will be shut down by its guard", this.properties.server());
      awaitGuard();
    }
  }

  /** Makes the server read-only. Tries again if the server answers with an error. */
  private void fence(MysqlServer server) throws SQLException {
    long began = System.nanoTime();
    while (true) {
      try {
        server.fence();
        return;
      } catch (SQLException ex) {
        boolean noAnswer = ex.getErrorCode() == 0;
        if (noAnswer
            || System.nanoTime() - began > FENCE.toNanos()
            || leaseRemaining().compareTo(margin()) <= 0) {
          throw ex;
        }
        log.debug("{} is not read-only yet", this.properties.server(), ex);
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
      }
    }
  }

  /**
   * Keeps the lease until the guard has made the server read-only, if the server is still running.
   * A paused server may resume before that, so the agent keeps trying to fence it.
   */
  private void awaitGuard() {
    MysqlServer server = this.server.another(FENCE);
    Future<Void> fenced = VitalThread.start("fence", () -> {
      fenceAgainAndAgain(server);
      return null;
    });
    try {
      while (!fenced.isDone() && System.nanoTime() - this.server.guardActsBy() < 0) {
        TimeUnit.MILLISECONDS.sleep(10);
      }
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
    fenced.cancel(true);
    server.abort();
  }

  /** Returns when the server is read-only or has shut down, or if the thread is interrupted. */
  private void fenceAgainAndAgain(MysqlServer server) {
    while (!Thread.currentThread().isInterrupted()) {
      try {
        server.fenceWithoutAcknowledgements(); // its replicas have left it by now
        log.info("{} answers again and is read-only", this.properties.server());
        return;
      } catch (SQLException ex) {
        log.debug("{} does not answer", this.properties.server(), ex);
        if (Refusals.isRefused(ex)) {
          return;
        }
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
      }
    }
  }

  /**
   * Returns the instant, by the monotonic clock, by which the guard must have acted if it is not
   * notified again. It is before the end of the lease.
   */
  long guardMustActBy() {
    long now = System.nanoTime(); // before the remaining time is read
    Duration remaining = remaining();
    Duration silence = silence();
    return now + (remaining.compareTo(silence) < 0 ? remaining : silence).toNanos();
  }

  /** Returns how long the server serves at most while its agent is silent. */
  Duration silence() {
    Duration silence = this.settings.leaseDuration().minus(BEFORE_LEASE);
    return silence.compareTo(SHORTEST_SILENCE) < 0 ? SHORTEST_SILENCE : silence;
  }

  /** Returns the part of a lease that is reserved for killing the server. */
  Duration margin() {
    return this.settings.leaseDuration().dividedBy(10);
  }

  /** Returns how long the lease still keeps other servers from becoming the source. */
  private Duration leaseRemaining() {
    return this.election instanceof LeaseElectionService lease
        ? lease.leaseRemaining().orElse(Duration.ZERO)
        : remaining();
  }

  /** Returns how long this node still leads. */
  private Duration remaining() {
    return this.election.leadership().map(Leadership::remaining).orElse(Duration.ZERO);
  }
}
