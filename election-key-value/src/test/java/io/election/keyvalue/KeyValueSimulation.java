package io.election.keyvalue;

import io.election.Member;
import io.election.PastTerm;
import io.election.keyvalue.KeyValueServer.Change;
import io.election.keyvalue.KeyValueServer.Commit;
import io.election.keyvalue.KeyValueServer.Query;
import io.election.keyvalue.KeyValueServer.Snapshot;
import io.election.keyvalue.KeyValueServer.Version;
import io.election.keyvalue.KeyValueServer.Watch;
import io.election.keyvalue.MemoryKeyValueServer.Cluster;
import io.election.lease.Fault;
import io.election.lease.SimulatedProcess;
import io.election.lease.SimulatedServer.Statement;
import io.election.lease.Simulation;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.jspecify.annotations.Nullable;

/**
 * A schedule of the protocol's simulation, over two elections on the keys of a modelled server. Each
 * request of a call is late or lost on its own.
 */
final class KeyValueSimulation extends Simulation {

  /** What the servers knew from an instant on. */
  private record Dated(long at, Cluster.State state) {}

  private final Cluster cluster = new Cluster();
  private final KeyValueEdits edits = new KeyValueEdits(this.cluster);
  private final Mutant mutant;
  private final Map<SimulatedProcess, KeyValueLeaseStore> stores = new HashMap<>();
  private final Deque<Dated> past = new ArrayDeque<>();

  /** The backup that can be put back, once. */
  private Cluster.@Nullable State backup;

  /** The identities of which a backup was made. */
  private final Set<String> kept = new HashSet<>();

  private int restores;

  KeyValueSimulation(long seed, boolean reusesVersions, Mutant mutant, boolean tracing) {
    super(seed, tracing);
    this.mutant = mutant;
    this.cluster.reusesVersions = reusesVersions;
    remember();
  }

  @Override
  protected List<String> elections() {
    return List.of("jobs", "mail");
  }

  @Override
  protected List<Fault> faults() {
    return this.mutant.faults();
  }

  @Override
  protected LeaseStore connect(SimulatedProcess process, @Nullable SimulatedProcess original) {
    Supplier<String> random = () -> Long.toHexString(this.random.nextLong());
    KeyValueLeaseStore store =
        new Store(new Link(process), process, random, this.mutant.life(random), new Hints());
    if (original != null) {
      try {
        Copies.copy(this.stores.get(original), store);
      } catch (ReflectiveOperationException ex) {
        throw new IllegalStateException(ex);
      }
    }
    this.stores.put(process, store);
    return store;
  }

  /** Until a node finds that the server went back, it watches the record in vain. */
  @Override
  protected long gap() {
    return 2 * super.gap();
  }

  /**
   * What is handed back counts only in the history in which the lease was taken. The history may
   * begin anew during the wait, if a node finds only then that the server went back.
   */
  @Override
  protected long succession(long interval) {
    return super.succession(interval) + gap();
  }

  @Override
  protected Object record() {
    return this.cluster.entries;
  }

  private void remember() {
    this.past.addLast(new Dated(this.now, this.cluster.state()));
    if (this.past.size() > 100) {
      this.past.removeFirst();
    }
  }

  private Cluster.State known(long at) {
    Cluster.State known = this.past.getFirst().state();
    for (Dated dated : this.past) {
      if (dated.at() > at) {
        break;
      }
      known = dated.state();
    }
    return known;
  }

  @Override
  protected boolean befall(Fault fault) {
    String id = pick(elections());
    boolean done = fault == Fault.FAILOVER ? befallServer() : edit(fault, id);
    remember();
    return done;
  }

  private boolean befallServer() {
    switch (draw(3)) {
      case 0 -> keep();
      case 1 -> this.cluster.chooseLeader();
      default -> restore();
    }
    return true;
  }

  /** Makes a backup, if a node has led since the last one was put back. */
  private void keep() {
    Lineage.Identity identity = identity();
    if (identity.led() && this.kept.add(String.valueOf(identity.id()))) {
      this.backup = this.cluster.state();
    }
  }

