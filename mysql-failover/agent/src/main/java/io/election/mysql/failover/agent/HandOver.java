package io.election.mysql.failover.agent;

import static io.election.mysql.failover.agent.Accession.require;

import io.election.AuditNote;
import io.election.Member;
import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.Registry.Snapshot;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import org.jspecify.annotations.Nullable;

/** Hands over from the source to another server, so that nothing is lost. */
final class HandOver {

  private final Site site;
  private final AtomicReference<@Nullable Request> requested = new AtomicReference<>();

  record Request(String target, CompletableFuture<String> outcome) {

    void refuse(String reason) {
      this.outcome.completeExceptionally(new IllegalStateException(reason));
    }
  }

  HandOver(Site site) {
    this.site = site;
  }

  CompletableFuture<String> request(String target, boolean isSource) {
    Request request = new Request(target, new CompletableFuture<>());
    if (!isSource) {
      request.refuse(this.site.name() + " is not the source");
    } else if (target.equals(this.site.name())) {
      request.refuse(target + " is the source already");
    } else if (!this.requested.compareAndSet(null, request)) {
      request.refuse("another switch-over is under way");
    }
    return request.outcome();
  }

  /** Returns the request that waits; {@code null} if there is none. */
  @Nullable
  Request requested() {
    return this.requested.get();
  }

  /** Forgets the request, if any, and refuses it unless it has an outcome. */
  void refuse() {
    Request request = this.requested.getAndSet(null);
    if (request != null) {
      request.refuse(this.site.name() + " is no longer the source");
    }
  }

  /**
   * Makes this server read-only, and hands over when the other one has caught up.
   *
   * @throws Exception if the other server does not become the source; this one may be read-only
   */
  void execute(Request request) throws Exception {
    String server = request.target();
    Snapshot read = this.site.registry().read();
    Position target = read.positions().get(server);
    Member agent = this.site.election().currentMembers().orElse(List.of()).stream()
        .filter((each) -> Status.isShown(each, server))
        .findFirst()
        .orElse(null);
    if (target == null) {
      throw new IllegalArgumentException(
          "no agent has announced a server '%s'; announced servers: %s"
              .formatted(server, read.positions().keySet()));
    }
    if (agent == null) {
      throw new IllegalArgumentException(
          "the agent of %s is down, or has just started: try again in ten seconds"
              .formatted(server));
    }
    require(
        target.refusal().isEmpty(),
        "%s does not stand for election: %s".formatted(server, target.refusal()));
    require(read.paused().isEmpty(), "failover is paused: " + read.paused());
    long began = this.site.now();
    drain();
    ServerState drained = this.site.server().state();
    awaitCaughtUp(server, drained.executed());
    this.site.server().endClients();
    // The source acknowledges nothing any more, so no other position is needed.
    this.site.announcer().announce(drained, read.electionTerm(), read);
    this.site.election().designate(agent.nodeId(), new AuditNote(this.site.name(), "switch-over"));
    request
        .outcome()
        .complete("%s has all transactions of %s, which was made read-only %s ms earlier"
            .formatted(server, this.site.name(), (this.site.now() - began) / 1_000_000));
  }

  /**
   * Makes the server read-only. Fails if a running statement or a lock prevents that for too long.
   */
  private void drain() throws SQLException {
    try {
      this.site.server().drain();
    } catch (SQLException ex) {
      throw new IllegalStateException(
          "%s could not be made read-only within a second (%s): wait for running statements and LOCK TABLES, or KILL them (performance_schema.metadata_locks)"
              .formatted(this.site.name(), Refusals.text(ex)),
          ex);
    }
  }

  private void awaitCaughtUp(String target, GtidSet executed) throws Exception {
    String address = this.site.properties().address(target);
    long deadline = this.site.now() + this.site.properties().positionWait().toNanos();
    while (true) {
      GtidSet caughtUp;
      try {
        caughtUp = Peer.inspect(address, this.site.properties()).executed();
      } catch (SQLException ex) {
        throw new IllegalStateException(
            "the target %s does not answer at %s: %s".formatted(target, address, Refusals.text(ex)),
            ex);
      }
      if (caughtUp.contains(executed)) {
        return;
      }
      require(
          this.site.now() - deadline < 0,
          "the target %s has not caught up within %s: it lacks %s. Check its lag, and what blocks its applier"
              .formatted(
                  target, this.site.properties().positionWait(), executed.subtract(caughtUp)));
    }
  }
}
