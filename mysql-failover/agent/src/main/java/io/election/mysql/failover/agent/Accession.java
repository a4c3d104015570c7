package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.Registry.Snapshot;
import java.sql.SQLException;

/** Makes the server of an agent that was elected the source. Used by the agent's thread. */
record Accession(Site site, Fence fence) {

  /**
   * Applies what the server has received, decides once more, records the promotion, and opens the
   * server.
   *
   * @throws Exception if the server is not, or may not become, the source
   */
  Promotion promote(long electionTerm) throws Exception {
    Candidacy.Decision decision = this.site.state().ballot().decision();
    if (decision == null || !decision.stands()) {
      throw new IllegalStateException("its last decision was not to stand");
    }
    apply(electionTerm);
    Snapshot read = this.site.registry().read();
    ServerState applied = this.site.server().state();
    require(
        !applied.receiver().runs() && applied.executed().contains(applied.received()),
        "its receiver was started by someone else");
    Position own =
        this.site.announcer().announce(applied, read.electionTerm(), read).position();
    // Now no source can acknowledge anything.
    Candidacy.Decision confirmed = this.site.standing().candidacy().confirm(read, own, decision);
    require(confirmed.stands(), confirmed.turn().reason());
    Promotion last = read.last().orElseThrow();
    long newest = read.positions().values().stream()
        .filter((each) -> each.isFinal(last.electionTerm()))
        .mapToLong(Position::term)
        .reduce(applied.term(), Math::max);
    Promotion promotion = last.next(
        own,
        applied,
        newest,
        electionTerm,
        last.membersAmong(this.site.properties(), read.positions(), applied.uuid()));
    requireLease(electionTerm);
    // Before what proves its position is discarded: should this fail, it stands again.
    require(this.site.registry().record(promotion), "another agent leads");
    requireLease(electionTerm);
    this.site.server().replication().end();
    open(promotion);
    return promotion;
  }

  private void apply(long electionTerm) throws Exception {
    ServerState state = this.site.server().state();
    require(!state.receiver().runs(), "its receiver was started by someone else");
    if (!state.applying() && !state.executed().contains(state.received())) {
      this.site.server().replication().startApplier();
    }
    long deadline = this.site.now() + this.site.properties().applyTimeout().toNanos();
    while (!this.site.server().replication().awaitExecuted(state.received(), 1)) {
      requireLease(electionTerm);
      require(
          this.site.now() - deadline < 0,
          "the received transactions were not applied within as.failover.apply-timeout");
    }
  }

  void open(Promotion promotion) throws SQLException {
    this.site
        .server()
        .openForWrites(
            promotion.term(),
            this.site.name(),
            promotion.acknowledging(),
            this.fence.guardMustActBy());
  }

  private void requireLease(long electionTerm) {
    require(this.fence.leads(electionTerm), "the lease has ended");
  }

  static void require(boolean condition, String failure) {
    if (!condition) {
      throw new IllegalStateException(failure);
    }
  }
}
