package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.AgentProperties.Rank;
import io.election.mysql.failover.agent.AgentState.Told;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.store.LeaseStoreException;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;

/**
 * Says what is proven of a server, and publishes it. Used by the agent's thread.
 */
record Announcer(
    AgentProperties properties, Registry registry, AgentState.Reference state, LongSupplier clock) {

  /** How often a position is published of which only the transactions have changed. */
  private static final long INTERVAL_NANOS = TimeUnit.SECONDS.toNanos(5);

  /**
   * What is proven of a server.
   *
   * @param position its position
   * @param unfit why it may neither lead nor join; empty if it may
   * @param mayCount whether the position may be published; otherwise the earlier one is kept
   */
  record Facts(Position position, String unfit, boolean mayCount) {}

  /** Returns whether the position that was last published proves that the server is whole. */
  boolean isWhole() {
    Told told = this.state.get().told();
    return told != null && !told.position().proof().isEmpty();
  }

  Facts announce(ServerState server, long finalIn, Snapshot read) throws LeaseStoreException {
    return announce(server, finalIn, read, GtidSet.EMPTY);
  }

  /**
   * Publishes the position of the server unless all agents know it already. When this returns, all
   * agents can read it.
   *
   * @param finalIn the election term of the last promotion if the server receives and acknowledges
   *     nothing any more, or {@link Position#MAY_RECEIVE}
   * @param proven the proof that was found since the last position; empty if none was
   */
  Facts announce(ServerState server, long finalIn, Snapshot read, GtidSet proven)
      throws LeaseStoreException {
    Told told = this.state.get().told();
    Facts facts =
        facts(this.properties, this.state.agent, proven, told != null, server, finalIn, read);
    Position next = facts.position();
    Position known = read.positions().get(next.server());
    long now = this.clock.getAsLong();
    boolean isKnown = told != null
        && told.position().saysTheSameAs(next)
        && told.position().equals(known)
        && (told.position().equals(next)
            || (now - told.at() < INTERVAL_NANOS && next.finalIn() == Position.MAY_RECEIVE));
    if (facts.mayCount() && !isKnown) {
      // Until it is known what etcd has.
      this.state.change((before) -> before.with((Told) null));
      this.registry.publish(next);
      this.state.change((before) -> before.with(new Told(next, now)));
    }
    return facts;
  }

  /**
   * Returns what is proven of a server.
   *
   * @param proven the proof that was found since the last position; empty if none was
   * @param hasPublished whether this agent has published a position before
   */
  static Facts facts(
      AgentProperties properties,
      String agent,
      GtidSet proven,
      boolean hasPublished,
      ServerState state,
      long finalIn,
      Snapshot read) {
    Position earlier = read.positions().get(properties.server());
    GtidSet lost = earlier != null && earlier.uuid().equals(state.uuid())
        ? earlier.received().subtract(state.received())
        : GtidSet.EMPTY;
    boolean isSource =
        read.last().filter((last) -> last.uuid().equals(state.uuid())).isPresent();
    GtidSet proof = !proven.isEmpty() || earlier == null || !earlier.uuid().equals(state.uuid())
        ? proven
        : earlier.proof();
    if (!lost.isEmpty()
        || !state.receiver().received().contains(proof)
        || !state.executed().contains(proof)) {
      proof = GtidSet.EMPTY;
    }
    String unfit = state.settings().unfit();
    if (unfit.isEmpty() && isSource && !lost.isEmpty()) {
      unfit =
          "it is the last source, but lacks transactions that it had: %s. Its data were restored from a backup, or its GTIDs were reset. Restore them, or rebuild it when there is another source (POST /rebuild)"
              .formatted(lost);
    }
    if (unfit.isEmpty() && hasPublished && earlier != null && !earlier.agent().equals(agent)) {
      unfit =
          "two agents have as.failover.server=%s: stop one of them".formatted(properties.server());
    }
    boolean mayCount = lost.isEmpty() || !isSource;
    String refusal = !unfit.isEmpty()
        ? unfit
        : properties.promotion() == Rank.NEVER
            ? "as.failover.promotion is never"
            : state.delaySeconds() > 0
                ? "its replication is delayed by %s s: CHANGE REPLICATION SOURCE TO SOURCE_DELAY = 0 if it is to stand"
                    .formatted(state.delaySeconds())
                : "";
    Position position = new Position(
        properties.server(),
        agent,
        state.uuid(),
        state.id(),
        Set.copyOf(properties.servers().keySet()),
        mayCount ? finalIn : Position.MAY_RECEIVE,
        state.term(),
        state.received(),
        proof,
        refusal,
        properties.promotion() == Rank.PREFERRED);
    return new Facts(position, unfit, mayCount);
  }
}