  private Lineage.Identity identity() {
    return Lineage.Identity.in(this.cluster.read(new Query(Set.of(Keys.IDENTITY), Set.of(), true)));
  }

  /** Puts the backup back. Requests on their way to the old servers are lost. */
  private void restore() {
    if (this.backup != null) {
      this.cluster.restore(this.backup);
      this.backup = null;
      this.restores++;
      this.past.clear();
      if (this.cluster.reusesVersions) {
        // The restored data do not show which terms were used. The clocks are wrong by years.
        forgetTerms();
      }
    }
  }

  private boolean edit(Fault fault, String id) {
    Optional<String> found = this.cluster.value(Keys.record(id));
    if (fault == Fault.REPLACED) {
      // Also the name that is there, as by an operator who wants to keep the leader.
      String leader =
          found.isPresent() && draw(2) == 0 ? LeaseRecord.of(found.get(), id).leader() : someId();
      this.edits.replace(id, leader, this.mixed || draw(2) == 0 ? null : Long.valueOf(5_000));
      return true;
    }
    if (fault == Fault.TABLES_EMPTIED) {
      deleteSome(id);
      return true;
    }
    if (found.isEmpty()) {
      return false;
    }
    LeaseRecord record = LeaseRecord.of(found.get(), id);
    switch (fault) {
      case DESIGNATED_BY_SQL -> this.edits.setLeader(id, someId());
      case DESIGNATED_AND_BACK -> {
        this.edits.setLeader(id, someId());
        after(this.random.nextLong(1_000_000_000), () -> {
          if (this.faulty && this.cluster.value(Keys.record(id)).isPresent()) {
            this.edits.setLeader(id, record.leader());
            remember();
          }
        });
      }
      case DELETED -> this.edits.delete(id);
      case LEASE_EDITED -> this.edits.setLease(id, someLease());
      case TERM_LOWERED ->
        this.edits.setTerm(
            id, Math.max(0, (record.term() != null ? record.term() : 0) - 1 - draw(3)));
      default -> throw new IllegalArgumentException(fault.name());
    }
    return true;
  }

  private void deleteSome(String id) {
    switch (draw(4)) {
      case 0 -> this.edits.deleteHistory(id);
      case 1 -> this.cluster.below(Keys.HEARTBEATS).keySet().forEach(this.cluster::delete);
      case 2 -> {
        this.edits.delete(id);
        this.edits.deleteHistory(id);
      }
      default -> {
        if (identity().skipped() > 0) {
          // Terms were above the revision. A process that has not read the identity begins at it.
          forgetTerms();
        }
        List.copyOf(this.cluster.entries.keySet()).forEach(this.cluster::delete);
      }
    }
  }

  /** Hints at hand-backs at random, whether there are any or not. */
  private final class Hints extends WatchedKeys {

    @Override
    Set<String> open(Set<String> serviceIds) {
      return draw(2) == 0 ? Set.of() : Set.of(pick(List.copyOf(new TreeSet<>(serviceIds))));
    }
  }

  /** Decides who leads, and leaves out what only people look at. */
  private static final class Store extends KeyValueLeaseStore {

    Store(
        KeyValueServer link,
        SimulatedProcess process,
        Supplier<String> random,
        HeldLeases life,
        WatchedKeys followed) {
      super(
          link,
          () -> Instant.ofEpochMilli(process.wall()),
          process::monotonic,
          random,
          life,
          followed);
    }

    @Override
    public void announce(Announcement self) {}

    @Override
    public Map<String, List<Member>> members(Set<String> serviceIds) {
      return Map.of();
    }

    @Override
    public Map<String, List<PastTerm>> history(Set<String> serviceIds) {
      return Map.of();
    }

    /** Deletes the terms at once, so that decisions without the old terms are checked. */
    @Override
    public void prune(Map<String, Long> belowTerms, Duration retention) throws LeaseStoreException {
      super.prune(belowTerms, Duration.ZERO);
    }
  }

  /** A process's connection, on which time passes. */
  private final class Link implements KeyValueServer {

