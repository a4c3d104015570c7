package io.election.mysql.failover.agent;

import io.election.lease.Precedence;
import io.election.mysql.failover.agent.Registry.Snapshot;
import java.time.Duration;
import java.util.function.LongSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Answers the elector by what the agent has read last. A position counts only after the server's
 * receiver was stopped, so that the server acknowledges nothing more to the old source.
 *
 * <p>Thread-safe: read by the elector's thread, updated by the agent's thread.
 */
final class Standing implements Precedence {

  /** What a decision rests on. */
  private record View(Snapshot read, Position own) {}

  private final Candidacy candidacy;
  private final LongSupplier clock;

  /** {@code null} if the position is not final or not known. */
  private volatile @Nullable View view;

  private volatile Candidacy.@Nullable Decision decision;
  private volatile long askedAt;
  private volatile String shown = "";
  private volatile Runnable onAsked = () -> {};

  /**
   * @param clock reads the monotonic clock in nanoseconds
   */
  Standing(Candidacy candidacy, LongSupplier clock) {
    this.candidacy = candidacy;
    this.clock = clock;
    this.askedAt = clock.getAsLong() - Duration.ofHours(1).toNanos();
  }

  Candidacy candidacy() {
    return this.candidacy;
  }

  /**
   * Sets the callback that runs when the election is open and the agent must publish a final
   * position.
   */
  void onAsked(Runnable onAsked) {
    this.onAsked = onAsked;
  }

  /** Sets what to decide by. The position is final, and all other agents can read it. */
  void see(Snapshot read, Position own) {
    this.view = new View(read, own);
  }

  /** Stands aside until there is a final position. */
  void withdraw() {
    this.view = null;
  }

  /** Sets what {@code /actuator/leader} shows of the server. */
  void show(String text) {
    this.shown = text;
  }

  /** Returns whether the election was open to this node within a time before now. */
  boolean isOpen(Duration within) {
    return this.clock.getAsLong() - this.askedAt < within.toNanos();
  }

  /** Returns whether the election was open to this node after the given instant. */
  boolean hasOpenedSince(long instant) {
    return this.askedAt - instant > 0;
  }

  /** Returns the last decision; {@code null} if the server was not ready. */
  Candidacy.@Nullable Decision decision() {
    return this.decision;
  }

  @Override
  public String position(String serviceId) {
    return this.shown;
  }

  @Override
  public Turn turn(OpenElection opening) {
    this.askedAt = this.clock.getAsLong();
    View view = this.view;
    if (view == null) {
      this.decision = null;
      this.onAsked.run();
      return Turn.standAside("its own position is not known yet");
    }
    Candidacy.Decision decision = this.candidacy.decide(view.read(), view.own(), opening.openFor());
    this.decision = decision;
    return decision.turn();
  }
}
