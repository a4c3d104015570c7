package io.election.lease;

import io.election.store.LeaseRow;
import io.election.store.MemoryLeaseStore.Row;
import io.election.store.MemoryTerm;
import io.election.store.SimulatedDatabase;
import io.election.store.SimulatedDatabase.Snapshot;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** The faults and operator commands of a schedule, drawn at random. */
record Disturbances(Simulation world) {

  private static final Set<Fault> LASTING =
      Set.of(Fault.PAUSE, Fault.SUSPEND, Fault.CUT_OFF, Fault.WORK);

  private static final Set<Fault> EDITS = Set.of(
      Fault.DESIGNATED_BY_SQL,
      Fault.REPLACED,
      Fault.DELETED,
      Fault.TABLES_EMPTIED,
      Fault.TERM_LOWERED);

  /** Faults that an older tool does not logAndPause on its own. */
  private static final Set<Fault> NOT_BESIDE_AN_OLDER_TOOL = Set.of(
      Fault.DATABASE_STALLS,
      Fault.DATABASE_CLOCK_STEPS,
      Fault.FAILOVER,
      Fault.DESIGNATED_AND_BACK,
      Fault.REPLACED,
      Fault.DELETED,
      Fault.TABLES_EMPTIED,
      Fault.LEASE_EDITED,
      Fault.TERM_LOWERED);

  /**
   * Faults that bring a term back. A copy of a process cannot tell which process held that term.
   */
  private static final Set<Fault> NOT_BESIDE_COPIES =
      Set.of(Fault.TABLES_EMPTIED, Fault.TERM_LOWERED);

  void disturbLater(long mean) {
    long pause = (long) (-Math.log(1 - this.world.random.nextDouble()) * mean);
    this.world.after(pause, () -> {
      if (this.world.faulty) {
        disturb();
        disturbLater(mean);
      }
    });
  }

  private void disturb() {
    List<SimulatedProcess> alive =
        this.world.processes.stream().filter((process) -> process.alive).toList();
    Fault fault = this.world.pick(this.world.faults());
    if (this.world.without.contains(fault)
        || (this.world.company != OlderTool.NONE && NOT_BESIDE_AN_OLDER_TOOL.contains(fault))
        || (this.world.copies ? NOT_BESIDE_COPIES.contains(fault) : fault == Fault.COPIED)
        || (fault == Fault.TABLES_EMPTIED && !mayBeEmptied(alive))) {
      return;
    }
    String id = this.world.pick(this.world.ids);
    SimulatedProcess process = alive.isEmpty() ? null : this.world.pick(alive);
    // A fault does most harm if it hits the leader, a process that waits to lead, or a request
    // under way.
    SimulatedProcess prominent = this.world.draw(2) == 0 ? this.world.leader() : claimant();
    if (prominent != null && this.world.draw(3) > 0) {
      process = prominent;
    }
    long more = this.world.random.nextLong(3 * this.world.longestLease);
    if (process != null && LASTING.contains(fault)) {
      this.world.lasts(this.world.now + more);
    }
    boolean done = switch (fault) {
      case RESTART, TWIN -> start(id, fault == Fault.TWIN, alive);
      case RESTORED_AGAIN, COPIED -> process != null && copy(process, fault == Fault.COPIED, alive);
      case DATABASE_STALLS -> {
        this.world.databaseBackAt = this.world.now + more;
        this.world.lasts(this.world.databaseBackAt);
        yield true;
      }
      case ROW_LOCKED -> {
        this.world.rowFreeAt = this.world.now + more;
        this.world.lasts(this.world.rowFreeAt);
        yield true;
      }
      case DATABASE_CLOCK_STEPS,
          FAILOVER,
          DESIGNATED_BY_SQL,
          DESIGNATED_AND_BACK,
          REPLACED,
          DELETED,
          TABLES_EMPTIED,
          LEASE_EDITED,
          TERM_LOWERED -> this.world.befall(fault);
      default ->
        process != null
            && (this.world.draw(2) == 0
                ? process.suffer(fault, more)
                : process.ambush(fault, more));
    };
    SimulatedProcess unaware = this.world.leader();
    if (done && EDITS.contains(fault) && unaware != null && this.world.draw(2) == 0) {
      this.world.lasts(this.world.now + more);
      unaware.suffer(this.world.draw(2) == 0 ? Fault.PAUSE : Fault.CUT_OFF, more);
      if (fault == Fault.DELETED
          && this.world.draw(2) == 0
          && this.world.now >= this.world.startsFrom) {
        redeploy(unaware);
      }
    }
    if (done) {
      this.world.tally.faults.merge(fault, 1L, Long::sum);
      this.world.tell(fault, "for", Simulation.time(more), this.world.record());
    }
  }

