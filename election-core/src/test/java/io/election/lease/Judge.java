package io.election.lease;

import io.election.lease.State.Leader;
import io.election.store.MemoryTerm;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** Checks what must hold at every instant, and the terms that the server grants. */
final class Judge {

  /**
   * A time in which one process led.
   *
   * @param epoch how often the tables had been emptied when the term was granted; terms may start
   *     again after each time
   */
  private record Tenure(SimulatedProcess process, long term, int epoch) {}

  private final Simulation world;

  private @Nullable Tenure tenure;

  /** By term, how often the tables had been emptied when the term was last granted. */
  private final Map<Long, Integer> epochs = new HashMap<>();

  /** The highest term that the server granted since the tables were last emptied. */
  private long granted;

  Judge(Simulation world) {
    this.world = world;
  }

  void judge() {
    this.world.tally.instants++;
    if (this.world.broken != null) {
      throw this.world.broken;
    }
    Claimant leader = null;
    for (SimulatedProcess process : this.world.processes) {
      leader = alone(leader, process);
      if (leader == process && process.isPaused()) {
        throw this.world.violation("%s leads although it was paused".formatted(process.claim()));
      }
    }
    for (OlderNode node : this.world.olderNodes) {
      leader = alone(leader, node);
    }
    for (int i = 1; i < this.world.elections().size(); i++) {
      judgeOther(i);
    }
    if (leader instanceof SimulatedProcess process
        && process.candidacy().state() instanceof Leader held) {
      judgeTenure(process, held.term());
    }
  }

  /** Checks that at most one process leads one of the other elections. */
  private void judgeOther(int election) {
    SimulatedProcess leader = null;
    for (SimulatedProcess process : this.world.processes) {
      if (process.leadsAlso(election)) {
        if (leader != null) {
          throw this.world.violation("Two leaders of %s: %s and %s"
              .formatted(this.world.elections().get(election), leader, process));
        }
        leader = process;
      }
    }
  }

  private @Nullable Claimant alone(@Nullable Claimant leader, Claimant other) {
    if (!other.leads()) {
      return leader;
    }
    if (leader != null) {
      throw this.world.violation("Two leaders: %s and %s".formatted(leader.claim(), other.claim()));
    }
    return other;
  }

  private void judgeTenure(SimulatedProcess process, long term) {
    Tenure last = this.tenure;
    if (last != null && last.process() == process && last.term() == term) {
      return;
    }
    int epoch = this.epochs.getOrDefault(term, this.world.emptied);
    if (last != null && last.epoch() == epoch && term <= last.term()) {
      throw this.world.violation("%s leads in term %d after %s led in term %d"
          .formatted(process, term, last.process(), last.term()));
    }
    this.tenure = new Tenure(process, term, epoch);
  }

  /** The commit fence checks the history, so it would refuse all work of such a leader. */
  void judgeRenewal(String nodeId, long term) {
    MemoryTerm held = this.world.database.history(Sent.SERVICE).get(term);
    if (held != null && held.ended() && !this.world.termEdited) {
      throw this.world.violation(
          "Term %d of %s was renewed, which the history has ended".formatted(term, nodeId));
    }
  }

  void grant(String nodeId, long term) {
    if (term <= this.granted) {
      throw this.world.violation(
          "Term %d was granted to %s after term %d".formatted(term, nodeId, this.granted));
    }
    this.granted = term;
    this.epochs.put(term, this.world.emptied);
  }

  void forgetTerms() {
    this.granted = 0;
  }
}
