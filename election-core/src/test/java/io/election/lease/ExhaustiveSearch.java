package io.election.lease;

import io.election.lease.SimulatedDatabase.Snapshot;
import io.election.lease.Standing.Following;
import io.election.lease.Standing.Leading;
import io.election.lease.Standing.SteppingDown;
import io.election.lease.Standing.Warming;
import io.election.lease.Step.Await;
import io.election.lease.Step.Create;
import io.election.lease.Step.GiveWay;
import io.election.lease.Step.KeepWarm;
import io.election.lease.Step.Lead;
import io.election.lease.Step.Read;
import io.election.lease.Step.Release;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Take;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.jspecify.annotations.Nullable;

/**
 * Visits every state that a few nodes can reach within bounds, breadth first, so that the trace of
 * a broken promise is a shortest one.
 *
 * <p>Time advances in ticks. Within a tick the nodes may do any number of things in any order, and
 * a node may do nothing for any length of time, as if paused. A request is sent, executed and
 * answered in separate steps. The request or its answer may be lost. A request that its sender has
 * given up may still be executed at any later time.
 *
 * <p>States that differ only in ways that no rule can distinguish count as one: instants are
 * relative to now and capped at the longest lease, and versions are compared only for equality. For
 * each visited state a hash of 128 bits is kept.
 */
final class ExhaustiveSearch {

  /**
   * The bounds of a search.
   *
   * @param ids the node of each process; equal for twins
   * @param leases the lease of each process, in ticks; 2 or more
   * @param maxTerm the highest term that is granted
   * @param maxStates the number of states at which the search ends
   * @param late how many requests of a process may be under way after it has given them up: 0 or 1
   * @param crashes how many processes may die and restart
   * @param commands how often a node may be told to step down, to hand over, or to pause; a paused
   *     node may be resumed at any time
   * @param edits how often an operator may change the row
   * @param everyEdit whether operators also delete and replace the row, rather than only update it
   * @param emptying whether operators empty both tables
   */
  record Bounds(
      List<String> ids,
      List<Integer> leases,
      int maxTerm,
      int maxStates,
      int late,
      int crashes,
      int commands,
      int edits,
      boolean everyEdit,
      boolean emptying) {

    Bounds upTo(int states) {
      return new Bounds(
          this.ids,
          this.leases,
          this.maxTerm,
          states,
          this.late,
          this.crashes,
          this.commands,
          this.edits,
          this.everyEdit,
          this.emptying);
    }
  }

  /**
   * The result of a search.
   *
   * @param states how many states were visited
   * @param complete whether all states within the bounds were visited
   * @param moves every state that can be reached in this number of moves was visited
   * @param led the number of visited states in which some process leads
   * @param broken the promise that is broken, and how; {@code null} if none is
   */
  record Result(
      int states,
      boolean complete,
      int moves,
      int led,
      @Nullable String broken) {}

  private static final long TICK = Duration.ofMillis(10).toNanos();

  private static final Object NOTHING = new Object();

  /** A request under way; {@code outcome} is {@code NOTHING} until it has been executed. */
  private record Pending(Sent call, Object outcome) {}

  /**
   * A request that its sender has given up and that is still under way.
   *
   * @param life the life of its process in which it was sent
   */
  private record Late(Sent call, int life) {}

  /**
   * A process.
   *
   * @param life how often it has died
   */
  private record Part(
      Candidacy candidacy,
      @Nullable Pending pending,
      @Nullable Late late,
      int life) {

    Part after(Candidacy candidacy) {
      return new Part(candidacy, this.pending, this.late, this.life);
    }

    Part sending(Candidacy candidacy, @Nullable Pending pending) {
      return new Part(candidacy, pending, this.late, this.life);
    }

    Part givingUp(Candidacy candidacy, Sent late) {
      return new Part(candidacy, null, new Late(late, this.life), this.life);
    }

    Part begun(Candidacy candidacy, @Nullable Late late) {
      return new Part(candidacy, null, late, this.life + 1);
    }
  }

