package io.election.lease;

import io.election.lease.State.Claimant;
import io.election.lease.State.Draining;
import io.election.lease.State.Follower;
import io.election.lease.State.Leader;
import io.election.lease.Step.Acquire;
import io.election.lease.Step.Cede;
import io.election.lease.Step.Create;
import io.election.lease.Step.Read;
import io.election.lease.Step.Release;
import io.election.lease.Step.Renew;
import io.election.lease.Step.Touch;
import io.election.lease.Step.Wait;
import io.election.store.JointMutant;
import io.election.store.LeaseRow;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore.Reading;
import io.election.store.LeaseStoreException;
import io.election.store.MemoryLeaseStore.Version;
import io.election.store.SimulatedDatabase;
import io.election.store.SimulatedDatabase.Snapshot;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * Visits every state that a few nodes can reach within bounds, breadth first, so that the trace of
 * a broken promise is a shortest one.
 *
 * <p>Time advances in ticks. Within a tick the nodes may do any number of things in any order, and
 * a node may do nothing for any length of time, as if paused. A request is sent, executed and
 * answered in separate steps. The request or its answer may be lost. A request that its sender has
 * given up may still be executed at any later time. For nodes on lists all this is true of each call
 * to a part, and the first node leads when the search begins.
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
   * @param late how many requests of a process may be under way after it has given them up: 0 or 1
   * @param crashes how many processes may die and restart
   * @param commands how often a node may be told to step down, to hand over, or to pause; a paused
   *     node may be resumed at any time
   * @param edits how often an operator may change the row
   * @param everyEdit whether operators also delete and replace the row, rather than only update it
   * @param emptying whether operators empty both tables
   * @param precedence whether a precedence or a condition may keep nodes from standing
   */
  record Bounds(
      List<String> ids,
      List<Integer> leases,
      int maxTerm,
      int late,
      int crashes,
      int commands,
      int edits,
      boolean everyEdit,
      boolean emptying,
      boolean precedence) {

    Bounds(
        List<String> ids,
        List<Integer> leases,
        int maxTerm,
        int late,
        int crashes,
        int commands,
        int edits,
        boolean everyEdit,
        boolean emptying) {
      this(ids, leases, maxTerm, late, crashes, commands, edits, everyEdit, emptying, false);
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

  /**
   * A request under way; {@code outcome} is {@code NOTHING} until it has been executed. A request to
   * a list has the answers of some parts until then.
   */
  private record Pending(Sent call, Object outcome, List<Object> answers) {

    Pending(Sent call, Object outcome) {
      this(call, outcome, List.of());
    }

    boolean mayBeLate() {
      return this.outcome == NOTHING && !(this.call.step() instanceof Read);
    }
  }

  /**
   * A request that its sender has given up in one of its lives, and that is still under way.
   *
   * @param call a {@link Sent}, or a {@link PartByPart.Call} to a part of a list
   */
  private record Late(Object call, int life) {}

  /** A process, and how often it has died. */
  private record Part(
      Candidacy candidacy,
      @Nullable Pending pending,
      @Nullable Late late,
      int life) {

    Part after(Candidacy candidacy) {
      return sending(candidacy, this.pending);
    }

    Part sending(Candidacy candidacy, @Nullable Pending pending) {
      return new Part(candidacy, pending, this.late, this.life);
    }

    Part givingUp(Candidacy candidacy, @Nullable Pending pending, Object late) {
      return new Part(candidacy, pending, new Late(late, this.life), this.life);
    }

    Part begun(Candidacy candidacy, @Nullable Late late) {
      return new Part(candidacy, null, late, this.life + 1);
    }
  }

  private record Spent(int crashes, int commands, int edits) {}

  private record World(
      long tick,
      List<Snapshot> tables,
      List<Part> parts,
      Spent spent,
      long granted,
      boolean termBroken) {

    long now() {
      return this.tick * TICK;
    }

    long wall() {
      return now() / 1_000_000;
    }

    Candidacy candidacy(Part part) {
      return part.candidacy().at(new Clocks.Reading(now(), wall(), 0));
    }

    World with(int index, Part part) {
      List<Part> parts = new ArrayList<>(this.parts);
      parts.set(index, part);
      return new World(this.tick, this.tables, parts, this.spent, this.granted, this.termBroken);
    }

    World with(List<Snapshot> tables, long granted, boolean termBroken) {
      return new World(this.tick, tables, this.parts, this.spent, granted, termBroken);
    }

    World spending(int crashes, int commands, int edits) {
      Spent spent = new Spent(
          this.spent.crashes() + crashes,
          this.spent.commands() + commands,
          this.spent.edits() + edits);
      return new World(this.tick, this.tables, this.parts, spent, this.granted, this.termBroken);
    }

    World ticked() {
      return new World(this.tick + 1, this.tables, this.parts, this.spent, this.granted, false);
    }
  }

  @FunctionalInterface
  private interface Visitor {
    void visit(World next, String format, Object... arguments);
  }

  private final Bounds bounds;

  private final Rules rules;

  /** The only database, or that of each part of the lists. */
  private final List<SimulatedDatabase> databases;

  /** The nodes on lists; {@code null} if all are on the only database. */
  private final @Nullable PartByPart lists;

  /** By token, the access of each life of each process. */
  private final Map<String, Rules.Access> accesses = new HashMap<>();

  private final List<Node> nodes = new ArrayList<>();

  private final List<String> names = new ArrayList<>();

  private final int livenessEvery;

  private final Encoder encoder = new Encoder();

  private final Set<Fingerprint> visited = new HashSet<>();

  private final List<Origin> origins = new ArrayList<>();

  private @Nullable String broken;

  ExhaustiveSearch(Bounds bounds, Rules rules, int livenessEvery) {
    this(bounds, rules, livenessEvery, null);
  }

  /** A search of nodes on lists, by the names of their parts. */
  ExhaustiveSearch(Bounds bounds, int livenessEvery, List<String> lists, JointMutant mutant) {
    this(bounds, Rules.PRODUCTION, livenessEvery, new PartByPart(lists, mutant));
  }

  private ExhaustiveSearch(
      Bounds bounds, Rules rules, int livenessEvery, @Nullable PartByPart lists) {
    this.lists = lists;
    this.databases = lists != null ? lists.databases() : List.of(new SimulatedDatabase());
    this.bounds = bounds;
    this.rules = rules;
    this.livenessEvery = livenessEvery;
    for (int i = 0; i < bounds.ids().size(); i++) {
      long lease = bounds.leases().get(i) * TICK;
      this.nodes.add(new Node(
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

  /** Searches until all states are visited or a promise is broken, but only so many states. */
  Result run(int maxStates) {
    ArrayDeque<World> frontier = new ArrayDeque<>();
    World first = initial();
    isNew(first, -1, 0);
    frontier.add(first);
    int led = 0;
    int expanded = 0;
    int moves = 0;
    int lastOfLevel = 0;
    while (!frontier.isEmpty() && this.broken == null && this.origins.size() < maxStates) {
      World world = frontier.remove();
      int index = expanded++;
      if (leaders(world) > 0) {
        led++;
      } else if (index % this.livenessEvery == 0 && !leads(world)) {
        this.broken = "No leader follows though all is well" + trace(index, world);
        break;
      }
      if (index > lastOfLevel) {
        moves++;
        lastOfLevel = this.origins.size() - 1;
      }
      int[] move = new int[1];
      expand(world, (next, format, arguments) -> {
        int number = move[0]++;
        if (this.broken == null && isNew(next, index, number)) {
          frontier.add(next);
          judge(next);
        }
      });
    }
    return new Result(this.origins.size(), frontier.isEmpty(), moves, led, this.broken);
  }

  private void judge(World world) {
    if (world.termBroken() || leaders(world) > 1) {
      String broken =
          world.termBroken() ? "A term was granted that is not above the last" : "Two leaders";
      this.broken = broken + trace(this.origins.size() - 1, world);
    }
  }

  private boolean isNew(World world, int parent, int move) {
    boolean isNew = this.visited.add(this.encoder.encode(world));
    if (isNew) {
      this.origins.add(new Origin(parent, move));
    }
    return isNew;
  }

  private String token(int i, int life) {
    return this.names.get(i) + "/" + life;
  }

  private Object executed(Sent call, int i, int life) {
    try {
      return this.lists != null
          ? this.lists.execute(call, i, this.nodes.get(i), token(i, life))
          : this.rules.execute(
              call,
              this.accesses.computeIfAbsent(
                  token(i, life), (token) -> Rules.Access.of(this.databases.get(0), token)));
    } catch (LeaseStoreException ex) {
      throw new IllegalStateException(ex);
    }
  }

  private void restore(List<Snapshot> tables) {
    for (int i = 0; i < tables.size(); i++) {
      this.databases.get(i).restore(Sent.SERVICE, tables.get(i));
    }
  }

  private List<Snapshot> snapshots() {
    return this.databases.stream()
        .map((database) -> database.snapshot(Sent.SERVICE))
        .toList();
  }

  private World initial() {
    // No two databases number their writes alike.
    restore(IntStream.range(0, this.databases.size())
        .mapToObj((i) -> new Snapshot(null, null, 0, null, i * 1_000_000L))
        .toList());
    long tick = 0;
    List<Part> parts = new ArrayList<>();
    for (Node node : this.nodes) {
      Candidacy candidacy = Candidacy.start(node, tick * TICK);
      while (this.lists != null && parts.isEmpty() && !(candidacy.state() instanceof Leader)) {
        tick++;
        candidacy = afterTurn(candidacy, 0, 0, tick * TICK, tick * TICK / 1_000_000);
      }
      parts.add(new Part(candidacy, null, null, 0));
    }
    return new World(tick, snapshots(), parts, new Spent(0, 0, 0), 0, false);
  }

  private int leaders(World world) {
    int leaders = 0;
    for (Part part : world.parts()) {
      if (this.rules.leads(part.candidacy(), world.now(), world.wall())) {
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
        execute(world, i, part, part.late().call(), part.late(), visitor);
      }
      command(world, i, part, visitor);
    }
    edit(world, visitor);
    visitor.visit(world.ticked(), "a tick passes");
  }

  private void decide(World world, int i, Part part, Visitor visitor) {
    Candidacy candidacy = world.candidacy(part);
    Step step = this.rules.next(candidacy, world.now(), false);
    send(world, i, part, candidacy, step, visitor);
    if (candidacy.state() instanceof Draining) {
      Step working = this.rules.next(candidacy, world.now(), true);
      if (!working.equals(step)) {
        send(world, i, part, candidacy, working, visitor);
      }
    }
    if (this.bounds.precedence()) {
      standLater(world, i, part, candidacy, step, visitor);
    }
  }

  /** What a precedence does: the node reads the record instead. */
  private void standLater(
      World world, int i, Part part, Candidacy candidacy, Step step, Visitor visitor) {
    if (step instanceof Acquire || step instanceof Create) {
      send(world, i, part, candidacy, new Read(), visitor);
    }
  }

  private void send(
      World world, int i, Part part, Candidacy candidacy, Step step, Visitor visitor) {
    if (!(step instanceof Wait)) {
      Sent call = Sent.by(candidacy, step, world.now(), world.wall());
      visitor.visit(
          world.with(i, part.sending(candidacy, new Pending(call, NOTHING))),
          "%s sends %s",
          this.names.get(i),
          step);
    }
  }

  private void goOn(World world, int i, Part part, Pending pending, Visitor visitor) {
    Sent call = pending.call();
    String name = this.names.get(i);
    Candidacy candidacy = world.candidacy(part);
    boolean executed = pending.outcome() != NOTHING;
    boolean fails = pending.outcome() instanceof LeaseStoreException;
    if (!executed && this.lists != null) {
      partByPart(this.lists, world, i, part, pending, visitor);
    } else if (!executed) {
      execute(world, i, part, call, null, visitor);
    } else if (!fails) {
      Timing timing = call.answered(world.now(), world.wall());
      Candidacy answered = this.rules.answered(candidacy, call.step(), pending.outcome(), timing);
      visitor.visit(
          answered(world, answered).with(i, part.sending(answered, null)),
          "%s is answered %s",
          name,
          pending.outcome());
    }
    if (this.lists != null && !fails) {
      return;
    }
    Candidacy failed = this.rules.failed(candidacy, call.step(), world.now());
    visitor.visit(
        world.with(i, part.sending(failed, null)),
        executed ? "%s gives up; the answer is lost" : "%s gives up; the request is lost",
        name);
    if (pending.mayBeLate() && part.late() == null && this.bounds.late() > 0) {
      visitor.visit(
          world.with(i, part.givingUp(failed, null, call)),
          "%s gives up; the request is still on its way",
          name);
    }
  }

  /** Terms of lists are granted one part after the other: they count when they are led. */
  private World answered(World world, Candidacy answered) {
    return this.lists != null
            && answered.state() instanceof Leader leader
            && this.rules.leads(answered, world.now(), world.wall())
            && leader.term() != world.granted()
        ? world.with(world.tables(), leader.term(), leader.term() < world.granted())
        : world;
  }

  /** Makes the next call of a request to a list. */
  private void partByPart(
      PartByPart lists, World world, int i, Part part, Pending pending, Visitor visitor) {
    String name = this.names.get(i);
    Node node = this.nodes.get(i);
    PartByPart.Call call =
        (PartByPart.Call) lists.outcome(pending.call(), i, node, pending.answers());
    Pending lost = answered(lists, i, pending, PartByPart.LOST);
    restore(world.tables());
    Object answer = call.make(lists.databases(), token(i, part.life()));
    List<Snapshot> tables = snapshots();
    if (tables.stream().allMatch((each) -> each.newestTerm() <= this.bounds.maxTerm())) {
      World executed = world.with(tables, world.granted(), false);
      visitor.visit(
          executed.with(
              i, part.sending(world.candidacy(part), answered(lists, i, pending, answer))),
          "%s calls %s -> %s",
          name,
          call,
          answer);
      visitor.visit(
          executed.with(i, part.sending(world.candidacy(part), lost)),
          "%s calls %s; the answer is lost",
          name,
          call);
    }
    visitor.visit(
        world.with(i, part.sending(world.candidacy(part), lost)),
        "%s calls %s; the request is lost",
        name,
        call);
    if (part.late() == null && this.bounds.late() > 0 && call.writes()) {
      visitor.visit(
          world.with(i, part.givingUp(world.candidacy(part), lost, call)),
          "%s calls %s; the request is still on its way",
          name,
          call);
    }
  }

  private Pending answered(PartByPart lists, int i, Pending pending, Object answer) {
    List<Object> answers = new ArrayList<>(pending.answers());
    answers.add(answer);
    Object outcome = lists.outcome(pending.call(), i, this.nodes.get(i), answers);
    return outcome instanceof PartByPart.Call
        ? new Pending(pending.call(), NOTHING, answers)
        : new Pending(pending.call(), outcome);
  }

  private void execute(
      World world, int i, Part part, Object call, @Nullable Late late, Visitor visitor) {
    restore(world.tables());
    int life = late != null ? late.life() : part.life();
    Object outcome = call instanceof Sent sent
        ? executed(sent, i, life)
        : ((PartByPart.Call) call).make(this.databases, token(i, life));
    List<Snapshot> tables = snapshots();
    if (tables.stream().anyMatch((each) -> each.newestTerm() > this.bounds.maxTerm())) {
      return;
    }
    Step step = call instanceof Sent sent ? sent.step() : null;
    long term = step instanceof Acquire ? ((OptionalLong) outcome).orElse(-1) : -1;
    boolean broken = term >= 0 && term <= world.granted();
    Part after = late != null
        ? new Part(part.candidacy(), part.pending(), null, part.life())
        : part.sending(part.candidacy(), new Pending((Sent) call, outcome));
    visitor.visit(
        world.with(i, after).with(tables, Math.max(world.granted(), term), broken),
        late != null
            ? "a late request of %s is executed: %s -> %s"
            : "%s's request is executed: %s -> %s",
        this.names.get(i),
        step != null ? step : call,
        outcome);
  }

  private void command(World world, int i, Part part, Visitor visitor) {
    long now = world.now();
    String name = this.names.get(i);
    if (world.spent().crashes() < this.bounds.crashes()) {
      World crashed = world.spending(1, 0, 0);
      Candidacy fresh = Candidacy.start(this.nodes.get(i), now);
      visitor.visit(
          crashed.with(i, part.begun(fresh, part.late())), "%s is killed and starts", name);
      Pending pending = part.pending();
      if (pending != null
          && this.lists == null
          && pending.mayBeLate()
          && part.late() == null
          && this.bounds.late() > 0) {
        visitor.visit(
            crashed.with(i, part.begun(fresh, new Late(pending.call(), part.life()))),
            "%s is killed and starts; its request is still on its way",
            name);
      }
    }
    Candidacy candidacy = world.candidacy(part);
    boolean paused = candidacy.participation().pausedBy() != null;
    if (paused) {
      visitor.visit(
          world.with(i, part.after(candidacy.resume(now))), "%s is resumed by an operator", name);
    }
    if (world.spent().commands() < this.bounds.commands()) {
      World commanded = world.spending(0, 1, 0);
      visitor.visit(
          commanded.with(i, part.after(this.rules.resigned(candidacy, now))),
          "%s is told to step down",
          name);
      if (!paused) {
        visitor.visit(
            commanded.with(i, part.after(this.rules.paused(candidacy, now))),
            "%s is paused by an operator",
            name);
      }
      if (candidacy.state() instanceof Leader) {
        String other = this.bounds.ids().get((i + 1) % this.bounds.ids().size());
        visitor.visit(
            commanded.with(i, part.after(candidacy.handOver(other, null, now))),
            "%s is told to hand over to %s",
            name,
            other);
      }
    }
  }

  private void edit(World world, Visitor visitor) {
    if (world.spent().edits() >= this.bounds.edits()) {
      return;
    }
    for (int i = 0; i < this.databases.size(); i++) {
      edit(world, this.databases.get(i), world.tables().get(i).row(), visitor);
    }
  }

  private void edit(
      World world, SimulatedDatabase database, @Nullable LeaseRow row, Visitor visitor) {
    for (String id : this.bounds.ids().stream().distinct().toList()) {
      if (row != null && !row.leaderId().equals(id)) {
        edited(
            world,
            () -> database.edit(Sent.SERVICE, (old) -> SimulatedDatabase.named(old, id)),
            visitor,
            "writes the name into the row: " + id);
      }
      if (this.bounds.everyEdit()) {
        edited(
            world,
            () -> database.replace(Sent.SERVICE, id),
            visitor,
            "replaces the row by one of " + id);
      }
    }
    if (this.bounds.everyEdit() && row != null) {
      edited(world, () -> database.deleteRow(Sent.SERVICE), visitor, "deletes the row");
    }
    if (this.bounds.emptying()) {
      edited(world, database::emptyTables, visitor, "empties both tables");
    }
  }

  private void edited(World world, Runnable edit, Visitor visitor, String what) {
    restore(world.tables());
    edit.run();
    List<Snapshot> tables = snapshots();
    boolean emptied = tables.stream().anyMatch((each) -> each.newestTerm() == 0);
    visitor.visit(
        world.spending(0, 0, 1).with(tables, emptied ? 0 : world.granted(), false),
        "an operator %s",
        what);
  }

  // ---- life

  /** Whether a process leads soon if nothing fails, no process is paused, and all take turns. */
  private boolean leads(World world) {
    restore(world.tables());
    List<Candidacy> candidacies = new ArrayList<>();
    for (Part part : world.parts()) {
      Pending pending = part.pending();
      Candidacy candidacy = pending == null
          ? part.candidacy()
          : this.rules.failed(world.candidacy(part), pending.call().step(), world.now());
      candidacies.add(candidacy.resume(world.now()));
    }
    long end = world.tick() + 2L * Collections.max(this.bounds.leases()) + 4;
    for (World later = world; later.tick() <= end; later = later.ticked()) {
      long now = later.now();
      long wall = later.wall();
      for (int i = 0; i < candidacies.size(); i++) {
        Candidacy candidacy =
            afterTurn(candidacies.get(i), i, world.parts().get(i).life(), now, wall);
        candidacies.set(i, candidacy);
        if (this.rules.leads(candidacy, now, wall)) {
          return true;
        }
      }
    }
    return false;
  }

  /** Lets a process do what is due. */
  private Candidacy afterTurn(Candidacy before, int i, int life, long now, long wall) {
    Candidacy candidacy = before.at(new Clocks.Reading(now, wall, 0));
    Step step = this.rules.next(candidacy, now, false);
    for (int turn = 0; turn < 8 && !(step instanceof Wait); turn++) {
      Sent call = Sent.by(candidacy, step, now, wall);
      Object outcome = executed(call, i, life);
      candidacy = this.rules.answered(candidacy, step, outcome, call.answered(now, wall));
      step = this.rules.next(candidacy, now, false);
    }
    return candidacy;
  }

  // ---- the trace of a broken promise

  /** How a state was reached first: by a move, of those that are possible in the state before. */
  private record Origin(int parent, int move) {}

  private String trace(int index, World last) {
    Deque<Integer> moves = new ArrayDeque<>();
    for (Origin at = this.origins.get(index);
        at.parent() >= 0;
        at = this.origins.get(at.parent())) {
      moves.push(at.move());
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
    for (Snapshot tables : last.tables()) {
      text.append("  tick %2d  the row: %s%n".formatted(last.tick(), tables.row()));
    }
    for (int i = 0; i < last.parts().size(); i++) {
      text.append("           %s: %s%n"
          .formatted(this.names.get(i), last.parts().get(i).candidacy().state()));
    }
    return text.toString();
  }

  // ---- which states count as one

  private record Fingerprint(long first, long second) {}

  private final class Encoder {

    private final List<Long> written = new ArrayList<>();

    private long now;

    private long version;

    private long first;

    private long second;

    private void put(long... values) {
      for (long value : values) {
        this.first = (this.first ^ value) * 0x9E3779B97F4A7C15L;
        this.first ^= this.first >>> 29;
        this.second = (this.second + value + 0x632BE59BD9B4E019L) * 0xD6E8FEB86659FD93L;
        this.second ^= this.second >>> 32;
      }
    }

    Fingerprint encode(World world) {
      this.first = 1;
      this.second = 2;
      this.written.clear();
      this.now = world.now();
      LeaseRow first = world.tables().get(0).row();
      this.version = first != null ? Version.of(first).number() : 0;
      for (Snapshot tables : world.tables()) {
        row(tables.row());
        put(owner(world, tables), bit(tables.sealed()), tables.newestTerm());
        put(tables.newest() != null ? tables.newest().leaseMillis() : -1);
      }
      Spent spent = world.spent();
      put(spent.crashes(), spent.commands(), spent.edits(), world.granted());
      for (int i = 0; i < world.parts().size(); i++) {
        Part part = world.parts().get(i);
        candidacy(part.candidacy());
        put(bit(part.candidacy().remembered().ledHighest() && seesItsSeal(world, i, part)));
        Pending pending = part.pending();
        put(bit(pending != null));
        if (pending != null) {
          call(pending.call(), part.candidacy());
          outcome(pending.outcome());
          pending.answers().forEach(this::value);
        }
        Late late = part.late();
        put(late != null ? part.life() - late.life() : -8);
        if (late != null && late.call() instanceof Sent sent) {
          call(sent, part.candidacy());
        } else if (late != null) {
          value(late.call());
        }
      }
      return new Fingerprint(this.first, this.second);
    }

    private void row(@Nullable LeaseRow row) {
      if (row == null) {
        put(-1);
        return;
      }
      if (!(row.version() instanceof Version version)) {
        put(id(row.leaderId()), row.term(), orElse(row.leaseMillis(), -2), bit(row.own()));
        SimulatedDatabase.parts(row).forEach(this::row);
        return;
      }
      int known = this.written.indexOf(version.written());
      if (known < 0) {
        known = this.written.size();
        this.written.add(version.written());
      }
      put(
          id(row.leaderId()),
          row.term(),
          orElse(row.leaseMillis(), -2),
          orElse(version.leaseMillis(), -3),
          orElse(version.lastTerm(), -4),
          bit(row.own()),
          known);
      if (ExhaustiveSearch.this.rules.comparesVersions()) {
        put(version.number() - this.version);
      }
    }

    private static long orElse(@Nullable Long value, long other) {
      return value != null ? value : other;
    }

    private static long bit(boolean value) {
      return value ? 1 : 0;
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
      long led = part.candidacy().remembered().ledTerm();
      LeaseRow row = world.tables().get(0).row();
      boolean owns = token(i, part.life()).equals(world.tables().get(0).owner());
      return ExhaustiveSearch.this.bounds.emptying()
          || ExhaustiveSearch.this.lists != null
          || (owns && row != null && row.term() == led)
          || (seen != null && isOwnIn(led, seen.row()))
          || isOwnIn(led, answer);
    }

    private static boolean isOwnIn(long term, @Nullable LeaseRow row) {
      return row != null && row.own() && row.term() == term;
    }

    /** The number of the process that sealed the row, in its present life. */
    private long owner(World world, Snapshot tables) {
      for (int i = 0; i < world.parts().size(); i++) {
        if (token(i, world.parts().get(i).life()).equals(tables.owner())) {
          return i;
        }
      }
      return -1;
    }

    private long id(String id) {
      return id.isEmpty() ? 99 : ExhaustiveSearch.this.bounds.ids().indexOf(id);
    }

    private long age(long since, long limit) {
      return Math.min((this.now - since) / TICK, limit / TICK);
    }

    /** The longest time for which a row is watched. */
    private long promised(@Nullable LeaseRow row, Candidacy candidacy) {
      long own = candidacy.node().settings().leaseDuration().toMillis();
      long seen = candidacy.remembered().promisedMillis();
      return 1_000_000
          * (row == null
              ? 0
              : row.leaseMillis() != null
                  ? row.promisedMillis(own)
                  : Math.max(row.promisedMillis(own), seen));
    }

    private long ahead(long instant) {
      return instant <= this.now ? 0 : (instant - this.now + TICK - 1) / TICK;
    }

    private void candidacy(Candidacy candidacy) {
      Remembered remembered = candidacy.remembered();
      put(remembered.highestTerm(), remembered.promisedMillis());
      Participation participation = candidacy.participation();
      put(bit(participation.pausedBy() != null), ahead(candidacy.dueAt()));
      put(participation instanceof Participation.Aside aside ? ahead(aside.until()) : 0);
      state(candidacy.state(), candidacy);
      Observation seen = candidacy.seen();
      put(bit(seen != null));
      if (seen != null) {
        row(seen.row());
        put(age(seen.since(), promised(seen.row(), candidacy)), bit(seen.stale()));
      }
    }

    private void state(State state, Candidacy candidacy) {
      put(state.getClass().getName().hashCode());
      if (state instanceof Follower follower) {
        put(bit(follower.shared()));
      } else if (state instanceof Claimant claimant) {
        row(claimant.row());
        put(age(claimant.since(), promised(claimant.row(), candidacy)), bit(claimant.created()));
      } else if (state instanceof Leader leader) {
        put(leader.term(), ahead(leader.deadline().at()));
      } else if (state instanceof Draining draining) {
        put(
            draining.term(),
            ahead(draining.deadline().at()),
            ahead(draining.drainUntil()),
            ahead(draining.retryAt()));
        put(id(draining.successor()), bit(draining.displaced()), bit(draining.patient()));
      }
    }

    private void call(Sent call, Candidacy candidacy) {
      Step step = call.step();
      put(step.getClass().getName().hashCode());
      if (step instanceof Renew || step instanceof Acquire) {
        put(age(call.at(), candidacy.node().settings().leaseDuration().toNanos()));
      }
      if (step instanceof Create || (step instanceof Acquire acquire && acquire.isRace())) {
        put(call.caller().highestTerm());
      }
      if (step instanceof Renew renew) {
        put(renew.term());
      } else if (step instanceof Touch touch) {
        row(touch.row());
        put(age(touch.since(), promised(touch.row(), candidacy)));
      } else if (step instanceof Acquire acquire) {
        put(bit(acquire.isRace()));
        row(acquire.row());
      } else if (step instanceof Release release) {
        put(release.term(), id(release.successor()));
      } else if (step instanceof Cede cede) {
        put(cede.term());
      }
    }

    private void outcome(Object outcome) {
      if (outcome == NOTHING) {
        put(31);
      } else if (outcome instanceof RenewalListener.Outcome renewed) {
        put(36, renewed.ordinal());
      } else if (outcome instanceof Boolean done) {
        put(32, bit(done));
      } else if (outcome instanceof OptionalLong term) {
        put(34, term.orElse(-1));
      } else if (outcome instanceof Optional<?>) {
        put(35);
        row(Rules.row(outcome));
      } else {
        // It failed, whatever the text says.
        put(37);
      }
    }

    /** An answer of a part, or an argument of a call to it. */
    private void value(@Nullable Object value) {
      if (value instanceof PartByPart.Call call) {
        put(38, call.part(), call.method().getName().hashCode());
        call.arguments().forEach(this::value);
      } else if (value instanceof LeaseRow row) {
        row(row);
      } else if (value instanceof Optional<?> found) {
        put(35);
        value(found.orElse(null));
      } else if (value instanceof Map<?, ?> found) {
        put(39, found.size());
        found.values().forEach(this::value);
      } else if (value instanceof Reading reading) {
        row(reading.row());
      } else if (value != null) {
        // The others are equal if their texts are.
        put(value.toString().hashCode());
      }
    }
  }
}