    private final SimulatedProcess process;
    private final MemoryKeyValueServer server =
        new MemoryKeyValueServer(KeyValueSimulation.this.cluster);
    private long begun;
    private boolean committed;

    Link(SimulatedProcess process) {
      this.process = process;
    }

    @Override
    public String name() {
      return "simulation";
    }

    @Override
    public void begin() {
      this.begun = this.process.monotonic();
      this.committed = false;
    }

    @Override
    public boolean reusesVersions() {
      return this.server.reusesVersions();
    }

    @Override
    public Answer<OptionalLong> logIndex() throws LeaseStoreException {
      return reusesVersions()
          ? OptionalLong::empty
          : ask(this.server::logIndex, () -> "for the log", true);
    }

    @Override
    public Snapshot read(Query query) throws LeaseStoreException {
      boolean fresh = query.fresh() || this.committed;
      return ask(
          () -> {
            long at = fresh ? KeyValueSimulation.this.now : asOf();
            Cluster servers = KeyValueSimulation.this.cluster;
            return at < KeyValueSimulation.this.now
                ? servers.read(query, known(at))
                : servers.read(query);
          },
          query::toString,
          true);
    }

    @Override
    public Optional<Map<String, Version>> commit(Commit commit) throws LeaseStoreException {
      this.committed = true;
      return ask(
          () -> {
            Optional<Map<String, Version>> done = KeyValueSimulation.this.cluster.commit(commit);
            KeyValueSimulation.this.raceLost |= done.isEmpty();
            remember();
            return done;
          },
          commit::toString,
          false);
    }

    private <T> T ask(Statement statement, Supplier<String> what, boolean toRead)
        throws LeaseStoreException {
      int history = KeyValueSimulation.this.restores;
      T answer = this.process.await(
          () -> history == KeyValueSimulation.this.restores ? statement.execute() : null,
          what,
          toRead);
      if (this.process.monotonic() - this.begun
          > this.process.settings.operationTimeout().toNanos()) {
        throw new LeaseStoreException("no answer in time");
      }
      return answer;
    }

    @Override
    public Watch watch(Consumer<Change> changed) {
      return this.server.watch(changed);
    }

    @Override
    public void close() {}
  }

  /** The rules of the store, except for one that is broken on purpose. */
  enum Mutant {
    NONE,

    /** What followers watch is no longer what a renewal compares. */
    WHAT_WAS_WRITTEN_BY_HAND_IS_RENEWED_AS_IT_IS {
      @Override
      HeldLeases life(Supplier<String> random) {
        return new HeldLeases(random) {
          @Override
          boolean holds(ElectionReading view, String nodeId, long term) {
            return super.holds(view, nodeId, term)
                || (namesTerm(view, nodeId, term) && view.ledLast().equals(token()));
          }
        };
      }

      @Override
      List<Fault> faults() {
        return List.of(Fault.REPLACED, Fault.RESIGN, Fault.STOP, Fault.RESTART);
      }
    },

    /** A copy and its original write one heartbeat by turns, and each hides the other's renewals. */
    A_HEARTBEAT_THAT_ANOTHER_PROCESS_WROTE_COUNTS_AS_OWN {
      @Override
      HeldLeases life(Supplier<String> random) {
        return new HeldLeases(random) {
          @Override
          boolean sawHeartbeat(Snapshot snapshot) {
            KeyValueServer.Entry found = snapshot.entries().get(heartbeatKey());
            wrote(found != null ? found.version() : null);
            return found != null;
          }
        };
      }

      @Override
      List<Fault> faults() {
        return List.of(Fault.COPIED, Fault.RESIGN, Fault.CUT_OFF);
      }
    };

    private static final List<Fault> FAULTS = List.of(Fault.values()).stream()
        .filter((fault) -> fault != Fault.ROW_LOCKED && fault != Fault.DATABASE_CLOCK_STEPS)
        .toList();

    List<Fault> faults() {
      return FAULTS;
    }

    HeldLeases life(Supplier<String> random) {
      return new HeldLeases(random);
    }
  }
}