  private record World(
      long tick,
      Snapshot tables,
      List<Part> parts,
      int crashes,
      int commands,
      int edits,
      long granted,
      boolean termBroken) {

    World with(int index, Part part) {
      return with(this.tables, this.granted, this.termBroken, index, part);
    }

    World with(Snapshot tables, long granted, boolean termBroken, int index, Part part) {
      List<Part> parts = new ArrayList<>(this.parts);
      parts.set(index, part);
      return new World(
          this.tick, tables, parts, this.crashes, this.commands, this.edits, granted, termBroken);
    }

    World after(int crashes, int commands, int edits) {
      return new World(
          this.tick,
          this.tables,
          this.parts,
          this.crashes + crashes,
          this.commands + commands,
          this.edits + edits,
          this.granted,
          this.termBroken);
    }
  }

  /** Receives each next state, with the move that leads to it. */
  @FunctionalInterface
  private interface Visitor {
    void visit(World next, String format, Object... arguments);
  }

  private final Bounds bounds;

  private final Rules rules;

  private final SimulatedDatabase database = new SimulatedDatabase();

  /** By token, the access of each life of each process. */
  private final Map<String, Rules.Access> accesses = new HashMap<>();

  private final List<Candidacy.Node> nodes = new ArrayList<>();

  private final List<String> names = new ArrayList<>();

  private final int longest;

  private final int livenessEvery;

  private final Encoder encoder = new Encoder();

  private final Visited visited = new Visited();

  ExhaustiveSearch(Bounds bounds, Rules rules, int livenessEvery) {
    this.bounds = bounds;
    this.rules = rules;
    this.livenessEvery = livenessEvery;
    this.longest = bounds.leases().stream().mapToInt(Integer::intValue).max().orElseThrow();
    for (int i = 0; i < bounds.ids().size(); i++) {
      long lease = bounds.leases().get(i) * TICK;
      this.nodes.add(new Candidacy.Node(
          bounds.ids().get(i),
          new LeaseSettings(
              Duration.ofNanos(lease),
              Duration.ofNanos(Math.min(TICK, lease * 3 / 10)),
              Duration.ofNanos(lease * 3 / 10),
              Duration.ofNanos(TICK),
              true)));
      this.names.add(bounds.ids().get(i) + (i + 1));
    }
  }

  Result run() {
    ArrayDeque<World> frontier = new ArrayDeque<>();
    World first = initial();
    this.visited.add(first, -1, 0);
    frontier.add(first);
    int[] led = new int[1];
    String[] broken = new String[1];
    int expanded = 0;
    int moves = 0;
    int lastOfLevel = 0;
    while (!frontier.isEmpty()
        && broken[0] == null
        && this.visited.size < this.bounds.maxStates()) {
      World world = frontier.remove();
      int index = expanded++;
      if (leaders(world) > 0) {
        led[0]++;
      } else if (index % this.livenessEvery == 0 && !leads(world)) {
        broken[0] = "No leader follows though all is well" + trace(index, world);
        break;
      }
      if (index > lastOfLevel) {
        moves++;
        lastOfLevel = this.visited.size - 1;
      }
      int[] move = new int[1];
      expand(world, (next, format, arguments) -> {
        int number = move[0]++;
        if (broken[0] != null || !this.visited.add(next, index, number)) {
          return;
        }
        frontier.add(next);
        if (next.termBroken()) {
          broken[0] =
              "A term was granted that is not above the last" + trace(this.visited.size - 1, next);
        } else if (leaders(next) > 1) {
          broken[0] = "Two leaders" + trace(this.visited.size - 1, next);
        }
      });
    }
    return new Result(this.visited.size, frontier.isEmpty(), moves, led[0], broken[0]);
  }

  private String token(int i, int life) {
    return this.names.get(i) + "/" + life;
  }

  private Rules.Access access(int i, int life) {
    return this.accesses.computeIfAbsent(
        token(i, life), (token) -> Rules.Access.of(this.database, token));
  }

