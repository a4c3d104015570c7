package io.election.lease;

import io.election.lease.MemoryLeaseStore.Term;
import io.election.lease.SimulatedDatabase.Snapshot;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.UnaryOperator;
import org.jspecify.annotations.Nullable;

/** The faults and operator commands of a schedule, drawn at random. */
final class Disturbances {

  private static final Set<Fault> LASTING =
      Set.of(Fault.PAUSE, Fault.SUSPEND, Fault.CUT_OFF, Fault.WORK);

  private static final Set<Fault> EDITS = Set.of(
      Fault.DESIGNATED_BY_SQL,
      Fault.REPLACED,
      Fault.DELETED,
      Fault.TABLES_EMPTIED,
      Fault.TERM_LOWERED);

  /** Faults that an older tool does not survive on its own. */
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

  private final Simulation simulation;

  Disturbances(Simulation simulation) {
    this.simulation = simulation;
  }

  void disturbLater(long mean) {
    long pause = (long) (-Math.log(1 - this.simulation.random.nextDouble()) * mean);
    this.simulation.after(pause, () -> {
      if (this.simulation.faulty) {
        disturb();
        disturbLater(mean);
      }
    });
  }

  private void disturb() {
    List<SimulatedProcess> alive =
        this.simulation.processes.stream().filter((process) -> process.alive).toList();
    Fault fault = this.simulation.pick(this.simulation.drive.faults());
    if (this.simulation.without.contains(fault)
        || (this.simulation.company != Company.NONE && NOT_BESIDE_AN_OLDER_TOOL.contains(fault))
        || (this.simulation.copies ? NOT_BESIDE_COPIES.contains(fault) : fault == Fault.COPIED)
        || (fault == Fault.TABLES_EMPTIED && !mayBeEmptied(alive))) {
      return;
    }
    String id = this.simulation.pick(this.simulation.ids);
    SimulatedProcess process = alive.isEmpty() ? null : this.simulation.pick(alive);
    // A fault does most harm if it hits the leader, a process that waits to lead, or a request
    // under way.
    SimulatedProcess prominent =
        this.simulation.draw(2) == 0 ? this.simulation.leader() : warming();
    if (prominent != null && this.simulation.draw(3) > 0) {
      process = prominent;
    }
    long more = this.simulation.random.nextLong(3 * this.simulation.longestLease);
    if (process != null && LASTING.contains(fault)) {
      this.simulation.lasts(this.simulation.now + more);
    }
    LeaseRow row = this.simulation.database.row(Sent.SERVICE);
    boolean done = switch (fault) {
      case RESTART, TWIN -> start(id, fault == Fault.TWIN, alive);
      case RESTORED_AGAIN, COPIED -> process != null && copy(process, fault == Fault.COPIED, alive);
      case DATABASE_STALLS -> stall(more);
      case ROW_LOCKED -> {
        this.simulation.rowFreeAt = this.simulation.now + more;
        this.simulation.lasts(this.simulation.rowFreeAt);
        this.simulation.tell(
            "somebody locks the row until " + Story.time(this.simulation.rowFreeAt));
        yield true;
      }
      case DATABASE_CLOCK_STEPS -> {
        this.simulation.databaseStep += (this.simulation.draw(2) == 0 ? 1 : -1)
            * (this.simulation.draw(20_000) + this.simulation.draw(2) * 3_600_000L)
            * 1_000;
        yield true;
      }
      case FAILOVER -> row != null && failOver(row);
      case DESIGNATED_BY_SQL ->
        isHeldByAnOlderTool(row)
            ? false
            : edit(fault, row, (old) -> copy(old, someId(), old.term(), old.leaseMillis()));
      case DESIGNATED_AND_BACK ->
        edit(fault, row, (old) -> {
          this.simulation.after(
              this.simulation.random.nextLong(Simulation.SECOND),
              () -> edit(
                  fault,
                  this.simulation.database.row(Sent.SERVICE),
                  (later) -> copy(later, old.leaderId(), later.term(), later.leaseMillis())));
          return copy(old, someId(), old.term(), old.leaseMillis());
        });
      case LEASE_EDITED -> {
        // A lease that was handed back becomes valid again, and a late renewal finds it.
        this.simulation.termEdited |= row != null && row.isReleased();
        yield edit(fault, row, (old) -> copy(old, old.leaderId(), old.term(), someLease()));
      }
      case TERM_LOWERED -> {
        this.simulation.termEdited = true;
        yield edit(fault, row, this.simulation.draw(2) == 0 ? this::undone : this::lowered);
      }
      case REPLACED ->
        change(
            this.simulation.draw(2) == 0
                ? () -> this.simulation.database.replace(Sent.SERVICE, someId())
                : this::replaceWordForWord);
      case DELETED -> change(() -> this.simulation.database.deleteRow(Sent.SERVICE));
      case TABLES_EMPTIED ->
        change(() -> {
          this.simulation.database.emptyTables();
          this.simulation.judge.forgetTerms();
          this.simulation.emptied++;
          if (this.simulation.mixed) {
            this.simulation.startsFrom = this.simulation.now + 2 * this.simulation.longestLease;
            this.simulation.lasts(this.simulation.startsFrom);
          }
        });
      default ->
        process != null
            && (this.simulation.draw(2) == 0
                ? process.suffer(fault, more)
                : process.ambush(fault, more));
    };
    SimulatedProcess unaware = this.simulation.leader();
    if (done && EDITS.contains(fault) && unaware != null && this.simulation.draw(2) == 0) {
      this.simulation.lasts(this.simulation.now + more);
      unaware.suffer(this.simulation.draw(2) == 0 ? Fault.PAUSE : Fault.CUT_OFF, more);
      if (fault == Fault.DELETED
          && this.simulation.draw(2) == 0
          && this.simulation.now >= this.simulation.startsFrom) {
        redeploy(unaware);
      }
    }
    if (done) {
      this.simulation.tally.faults.merge(fault, 1L, Long::sum);
      String edit = Story.edit(fault);
      if (edit != null) {
        this.simulation.tell(
            "%s: %s".formatted(edit, Story.row(this.simulation.database.row(Sent.SERVICE))));
      }
    }
  }