  /** Lets a fault happen to the database or the row, and returns whether it could. */
  boolean befallDatabase(Fault fault) {
    LeaseRow row = this.world.database.row(Sent.SERVICE);
    return switch (fault) {
      case DATABASE_CLOCK_STEPS -> {
        this.world.databaseStep += (this.world.draw(2) == 0 ? 1 : -1)
            * (this.world.draw(20_000) + this.world.draw(2) * 3_600_000L)
            * 1_000;
        yield true;
      }
      case FAILOVER -> row != null && failOver(row);
      case DESIGNATED_BY_SQL ->
        // A node of an older tool takes a row that was handed back, but leaves it marked so.
        !(this.world.company != OlderTool.NONE && row != null && row.isReleased())
            && edit((old) -> SimulatedDatabase.named(old, this.world.someId()));
      case DESIGNATED_AND_BACK ->
        edit((old) -> {
          this.world.after(
              this.world.random.nextLong(Simulation.SECOND),
              () -> edit((later) -> SimulatedDatabase.named(later, old.leaderId())));
          return SimulatedDatabase.named(old, this.world.someId());
        });
      case LEASE_EDITED -> {
        // A lease that was handed back becomes valid again, and a late renewal finds it.
        this.world.termEdited |= row != null && row.isReleased();
        yield edit((old) ->
            SimulatedDatabase.edited(old, old.leaderId(), old.term(), this.world.someLease()));
      }
      case TERM_LOWERED -> {
        this.world.termEdited = true;
        yield edit(this.world.draw(2) == 0 ? this::undone : this::lowered);
      }
      case REPLACED ->
        change(
            this.world.draw(2) == 0
                ? () -> this.world.database.replace(Sent.SERVICE, this.world.someId())
                : this::replaceWordForWord);
      case DELETED -> change(() -> this.world.database.deleteRow(Sent.SERVICE));
      case TABLES_EMPTIED ->
        change(() -> {
          this.world.database.emptyTables();
          this.world.forgetTerms();
          if (this.world.mixed) {
            this.world.startsFrom = this.world.now + 2 * this.world.longestLease;
            this.world.lasts(this.world.startsFrom);
          }
        });
      default -> throw new IllegalArgumentException(fault.name());
    };
  }

  /**
   * Once both tables are empty, only processes that saw the row before know of a lease longer than
   * their own.
   */
  private boolean mayBeEmptied(List<SimulatedProcess> alive) {
    if (!this.world.mixed) {
      return true;
    }
    LeaseRow row = this.world.database.row(Sent.SERVICE);
    Long lease = row != null ? row.leaseMillis() : null;
    return this.world.now > 3 * Simulation.SECOND
        && this.world.lag == 0
        && this.world.late == 0
        && lease != null
        && lease > 0
        && alive.stream()
            .allMatch((process) -> process.candidacy().remembered().promisedMillis() >= lease);
  }

  private @Nullable SimulatedProcess claimant() {
    return this.world.processes.stream()
        .filter((process) -> process.alive && process.candidacy().state() instanceof State.Claimant)
        .findFirst()
        .orElse(null);
  }

  private boolean start(String id, boolean twin, List<SimulatedProcess> alive) {
    long running = alive.stream().filter((process) -> process.id.equals(id)).count();
    if (running > (twin ? 1 : 0) || this.world.now < this.world.startsFrom) {
      return false;
    }
    this.world.startProcess(id);
    return true;
  }

  /**
   * Starts another process with the same name from the state that the original had before its
   * start, or has now.
   */
  private boolean copy(SimulatedProcess original, boolean running, List<SimulatedProcess> alive) {
    long twins =
        alive.stream().filter((process) -> process.id.equals(original.id)).count();
    if (twins > 1
        || this.world.now < this.world.startsFrom
        || running && (original.isStill() || original.stopping || !original.holdsNothing())) {
      return false;
    }
    this.world.startProcess(
        new SimulatedProcess(this.world, original.id, ++this.world.lives, original, running));
    return true;
  }

  /**
   * Fails over to a server that has missed only renewals. No more than that is promised to be
   * survived.
   */
  private boolean failOver(LeaseRow row) {
    List<Snapshot> behind = this.world.server.past().stream()
        .filter((old) -> old.row() != null
            && old.row().leaderId().equals(row.leaderId())
            && old.row().term() == row.term()
            && Objects.equals(old.row().leaseMillis(), row.leaseMillis()))
        .toList();
    return !behind.isEmpty()
        && change(() -> this.world.database.failOver(
            Sent.SERVICE, this.world.draw(2) == 0 ? behind.get(0) : this.world.pick(behind)));
  }

  /** Restarts all processes but one, so that they have seen nothing. */
  private void redeploy(SimulatedProcess spared) {
    for (String id : this.world.ids) {
      this.world.processes.stream()
          .filter((process) -> process.alive && process != spared && process.id.equals(id))
          .toList()
          .forEach(SimulatedProcess::die);
      if (!id.equals(spared.id)) {
        this.world.startProcess(id);
      }
    }
  }

  private boolean edit(UnaryOperator<Row> edit) {
    return this.world.faulty
        && this.world.database.row(Sent.SERVICE) != null
        && change(() -> this.world.database.edit(Sent.SERVICE, edit));
  }

  private boolean change(Runnable change) {
    change.run();
    this.world.server.remember();
    return true;
  }

  /**
   * Runs the same statement each time, with the time in it. The exception is a row whose tables
   * were both emptied since: nothing then distinguishes the new row from the one before, and
   * operators are told not to repeat the statement.
   */
  private void replaceWordForWord() {
    Long lease = this.world.mixed || this.world.draw(2) == 0 ? null : Long.valueOf(5_000);
    this.world.database.replace(Sent.SERVICE, this.world.someId(), lease, this.world.emptied);
  }

  private Row lowered(Row row) {
    return SimulatedDatabase.edited(
        row,
        this.world.draw(2) == 0 ? this.world.someId() : row.leaderId(),
        Math.max(0, row.term() - 1 - this.world.draw(3)),
        row.leaseMillis());
  }

  /** The row as it was before the last take-over. */
  private Row undone(Row row) {
    Map.Entry<Long, MemoryTerm> last =
        this.world.database.history(Sent.SERVICE).lowerEntry(row.term());
    return last == null
        ? lowered(row)
        : SimulatedDatabase.edited(
            row, last.getValue().leaderId(), last.getKey(), row.leaseMillis());
  }
}