  private World initial() {
    this.database.restore(Sent.SERVICE, new Snapshot(null, null, 0, null, 0));
    List<Part> parts = this.nodes.stream()
        .map((node) -> new Part(Candidacy.start(node, 0), null, null, 0))
        .toList();
    return new World(0, this.database.snapshot(Sent.SERVICE), parts, 0, 0, 0, 0, false);
  }

  private static long nanos(World world) {
    return world.tick() * TICK;
  }

  private static long wall(World world) {
    return world.tick() * TICK / 1_000_000;
  }

  private int leaders(World world) {
    int leaders = 0;
    for (Part part : world.parts()) {
      if (this.rules.leads(part.candidacy(), nanos(world), wall(world))) {
        leaders++;
      }
    }
    return leaders;
  }

  // ---- the possible moves

  private void expand(World world, Visitor visitor) {
    for (int i = 0; i < world.parts().size(); i++) {
      Part part = world.parts().get(i);
      if (part.pending() == null) {
        decide(world, i, part, visitor);
      } else {
        goOn(world, i, part, part.pending(), visitor);
      }
      if (part.late() != null) {
        executeLate(world, i, part, part.late(), visitor);
      }
      command(world, i, part, visitor);
    }
    edit(world, visitor);
    visitor.visit(
        new World(
            world.tick() + 1,
            world.tables(),
            world.parts(),
            world.crashes(),
            world.commands(),
            world.edits(),
            world.granted(),
            false),
        "a tick passes");
  }

  private void decide(World world, int i, Part part, Visitor visitor) {
    long now = nanos(world);
    Candidacy candidacy = part.candidacy().at(now, wall(world));
    Step step = this.rules.next(candidacy, now, false);
    send(world, i, part, candidacy, step, visitor);
    if (candidacy.standing() instanceof SteppingDown) {
      Step working = this.rules.next(candidacy, now, true);
      if (!working.equals(step)) {
        send(world, i, part, candidacy, working, visitor);
      }
    }
  }

  private void send(
      World world, int i, Part part, Candidacy candidacy, Step step, Visitor visitor) {
    if (!(step instanceof Await)) {
      Sent call = Sent.by(candidacy, step, nanos(world), wall(world));
      visitor.visit(
          world.with(i, part.sending(candidacy, new Pending(call, NOTHING))),
          "%s sends %s",
          this.names.get(i),
          step);
    }
  }

  private void goOn(World world, int i, Part part, Pending pending, Visitor visitor) {
    long now = nanos(world);
    Sent call = pending.call();
    String name = this.names.get(i);
    Candidacy candidacy = part.candidacy().at(now, wall(world));
    boolean executed = pending.outcome() != NOTHING;
    if (executed) {
      Timing timing = call.answered(now, wall(world));
      visitor.visit(
          world.with(
              i,
              part.sending(
                  this.rules.answered(candidacy, call.step(), pending.outcome(), timing), null)),
          "%s is answered %s",
          name,
          pending.outcome());
    } else {
      execute(world, i, part, call, null, visitor);
    }
    Candidacy failed = this.rules.failed(candidacy, call.step(), now);
    visitor.visit(
        world.with(i, part.sending(failed, null)),
        executed ? "%s gives up; the answer is lost" : "%s gives up; the request is lost",
        name);
    if (!executed && isWrite(call) && part.late() == null && this.bounds.late() > 0) {
      visitor.visit(
          world.with(i, part.givingUp(failed, call)),
          "%s gives up; the request is still on its way",
          name);
    }
  }

  private void executeLate(World world, int i, Part part, Late late, Visitor visitor) {
    execute(world, i, part, late.call(), late, visitor);
  }

