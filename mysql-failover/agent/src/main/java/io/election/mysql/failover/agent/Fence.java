package io.election.mysql.failover.agent;

import io.election.Leadership;
import io.election.lease.LeaseElectionService;
import io.election.store.LeaseSettings;
import java.sql.SQLException;
import java.time.Duration;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Makes a source read-only when its duty ends, before its lease may end.
 */
record Fence(Site site, LeaseSettings settings, KillCommand kill) {

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

  /** Makes the server read-only, or kills it if it does not answer before the lease may end. */
  void run() {
    long began = this.site.now();
    MysqlServer server = this.site.server().another(FENCE);
    Future<Void> fenced = VitalThread.start("fence", () -> {
      fence(server);
      return null;
    });
    // There is time while the lease is renewed, also after an operator has ended the leadership.
    if (!await(fenced, () -> {
      long took = this.site.now() - began;
      return took < margin().toNanos()
          || (took < 2 * FENCE.toNanos() && leaseRemaining().compareTo(margin()) > 0);
    })) {
      log.error("{} could not be made read-only in time", this.site.name());
      // A server that is being shut down listens no more, but still answers its clients: it commits
      // what waits for acknowledgements.
      if (!this.kill.run()) {
        log.error(
            "{} is left to its guard, which shuts it down: start it again then. If it runs on, its guard was killed too: use kill -9, since a server that is stopped answers what waits",
            this.site.name());
        // If the server is still running, the lease is kept until the guard has acted. A paused one
        // may resume before that.
        await(fenced, () -> this.site.now() - this.site.server().guardActsBy() < 0);
      }
    }
    fenced.cancel(true);
    server.abort();
  }

  /** Waits until the server is fenced, and returns whether it is. */
  private boolean await(Future<Void> fenced, BooleanSupplier mayWait) {
    try {
      while (!VitalThread.isDone(fenced, 10)) {
        if (!mayWait.getAsBoolean()) {
          return false;
        }
      }
      return true;
    } catch (SQLException ex) {
      log.debug("{} is not read-only", this.site.name(), ex);
      return false;
    }
  }

  /**
   * Makes the server read-only. Tries again until the thread is interrupted.
   *
   * @throws SQLException if the server accepts no connections
   */
  private void fence(MysqlServer server) throws SQLException {
    long began = this.site.now();
    while (true) {
      try {
        server.fence();
        log.info(
            "{} is read-only, {} ms after it began to step down as the source",
            this.site.name(),
            (this.site.now() - began) / 1_000_000);
        return;
      } catch (SQLException ex) {
        if (Refusals.isRefused(ex) || Thread.currentThread().isInterrupted()) {
          throw ex;
        }
        log.warn("{} is not read-only yet: {}", this.site.name(), Refusals.text(ex));
        LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(100));
      }
    }
  }

  /**
   * Returns the instant, by the monotonic clock, by which the guard must have acted if it is not
   * notified again. It is before the end of the lease.
   */
  long guardMustActBy() {
    long now = this.site.now(); // before the remaining time is read
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
    return this.site.election() instanceof LeaseElectionService lease
        ? lease.leaseRemaining().orElse(Duration.ZERO)
        : remaining();
  }

  /** Returns whether the lease was renewed lately, so that there is time to wait for etcd. */
  boolean canWait() {
    Duration lately = this.settings.renewInterval().multipliedBy(2);
    return remaining().compareTo(this.settings.leaseDuration().minus(lately)) > 0;
  }

  /** Returns whether this node leads with enough time left in its lease to fence its server. */
  boolean leads(long term) {
    return this.site
        .election()
        .leadership()
        .filter((each) -> each.term() == term)
        .filter((each) -> each.remaining().compareTo(margin().multipliedBy(3)) > 0)
        .isPresent();
  }

  private Duration remaining() {
    return this.site.election().leadership().map(Leadership::remaining).orElse(Duration.ZERO);
  }
}