  /**
   * Once both tables are empty, only processes that saw the row before know of a lease longer than
   * their own.
   */
  private boolean mayBeEmptied(List<SimulatedProcess> alive) {
    if (!this.simulation.mixed) {
      return true;
    }
    LeaseRow row = this.simulation.database.row(Sent.SERVICE);
    Long lease = row != null ? row.leaseMillis() : null;
    return this.simulation.now > 3 * Simulation.SECOND
        && this.simulation.lag == 0
        && this.simulation.late == 0
        && lease != null
        && lease > 0
        && alive.stream()
            .allMatch((process) ->
                process.service.candidate().candidacy().memory().promisedMillis() >= lease);
  }

  /**
   * A lease that nobody should write by hand. It is never 0, because 0 is a release and works as
   * one.
   */
  private @Nullable Long someLease() {
    return switch (this.simulation.draw(this.simulation.mixed ? 2 : 3)) {
      case 0 -> null;
      case 1 -> -5L;
      default -> 1L + this.simulation.draw(5_000);
    };
  }

  private @Nullable SimulatedProcess warming() {
    return this.simulation.processes.stream()
        .filter((process) -> process.alive
            && process.service.candidate().candidacy().standing() instanceof Standing.Warming)
        .findFirst()
        .orElse(null);
  }