  private void execute(
      World world, int i, Part part, Sent call, @Nullable Late late, Visitor visitor) {
    this.database.restore(Sent.SERVICE, world.tables());
    Object outcome;
    try {
      outcome = this.rules.execute(call, access(i, late != null ? late.life() : part.life()));
    } catch (LeaseStoreException ex) {
      throw new IllegalStateException(ex);
    }
    Snapshot tables = this.database.snapshot(Sent.SERVICE);
    if (tables.newestTerm() > this.bounds.maxTerm()) {
      return;
    }
    long granted = world.granted();
    boolean broken = false;
    long term = call.step() instanceof Take
        ? ((OptionalLong) outcome).orElse(-1)
        : call.step() instanceof Lead lead && (boolean) outcome ? lead.row().term() : -1;
    if (term >= 0) {
      broken = term <= granted;
      granted = Math.max(granted, term);
    }
    Part after = late != null
        ? new Part(part.candidacy(), part.pending(), null, part.life())
        : part.sending(part.candidacy(), new Pending(call, outcome));
    visitor.visit(
        world.with(tables, granted, broken, i, after),
        late != null
            ? "a late request of %s is executed: %s -> %s"
            : "%s's request is executed: %s -> %s",
        this.names.get(i),
        call.step(),
        outcome);
  }

  private static boolean isWrite(Sent call) {
    return !(call.step() instanceof Read);
  }

  private void command(World world, int i, Part part, Visitor visitor) {
    long now = nanos(world);
    String name = this.names.get(i);
    if (world.crashes() < this.bounds.crashes()) {
      Candidacy fresh = Candidacy.start(this.nodes.get(i), now);
      visitor.visit(
          world.after(1, 0, 0).with(i, part.begun(fresh, part.late())),
          "%s is killed and starts",
          name);
      Pending pending = part.pending();
      if (pending != null
          && pending.outcome() == NOTHING
          && isWrite(pending.call())
          && part.late() == null
          && this.bounds.late() > 0) {
        visitor.visit(
            world.after(1, 0, 0).with(i, part.begun(fresh, new Late(pending.call(), part.life()))),
            "%s is killed and starts; its request is still on its way",
            name);
      }
    }
    if (part.candidacy().memory().paused() != null) {
      Candidacy resumed = part.candidacy().at(now, wall(world)).resume(now);
      visitor.visit(world.with(i, part.after(resumed)), "%s is resumed by an operator", name);
    }
    if (world.commands() < this.bounds.commands()) {
      Candidacy candidacy = part.candidacy().at(now, wall(world));
      visitor.visit(
          world.after(0, 1, 0).with(i, part.after(this.rules.resigned(candidacy, now))),
          "%s is told to step down",
          name);
      if (candidacy.memory().paused() == null) {
        visitor.visit(
            world.after(0, 1, 0).with(i, part.after(this.rules.paused(candidacy, now))),
            "%s is paused by an operator",
            name);
      }
      if (candidacy.standing() instanceof Leading) {
        String other = this.bounds.ids().get((i + 1) % this.bounds.ids().size());
        visitor.visit(
            world.after(0, 1, 0).with(i, part.after(candidacy.handOver(other, null, now))),
            "%s is told to hand over to %s",
            name,
            other);
      }
    }
  }

  private void edit(World world, Visitor visitor) {
    if (world.edits() >= this.bounds.edits()) {
      return;
    }
    LeaseRow row = world.tables().row();
    for (String id : this.bounds.ids().stream().distinct().toList()) {
      if (row != null && !row.leaderId().equals(id)) {
        edited(
            world,
            () -> this.database.edit(
                Sent.SERVICE,
                (old) -> new LeaseRow(
                    id,
                    old.term(),
                    old.version(),
                    old.leaseMillis(),
                    old.lastTermLeaseMillis(),
                    old.lastActiveTime(),
                    old.source())),
            visitor,
            "an operator writes %s into the row",
            id);
      }
      if (this.bounds.everyEdit()) {
        edited(
            world,
            () -> this.database.replace(Sent.SERVICE, id),
            visitor,
            "an operator replaces the row by one of %s",
            id);
      }
    }
    if (this.bounds.everyEdit() && row != null) {
      edited(
          world,
          () -> this.database.deleteRow(Sent.SERVICE),
          visitor,
          "an operator deletes the row");
    }
    if (this.bounds.emptying()) {
      edited(world, this.database::emptyTables, visitor, "an operator empties both tables");
    }
  }

