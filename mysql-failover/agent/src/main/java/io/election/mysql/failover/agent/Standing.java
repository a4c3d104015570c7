package io.election.mysql.failover.agent;

import io.election.Member;
import io.election.lease.Precedence;
import io.election.mysql.failover.agent.AgentState.Ballot;
import io.election.mysql.failover.agent.AgentState.Stand;
import io.election.mysql.failover.agent.Registry.Snapshot;
import java.time.Duration;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.Semaphore;
import java.util.function.LongSupplier;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * Answers the elector by what the agent has read last. A position counts only after the server's
 * receiver was stopped, so that the server acknowledges nothing more to the old source.
 *
 * @param wake gets a permit when the election is open and the agent must publish a final position
 */
record Standing(
    String server,
    Candidacy candidacy,
    AgentState.Reference state,
    Semaphore wake,
    LongSupplier clock)
    implements Precedence {

  private Ballot change(UnaryOperator<Ballot> step) {
    return this.state
        .change((before) -> before.with(step.apply(before.ballot())))
        .ballot();
  }

  /** Sets what to decide by; {@code null} to stand aside until there is a final position. */
  void stand(@Nullable Stand stand) {
    change((ballot) -> ballot.with(stand));
  }

  /** Returns whether the election was open to this node within a time before now. */
  boolean isOpen(Duration within) {
    return this.clock.getAsLong() - this.state.get().ballot().askedAt() < within.toNanos();
  }

  /** Returns whether the election was open to this node after the given instant. */
  boolean hasOpenedSince(long instant) {
    return this.state.get().ballot().askedAt() - instant > 0;
  }

  /** Finds out whether a failover would work, if it is time. There is a source. */
  void rehearse(Snapshot read, Optional<List<Member>> members) {
    Rehearsal next = this.state
        .get()
        .rehearsal()
        .look(read, members.orElse(List.of()), this.candidacy, this.clock.getAsLong());
    this.state.change((before) -> before.with(next));
  }

  /** Returns what {@code /actuator/leader} shows of the server. */
  @Override
  public String position(String serviceId) {
    return this.state.get().shown().statusAt(this.clock.getAsLong()).show(this.server);
  }

  @Override
  public Turn turn(OpenElection opening) {
    long now = this.clock.getAsLong();
    Ballot ballot = change((before) -> before.asked(
        now,
        before.stand() == null
            ? null
            : this.candidacy.decide(
                before.stand().read(), before.stand().own(), opening.openFor())));
    if (ballot.decision() == null) {
      this.wake.release();
      return Turn.standAside("its own position is not known yet");
    }
    return ballot.decision().turn();
  }
}