  private boolean start(String id, boolean twin, List<SimulatedProcess> alive) {
    long running = alive.stream().filter((process) -> process.id.equals(id)).count();
    if (running > (twin ? 1 : 0) || this.simulation.now < this.simulation.startsFrom) {
      return false;
    }
    this.simulation.startProcess(id);
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
        || this.simulation.now < this.simulation.startsFrom
        || running && (original.isStill() || original.stopping || original.holds())) {
      return false;
    }
    this.simulation.startProcess(new SimulatedProcess(original, ++this.simulation.lives, running));
    return true;
  }

  /**
   * Fails over to a server that has missed only renewals. No more than that is promised to be
   * survived.
   */
  private boolean failOver(LeaseRow row) {
    List<Snapshot> behind = this.simulation.server.past().stream()
        .filter((old) -> old.row() != null
            && old.row().leaderId().equals(row.leaderId())
            && old.row().term() == row.term()
            && Objects.equals(old.row().leaseMillis(), row.leaseMillis()))
        .toList();
    return !behind.isEmpty()
        && change(() -> this.simulation.database.failOver(
            Sent.SERVICE,
            this.simulation.draw(2) == 0 ? behind.get(0) : this.simulation.pick(behind)));
  }

  /** Restarts all processes but one, so that they have seen nothing. */
  private void redeploy(SimulatedProcess spared) {
    for (String id : this.simulation.ids) {
      this.simulation.processes.stream()
          .filter((process) -> process.alive && process != spared && process.id.equals(id))
          .toList()
          .forEach(SimulatedProcess::die);
      if (!id.equals(spared.id)) {
        this.simulation.startProcess(id);
      }
    }
  }

  private boolean stall(long duration) {
    this.simulation.databaseBackAt = this.simulation.now + duration;
    this.simulation.lasts(this.simulation.databaseBackAt);
    this.simulation.tell("the database hangs until " + Story.time(this.simulation.databaseBackAt));
    return true;
  }

  private boolean edit(Fault fault, @Nullable LeaseRow row, UnaryOperator<LeaseRow> edit) {
    if (row == null || !this.simulation.faulty) {
      return false;
    }
    return change(() -> this.simulation.database.edit(Sent.SERVICE, edit));
  }

  private boolean change(Runnable change) {
    change.run();
    this.simulation.server.remember();
    return true;
  }

  private String someId() {
    // A node of an older tool is never designated: it would believe at once that it leads.
    return switch (this.simulation.draw(8)) {
      case 0 -> "";
      case 1 -> "nobody";
      default -> this.simulation.pick(this.simulation.ids);
    };
  }

  /**
   * Runs the same statement each time, with the time in it. The exception is a row whose tables
   * were both emptied since: nothing then distinguishes the new row from the one before, and
   * operators are told not to repeat the statement.
   */
  private void replaceWordForWord() {
    Long lease = this.simulation.mixed || this.simulation.draw(2) == 0 ? null : Long.valueOf(5_000);
    this.simulation.database.replace(Sent.SERVICE, someId(), lease, this.simulation.emptied);
  }

  private LeaseRow lowered(LeaseRow row) {
    return copy(
        row,
        this.simulation.draw(2) == 0 ? someId() : row.leaderId(),
        Math.max(0, row.term() - 1 - this.simulation.draw(3)),
        row.leaseMillis());
  }

  /** The row as it was before the last take-over. */
  private LeaseRow undone(LeaseRow row) {
    Map.Entry<Long, Term> last =
        this.simulation.database.history(Sent.SERVICE).lowerEntry(row.term());
    return last == null
        ? lowered(row)
        : copy(row, last.getValue().leaderId(), last.getKey(), row.leaseMillis());
  }

  /**
   * A node of an older tool takes a row that was handed back, but leaves it marked as handed back.
   */
  private boolean isHeldByAnOlderTool(@Nullable LeaseRow row) {
    return this.simulation.company != Company.NONE && row != null && row.isReleased();
  }

  private static LeaseRow copy(
      LeaseRow row, String leaderId, long term, @Nullable Long leaseMillis) {
    return new LeaseRow(
        leaderId,
        term,
        row.version(),
        leaseMillis,
        row.lastTermLeaseMillis(),
        row.lastActiveTime(),
        row.source());
  }
}