  private void edited(
      World world, Runnable edit, Visitor visitor, String format, Object... arguments) {
    this.database.restore(Sent.SERVICE, world.tables());
    edit.run();
    Snapshot tables = this.database.snapshot(Sent.SERVICE);
    visitor.visit(
        new World(
            world.tick(),
            tables,
            world.parts(),
            world.crashes(),
            world.commands(),
            world.edits() + 1,
            tables.newestTerm() == 0 ? 0 : world.granted(),
            false),
        format,
        arguments);
  }

  // ---- life

  /**
   * Whether a process leads soon if nothing fails any more, no process is paused, and all take
   * turns.
   */
  private boolean leads(World world) {
    this.database.restore(Sent.SERVICE, world.tables());
    List<Candidacy> candidacies = new ArrayList<>();
    for (Part part : world.parts()) {
      Pending pending = part.pending();
      candidacies.add(
          pending == null
              ? part.candidacy()
              : this.rules.failed(
                  part.candidacy().at(nanos(world), wall(world)),
                  pending.call().step(),
                  nanos(world)));
    }
    candidacies.replaceAll((candidacy) -> candidacy.resume(nanos(world)));
    long end = world.tick() + 2L * this.longest + 4;
    for (long tick = world.tick(); tick <= end; tick++) {
      long now = tick * TICK;
      long wall = now / 1_000_000;
      for (int i = 0; i < candidacies.size(); i++) {
        Candidacy candidacy = candidacies.get(i).at(now, wall);
        Step step = this.rules.next(candidacy, now, false);
        for (int turn = 0; turn < 8 && !(step instanceof Await); turn++) {
          Sent call = Sent.by(candidacy, step, now, wall);
          try {
            candidacy = this.rules.answered(
                candidacy,
                step,
                this.rules.execute(call, access(i, world.parts().get(i).life())),
                new Timing(now, wall, now, wall));
          } catch (LeaseStoreException ex) {
            throw new IllegalStateException(ex);
          }
          step = this.rules.next(candidacy, now, false);
        }
        candidacies.set(i, candidacy);
        if (this.rules.leads(candidacy, now, wall)) {
          return true;
        }
      }
    }
    return false;
  }

  // ---- the trace of a broken promise

  private String trace(int index, World last) {
    List<Integer> moves = new ArrayList<>();
    for (int at = index; this.visited.parents[at] >= 0; at = this.visited.parents[at]) {
      moves.add(0, (int) this.visited.moves[at]);
    }
    StringBuilder text = new StringBuilder(":%n".formatted());
    World[] world = {initial()};
    for (int wanted : moves) {
      World before = world[0];
      int[] number = new int[1];
      expand(before, (next, format, arguments) -> {
        if (number[0]++ == wanted) {
          text.append("  tick %2d  %s%n".formatted(before.tick(), format.formatted(arguments)));
          world[0] = next;
        }
      });
    }
    text.append("  tick %2d  the row: %s%n".formatted(last.tick(), last.tables().row()));
    for (int i = 0; i < last.parts().size(); i++) {
      text.append("           %s: %s%n"
          .formatted(this.names.get(i), last.parts().get(i).candidacy().standing()));
    }
    return text.toString();
  }

  // ---- which states count as one

  /** Encodes the parts of a state that can make a difference. */
  private final class Encoder {

    private final List<String> written = new ArrayList<>();

    private long now;

    private long version;

    private long first;

    private long second;

    private void put(long value) {
      this.first = (this.first ^ value) * 0x9E3779B97F4A7C15L;
      this.first ^= this.first >>> 29;
      this.second = (this.second + value + 0x632BE59BD9B4E019L) * 0xD6E8FEB86659FD93L;
      this.second ^= this.second >>> 32;
    }

    void encode(World world) {
      this.first = 1;
      this.second = 2;
      this.written.clear();
      this.now = nanos(world);
      LeaseRow current = world.tables().row();
      this.version = current != null ? current.version() : 0;
      row(current);
      owner(world);
      put(world.tables().newestTerm());
      put(world.tables().newest() != null ? world.tables().newest().leaseMillis() : -1);
      put(world.crashes());
      put(world.commands());
      put(world.edits());
      put(world.granted());
      for (int i = 0; i < world.parts().size(); i++) {
        Part part = world.parts().get(i);
        candidacy(part.candidacy());
        put(part.candidacy().memory().ledHighest() && seesItsSeal(world, i, part) ? 1 : 0);
        Pending pending = part.pending();
        if (pending == null) {
          put(-7);
        } else {
          call(pending.call(), part.candidacy());
          outcome(pending.outcome());
        }
        if (part.late() == null) {
          put(-8);
        } else {
          call(part.late().call(), part.candidacy());
          put(part.life() - part.late().life());
        }
      }
    }

