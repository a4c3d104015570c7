package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.Registry.Snapshot;
import java.sql.SQLException;
import java.util.function.LongSupplier;

/** Makes the server of an agent that was elected the source. Used by the agent's thread. */
record Accession(
    AgentProperties properties,
    MysqlServer server,
    Registry registry,
    Standing standing,
    Announcer announcer,
    Fence fence,
    LongSupplier clock) {

  /**
   * Applies what the server has received, decides once more, records the promotion, and opens the
   * server.
   *
   * @throws Exception if the server is not, or may not become, the source
   */
  Promotion promote(long electionTerm) throws Exception {
    Candidacy.Decision decision = this.standing.state().get().ballot().decision();
    if (decision == null || !decision.stands()) {
      throw new IllegalStateException("its last decision was not to stand");
    }
    apply(electionTerm);
    Snapshot read = this.registry.read();
    ServerState applied = this.server.state();
    Position own = this.announcer.announce(applied, read.electionTerm(), read).position();
    // Now no source can acknowledge anything.
    Candidacy.Decision confirmed = this.standing.candidacy().confirm(read, own, decision);
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
        last.membersAmong(this.properties, read.positions(), applied.uuid()));
    requireLease(electionTerm);
    this.server.replication().end();
    require(this.registry.record(promotion), "another agent leads");
    requireLease(electionTerm);
    open(promotion);
    return promotion;
  }

  private void apply(long electionTerm) throws Exception {
    ServerState state = this.server.state();
    require(!state.receiver().runs(), "its receiver was started by someone else");
    if (!state.applying() && !state.executed().contains(state.received())) {
      this.server.replication().startApplier();
    }
    long deadline = this.clock.getAsLong() + this.properties.applyTimeout().toNanos();
    while (!this.server.replication().awaitExecuted(state.received(), 1)) {
      requireLease(electionTerm);
      require(
          this.clock.getAsLong() - deadline < 0,
          "the received transactions were not applied within as.failover.apply-timeout");
    }
  }

  void open(Promotion promotion) throws SQLException {
    this.server.openForWrites(
        promotion.term(),
        this.properties.server(),
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
