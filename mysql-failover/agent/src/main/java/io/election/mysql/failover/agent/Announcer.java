package io.election.mysql.failover.agent;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.AgentProperties.Rank;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.store.LeaseStoreException;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.TimeUnit;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Says what is proven of a server, and publishes it. Used by the agent's thread.
 */
final class Announcer {

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

  private final AgentProperties properties;
  private final Registry registry;
  private final LongSupplier clock;
  private final String agent = UUID.randomUUID().toString();
  private GtidSet proven = GtidSet.EMPTY;
  private @Nullable Position published;
  private long publishedAt;

  Announcer(AgentProperties properties, Registry registry, LongSupplier clock) {
    this.properties = properties;
    this.registry = registry;
    this.clock = clock;
  }

  /**
   * Notes that the server has caught up with its source.
   *
   * @param proof as in {@link Position}
   */
  void caughtUp(GtidSet proof) {
    this.proven = proof;
  }

  /** Returns whether the position that was last published proves that the server is whole. */
  boolean isWhole() {
    Position published = this.published;
    return published != null && !published.proof().isEmpty();
  }

  /**
   * Publishes the position of the server unless all agents know it already. When this returns, all
   * agents can read it.
   *
   * @param finalIn the election term of the last promotion if the server receives and acknowledges
   *     nothing any more, or {@link Position#MAY_RECEIVE}
   */
  Facts announce(ServerState state, long finalIn, Snapshot read) throws LeaseStoreException {
    Position before = this.published;
    Facts facts =
        facts(this.properties, this.agent, this.proven, before != null, state, finalIn, read);
    Position now = facts.position();
    Position known = read.positions().get(now.server());
    boolean due = this.clock.getAsLong() - this.publishedAt >= INTERVAL_NANOS
        || now.finalIn() != Position.MAY_RECEIVE;
    boolean same = before != null
        && before.saysTheSameAs(now)
        && known != null
        && known.agent().equals(this.agent);
    if (facts.mayCount() && !(same && (!due || now.equals(before)))) {
      this.registry.publish(now);
      this.published = now;
      this.proven = GtidSet.EMPTY;
      this.publishedAt = this.clock.getAsLong();
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