    private void row(@Nullable LeaseRow row) {
      if (row == null) {
        put(-1);
        return;
      }
      id(row.leaderId());
      put(row.term());
      put(row.leaseMillis() == null ? -2 : row.leaseMillis());
      put(row.lastTermLeaseMillis() == null ? -3 : row.lastTermLeaseMillis());
      put(row.lastTerm() == null ? -4 : row.lastTerm());
      put(row.own() ? 1 : 0);
      int known = this.written.indexOf(row.lastActiveTime());
      if (known < 0) {
        known = this.written.size();
        this.written.add(row.lastActiveTime());
      }
      put(known);
      if (ExhaustiveSearch.this.rules.comparesVersions()) {
        put(row.version() - this.version);
      }
    }

    /**
     * Whether the process sees its own seal, or may see it later. If not, only a new term of its
     * own brings a seal, and with that term the process records again that it led: unless the
     * tables are emptied, terms do not come back.
     */
    private boolean seesItsSeal(World world, int i, Part part) {
      Observation seen = part.candidacy().seen();
      Pending pending = part.pending();
      LeaseRow answer = pending != null && pending.outcome() instanceof Optional<?>
          ? Rules.row(pending.outcome())
          : null;
      long led = part.candidacy().memory().ledTerm();
      LeaseRow row = world.tables().row();
      boolean owns = token(i, part.life()).equals(world.tables().owner());
      return ExhaustiveSearch.this.bounds.emptying()
          || (owns && row != null && row.term() == led)
          || (seen != null && isOwnIn(led, seen.row()))
          || isOwnIn(led, answer);
    }

    private static boolean isOwnIn(long term, @Nullable LeaseRow row) {
      return row != null && row.own() && row.term() == term;
    }

    /** The seal of a life that has ended does not count. */
    private void owner(World world) {
      String owner = world.tables().owner();
      int found = -1;
      for (int i = 0; owner != null && i < world.parts().size(); i++) {
        if (owner.equals(token(i, world.parts().get(i).life()))) {
          found = i;
        }
      }
      put(found);
      put(world.tables().sealed() ? 1 : 0);
    }

    private void id(String id) {
      put(id.isEmpty() ? 99 : ExhaustiveSearch.this.bounds.ids().indexOf(id));
    }

    private void age(long since, long limit) {
      put(Math.min((this.now - since) / TICK, limit / TICK));
    }

    /** The longest time for which a row is watched. */
    private long promised(@Nullable LeaseRow row, Candidacy candidacy) {
      long own = candidacy.node().settings().leaseDuration().toMillis();
      long seen = candidacy.memory().promisedMillis();
      return 1_000_000
          * (row == null
              ? 0
              : row.tellsPromise()
                  ? row.promisedMillis(own)
                  : Math.max(row.promisedMillis(own), seen));
    }

    private void ahead(long instant) {
      put(instant <= this.now ? 0 : (instant - this.now + TICK - 1) / TICK);
    }

    private void candidacy(Candidacy candidacy) {
      Memory memory = candidacy.memory();
      put(memory.highestTerm());
      put(memory.promisedMillis());
      put((memory.watchOnly() ? 1 : 0) + (memory.paused() != null ? 2 : 0));
      Long aside = memory.asideUntil();
      ahead(aside == null ? this.now : aside);
      standing(candidacy.standing(), candidacy);
      ahead(candidacy.dueAt());
      Observation seen = candidacy.seen();
      if (seen == null) {
        put(-4);
      } else {
        row(seen.row());
        age(seen.since(), promised(seen.row(), candidacy));
        put(seen.stale() ? 1 : 0);
      }
    }

    private void standing(Standing standing, Candidacy candidacy) {
      if (standing instanceof Following) {
        put(11);
      } else if (standing instanceof Warming warming) {
        put(12);
        row(warming.row());
        age(warming.since(), promised(warming.row(), candidacy));
        put(warming.created() ? 1 : 0);
      } else if (standing instanceof Leading leading) {
        put(13);
        put(leading.term());
        ahead(leading.deadline());
      } else if (standing instanceof SteppingDown down) {
        put(14);
        put(down.term());
        ahead(down.deadline());
        ahead(down.drainUntil());
        ahead(down.retryAt());
        id(down.successor());
        put(down.displaced() ? 1 : 0);
        put(down.patient() ? 1 : 0);
      }
    }

    private void call(Sent call, Candidacy candidacy) {
      Step step = call.step();
      if (step instanceof Renew || step instanceof Lead || step instanceof Take) {
        age(call.at(), candidacy.node().settings().leaseDuration().toNanos());
      }
      if (step instanceof Create || step instanceof Take) {
        put(call.caller().highestTerm());
      }
      if (step instanceof Read) {
        put(21);
      } else if (step instanceof Renew renew) {
        put(22);
        put(renew.term());
      } else if (step instanceof Create) {
        put(23);
      } else if (step instanceof KeepWarm keepWarm) {
        put(24);
        row(keepWarm.row());
        age(keepWarm.since(), promised(keepWarm.row(), candidacy));
      } else if (step instanceof Lead lead) {
        put(25);
        row(lead.row());
      } else if (step instanceof Take take) {
        put(26);
        row(take.row());
      } else if (step instanceof Release release) {
        put(27);
        put(release.term());
        id(release.successor());
      } else if (step instanceof GiveWay giveWay) {
        put(28);
        put(giveWay.term());
      }
    }

    private void outcome(Object outcome) {
      if (outcome == NOTHING) {
        put(31);
      } else if (outcome instanceof Boolean done) {
        put(done ? 32 : 33);
      } else if (outcome instanceof OptionalLong term) {
        put(34);
        put(term.orElse(-1));
      } else if (outcome instanceof Optional<?>) {
        put(35);
        row(Rules.row(outcome));
      }
    }
  }

  /** The states found, in order, with the move by which each was reached first. */
  private final class Visited {

    int size;

    int[] parents = new int[1 << 16];

    short[] moves = new short[1 << 16];

    private long[] first = new long[1 << 16];

    private long[] second = new long[1 << 16];

    /** A hash table with open addressing; an entry is the number of a state + 1. */
    private int[] table = new int[1 << 18];

    boolean add(World world, int parent, int move) {
      Encoder encoder = ExhaustiveSearch.this.encoder;
      encoder.encode(world);
      int slot = slot(encoder.first, encoder.second);
      if (this.table[slot] != 0) {
        return false;
      }
      if (this.size == this.parents.length) {
        this.parents = Arrays.copyOf(this.parents, this.size * 2);
        this.moves = Arrays.copyOf(this.moves, this.size * 2);
        this.first = Arrays.copyOf(this.first, this.size * 2);
        this.second = Arrays.copyOf(this.second, this.size * 2);
      }
      this.parents[this.size] = parent;
      this.moves[this.size] = (short) move;
      this.first[this.size] = encoder.first;
      this.second[this.size] = encoder.second;
      this.table[slot] = ++this.size;
      if (this.size > this.table.length / 2) {
        this.table = new int[this.table.length * 2];
        for (int i = 0; i < this.size; i++) {
          this.table[slot(this.first[i], this.second[i])] = i + 1;
        }
      }
      return true;
    }

    private int slot(long first, long second) {
      int slot = (int) (first ^ (second >>> 17)) & (this.table.length - 1);
      while (this.table[slot] != 0
          && (this.first[this.table[slot] - 1] != first
              || this.second[this.table[slot] - 1] != second)) {
        slot = (slot + 1) & (this.table.length - 1);
      }
      return slot;
    }
  }
}
