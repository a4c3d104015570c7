package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.mysql.failover.agent.ServerState.Receiver;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Random histories of sets in which servers and agents are lost at any step, operators intervene,
 * and data are restored from backups. The agents decide by their own rules; the servers are
 * modelled: a binary log, a relay log, and what of them is lost. Not modelled: a replica that
 * acknowledges and has no agent. System property: {@code failover.histories}, the number of
 * histories of each set.
 */
class FailoverSimulationTest {

  private static final int STEPS = 60;

  private static final int HISTORIES = Integer.getInteger("failover.histories", 200);

  /**
   * A transaction.
   *
   * @param id two transactions may have the same GTID, if a server was restored
   * @param term the promotion that it records, or 0
   */
  private record Transaction(String gtid, int id, long term) {}

  private static final Link NEW_LINK = new Link(null, 0, false, "", null);

  private record Backup(String uuid, Map<String, Transaction> executed, String source) {}

  /**
   * A server, its agent, and what the agent has seen, with {@code view} and {@code standing} as in
   * {@link AgentState.Stand}.
   */
  private static final class Server {

    final AgentProperties properties;
    final Candidacy candidacy;
    String uuid;
    Map<String, Transaction> executed = new LinkedHashMap<>();
    Map<String, Transaction> relayed = new LinkedHashMap<>();
    Map<String, Transaction> committing = new LinkedHashMap<>();

    /** The transactions that it has received in this life of its relay log. */
    Set<String> received = new HashSet<>();

    /** The term in the data of a server whose GTIDs were reset. */
    long resetTerm;

    String replicatesFrom = "";
    boolean runs = true;
    boolean receives;

    boolean managed = true;
    String agent = "";
    boolean hasPublished;
    Link link = NEW_LINK;

    @Nullable
    Snapshot view;

    @Nullable
    Position standing;

    Server(AgentProperties properties, String uuid) {
      this.properties = properties;
      this.candidacy = new Candidacy(
          new TreeSet<>(properties.servers().keySet()),
          properties.positionWait(),
          properties.holdBack());
      this.uuid = uuid;
    }

    String name() {
      return this.properties.server();
    }

    Map<String, Transaction> logged() {
      Map<String, Transaction> logged = new LinkedHashMap<>(this.executed);
      logged.putAll(this.committing);
      return logged;
    }

    boolean has(String gtid) {
      return this.executed.containsKey(gtid) || this.relayed.containsKey(gtid);
    }

    long term() {
      return this.executed.values().stream()
          .mapToLong(Transaction::term)
          .reduce(this.resetTerm, Math::max);
    }

    void apply(int count) {
      for (int i = 0; i < count && !this.relayed.isEmpty(); i++) {
        Transaction first = this.relayed.remove(this.relayed.keySet().iterator().next());
        this.executed.put(first.gtid(), first);
      }
    }

    void stopReceiver() {
      this.receives = false;
      this.link = this.link.stopped();
    }

    Peer peer() {
      return new Peer(
          this.uuid,
          name().charAt(0),
          gtids(this.executed.keySet()),
          gtids(this.committing.keySet()),
          false,
          true);
    }

    void startAgent(String agent) {
      this.managed = true;
      this.agent = agent;
      this.hasPublished = false;
      this.view = null;
      this.link = NEW_LINK;
    }

    void loseRelayLog() {
      this.receives = false;
      this.relayed.clear();
      this.received.clear();
    }

    void restore(Map<String, Transaction> executed) {
      loseRelayLog();
      this.committing.clear();
      this.executed = new LinkedHashMap<>(executed);
      this.resetTerm = 0;
    }

    ServerState state() {
      GtidSet executed = gtids(this.executed.keySet());
      GtidSet received = gtids(this.received);
      return new ServerState(
          this.uuid,
          name().charAt(0),
          executed,
          executed.union(received),
          true,
          true,
          term(),
          new Receiver(this.replicatesFrom, this.receives, this.receives, "", received),
          true,
          "",
          0,
          0,
          0,
          Set.of(),
          "",
          CandidacyTest.FIT,
          1,
          1);
    }
  }

  private static GtidSet gtids(Collection<String> gtids) {
    Map<String, StringBuilder> texts = new HashMap<>();
    gtids.forEach((each) -> texts
        .computeIfAbsent(each.substring(0, 36), (uuid) -> new StringBuilder(uuid))
        .append(each, 36, each.length()));
    return GtidSet.parse(String.join(",", texts.values()));
  }

  /** A set of servers, and what their agents have written to etcd. */
  private static final class Simulation {

    final long seed;
    final Random random;
    final int acknowledging;
    final boolean damages;
    final List<Server> servers = new ArrayList<>();
    final Set<Transaction> acknowledged = new HashSet<>();
    final List<String> history = new ArrayList<>();
    final Map<String, Position> positions = new TreeMap<>();
    final List<Backup> backups = new ArrayList<>();
    Promotion last;

    /** The server that leads, though it may not be open yet. */
    @Nullable
    Server leader;

    boolean open;
    long elections = 1;
    int numbers;
    int promotions;

    /**
     * Whether more than servers and agents were lost, so that no source may be found: the last
     * source was replaced or its GTIDs were reset, any server was restored from a backup, a server
     * without an agent joined, or a client wrote on a server that others replicate from though it
     * is not the source.
     */
    boolean damaged;

    Simulation(long seed, int replicas, int acknowledging) {
      this.seed = seed;
      this.random = new Random(seed);
      this.acknowledging = acknowledging;
      this.damages = seed % 3 > 0;
      String[] names = Stream.of("a", "b", "c", "d").limit(replicas + 1).toArray(String[]::new);
      Transaction old = new Transaction("00000000-0000-0000-0000-000000009999:1", 0, 0);
      boolean isNew = this.random.nextBoolean();
      for (String name : names) {
        Server server = new Server(CandidacyTest.properties(name, names), uuid());
        server.startAgent(uuid());
        if (!isNew) {
          server.executed.put(old.gtid(), old);
        }
        this.servers.add(server);
      }
      Server first = this.servers.get(0);
      this.last = new Promotion(
          1, "a", first.uuid, first.state().executed(), 0, acknowledging, Map.of("a", first.uuid));
    }

    private String uuid() {
      return "00000000-0000-0000-0000-%012d".formatted(++this.numbers);
    }

    private void log(String format, Object... arguments) {
      this.history.add(format.formatted(arguments));
    }

    private boolean oneIn(int number) {
      return this.random.nextInt(number) == 0;
    }

    private Server any() {
      return this.servers.get(this.random.nextInt(this.servers.size()));
    }

    private Snapshot read() {
      return new Snapshot(Optional.of(this.last), Map.copyOf(this.positions), "");
    }

    void run() {
      for (int step = 0; step < STEPS; step++) {
        step();
      }
      for (Server each : this.servers) {
        if (!each.runs) {
          restart(each);
        }
        each.startAgent(uuid());
      }
      if (this.leader == null) {
        for (int i = 0; i < 30 && this.leader == null; i++) {
          this.servers.forEach(this::look);
          elect(true);
        }
      }
    }

    private void step() {
      switch (this.random.nextInt(18)) {
        case 0 -> mayKill(any());
        case 1, 2 ->
          this.servers.stream()
              .filter((each) -> !each.runs && this.random.nextBoolean())
              .forEach(this::restart);
        case 3 -> mayStepDown();
        case 4 -> elect(false);
        case 5, 6, 7 -> this.servers.stream().filter((each) -> !oneIn(4)).forEach(this::look);
        case 8 -> any().apply(this.random.nextInt(4));
        case 9, 10, 11 -> replicate();
        case 12 -> {
          if (this.damages) {
            intervene(any());
          }
        }
        case 13 -> restartAgent(any());
        case 14 -> work();
        default -> write();
      }
    }

    /** A while without a fault. */
    private void work() {
      for (int i = 0; i < 4; i++) {
        this.servers.forEach(this::look);
        elect(false);
        write();
        replicate();
        this.servers.forEach((each) -> each.apply(this.random.nextInt(3)));
      }
    }

    private void mayKill(Server server) {
      if (server.runs && !oneIn(3)) {
        log("%s is killed", server.name());
        kill(server);
      }
    }

    private void kill(Server server) {
      server.runs = false;
      server.receives = false;
      server.view = null;
      if (server == this.leader) {
        this.leader = null;
        this.open = false;
      }
    }

    /** Transactions in the binary log are committed; those in the relay log are discarded. */
    private void restart(Server server) {
      log("%s restarts", server.name());
      server.runs = true;
      server.executed.putAll(server.committing);
      server.committing.clear();
      server.loseRelayLog();
    }

    /** The agent of a source is never lost without its source: the guard closes it. */
    private void restartAgent(Server server) {
      if (server == this.leader) {
        return;
      }
      if (server.managed && this.random.nextBoolean()) {
        log("the agent of %s stops", server.name());
        server.managed = false;
        server.view = null;
      } else {
        log("the agent of %s starts", server.name());
        server.startAgent(uuid());
        look(server);
      }
    }

    private void mayStepDown() {
      Server source = this.leader;
      if (source != null && this.random.nextBoolean()) {
        log("%s steps down", source.name());
        source.executed.putAll(source.committing);
        source.committing.clear();
        this.leader = null;
        this.open = false;
      }
    }

    private void write() {
      Server source = this.leader;
      if (source != null && this.open && source.committing.size() < 3) {
        Transaction next = next(source, 0);
        source.committing.put(next.gtid(), next);
      }
    }

    /** A server numbers its transactions by what it has executed. */
    private Transaction next(Server server, long term) {
      int number = 1;
      while (server.logged().containsKey(server.uuid + ":" + number)) {
        number++;
      }
      return new Transaction(server.uuid + ":" + number, ++this.numbers, term);
    }

    private String addressOf(String server) {
      return this.servers.get(0).properties.address(server);
    }

    private @Nullable Server at(String address) {
      return this.servers.stream()
          .filter((each) -> each.runs && addressOf(each.name()).equals(address))
          .findFirst()
          .orElse(null);
    }

    private void replicate() {
      for (Server each : this.servers) {
        Server from = at(each.replicatesFrom);
        if (each.runs && each.receives && from != null && from != each) {
          from.logged().values().stream()
              .filter((next) -> !each.has(next.gtid()) && !each.received.contains(next.gtid()))
              .limit(this.random.nextInt(5))
              .forEach((next) -> {
                each.relayed.put(next.gtid(), next);
                each.received.add(next.gtid());
              });
        }
      }
      Server source = this.leader;
      while (source != null && !source.committing.isEmpty()) {
        Transaction first = source.committing.values().iterator().next();
        List<String> have = this.servers.stream()
            .filter((each) -> each.receives
                && each.replicatesFrom.equals(addressOf(source.name()))
                && (first.equals(each.relayed.get(first.gtid()))
                    || first.equals(each.executed.get(first.gtid()))))
            .map(Server::name)
            .toList();
        if (have.size() < this.acknowledging) {
          return;
        }
        source.committing.remove(first.gtid());
        source.executed.put(first.gtid(), first);
        this.acknowledged.add(first);
        log("%s acknowledges %s to its client; %s have it", source.name(), first.gtid(), have);
      }
    }

    /** What an operator or a client with privileges does. */
    private void intervene(Server server) {
      boolean isLast = server.uuid.equals(this.last.uuid());
      int kind = this.random.nextInt(10);
      if (server == this.leader && kind != 0) {
        return;
      }
      switch (kind) {
        case 0 -> {
          log("a backup of %s is made", server.name());
          this.backups.add(
              new Backup(server.uuid, Map.copyOf(server.logged()), server.replicatesFrom));
        }
        case 1 -> mayRestore(server, isLast);
        case 2 -> {
          if (server.runs) {
            boolean all = this.random.nextBoolean();
            log("RESET REPLICA%s on %s", all ? " ALL" : "", server.name());
            server.loseRelayLog();
            server.replicatesFrom = all ? "" : server.replicatesFrom;
          }
        }
        case 3 -> {
          if (server.runs && oneIn(2)) {
            log("the GTIDs of %s are reset", server.name());
            this.damaged |= isLast;
            server.resetTerm = server.term();
            server.executed.clear();
          }
        }
        case 4 -> {
          if (!server.runs && oneIn(2)) {
            log("%s is replaced by a new server", server.name());
            this.damaged |= isLast;
            server.uuid = uuid();
            server.restore(Map.of());
            server.replicatesFrom = "";
          }
        }
        case 5 -> {
          log("the receiver of %s is stopped", server.name());
          server.receives = false;
        }
        case 6 -> startReceiver(server);
        case 7 -> {
          if (server.runs) {
            String to = addressOf(this.last.server());
            if (!to.equals(addressOf(server.name()))) {
              log("%s is set to replicate from %s", server.name(), to);
              server.loseRelayLog();
              server.replicatesFrom = to;
              startReceiver(server);
            }
          }
        }
        default -> {
          if (server.runs) {
            Transaction next = next(server, 0);
            server.executed.put(next.gtid(), next);
            this.damaged |= this.servers.stream()
                .anyMatch((each) ->
                    each.receives && each.replicatesFrom.equals(addressOf(server.name())));
            log("a client with privileges writes %s on %s", next.gtid(), server.name());
          }
        }
      }
    }

    private void startReceiver(Server server) {
      boolean recorded = server.uuid.equals(this.last.members().get(server.name()));
      if (server.runs && recorded && !server.replicatesFrom.isEmpty()) {
        this.damaged |= !server.managed; // nobody checks whether it may join
        log("the receiver of %s is started", server.name());
        server.receives = true;
      }
    }

    private void mayRestore(Server server, boolean isLast) {
      if (server.runs || this.backups.isEmpty()) {
        return;
      }
      List<Backup> own = this.backups.stream()
          .filter((each) -> each.uuid().equals(server.uuid))
          .toList();
      List<Backup> from = own.isEmpty() || oneIn(3) ? this.backups : own;
      Backup backup = from.get(this.random.nextInt(from.size()));
      String uuid = this.random.nextBoolean() ? backup.uuid() : uuid();
      log("a backup of %s is restored on %s, as %s", backup.uuid(), server.name(), uuid);
      this.damaged = true;
      server.uuid = uuid;
      server.restore(backup.executed());
      server.replicatesFrom = backup.source();
    }

    /** The agent looks at its server, and does what the agent does. */
    private void look(Server server) {
      if (!server.runs || !server.managed) {
        return;
      }
      Snapshot read = read();
      if (server == this.leader) {
        announce(server, Position.MAY_RECEIVE, read);
        Promotion grown = this.last.with(members(server));
        if (this.open && !grown.equals(this.last)) {
          log("the members are now %s", grown.members());
          this.last = grown;
        }
      } else if (this.leader == null) {
        server.stopReceiver();
        Announcer.Facts facts = announce(server, read.electionTerm(), read);
        boolean isFinal = facts.position().isFinal(read.electionTerm());
        server.view = isFinal ? read() : null;
        server.standing = facts.position();
      } else {
        server.view = null;
        Announcer.Facts facts = announce(server, Position.MAY_RECEIVE, read);
        if (!facts.unfit().isEmpty()) {
          server.stopReceiver();
          mayRebuild(server, facts.unfit());
        } else if (this.open) {
          follow(server, read);
        }
      }
    }

    private Announcer.Facts announce(Server server, long finalIn, Snapshot read) {
      return announce(server, finalIn, read, GtidSet.EMPTY);
    }

    private Announcer.Facts announce(Server server, long finalIn, Snapshot read, GtidSet proven) {
      Announcer.Facts facts = Announcer.facts(
          server.properties,
          server.agent,
          proven,
          server.hasPublished,
          server.state(),
          finalIn,
          read);
      if (facts.mayCount()) {
        this.positions.put(
            server.name(), Position.parse(facts.position().print()).orElseThrow());
        server.hasPublished = true;
      }
      return facts;
    }

    private Map<String, String> members(Server server) {
      return this.last.membersAmong(server.properties, this.positions, server.uuid);
    }

    /** As {@link Follower} does. */
    private void follow(Server server, Snapshot read) {
      ServerState state = server.state();
      AgentProperties set = server.properties;
      Link.Step step = server.link.look(set, this.last, state, 0);
      if (step.action() == Link.Action.ASK) {
        Server peer = at(addressOf(this.last.server()));
        step = peer == null
            ? step.link().unanswered(this.last, state, "it is down")
            : step.link().answered(set, this.last, state, peer.peer(), read);
      }
      server.link = step.link();
      switch (step.action()) {
        case STOP -> server.stopReceiver();
        case JOIN -> {
          log("%s joins %s", server.name(), this.last.server());
          server.loseRelayLog();
          server.replicatesFrom = addressOf(this.last.server());
          server.receives = true;
          server.link = server.link.started(this.last, 0);
        }
        default -> {
          if (!step.proof().isEmpty()) {
            announce(server, Position.MAY_RECEIVE, read, step.proof());
          }
        }
      }
      Status status = step.status();
      if (status != null && status.role() == Status.Role.REFUSED) {
        mayRebuild(server, status.reason());
      }
    }

    private void mayRebuild(Server server, String reason) {
      Server source = this.leader;
      if (source != null && this.open && oneIn(3)) {
        log("%s is rebuilt: %s", server.name(), reason);
        this.positions.remove(server.name());
        server.restore(source.executed);
        server.uuid = this.random.nextBoolean() ? uuid() : server.uuid;
        server.replicatesFrom = "";
      }
    }

    /** Elects one of the servers whose agents stand. */
    private void elect(boolean calm) {
      if (this.leader != null) {
        return;
      }
      List<Server> order = new ArrayList<>(this.servers);
      Collections.shuffle(order, this.random);
      int patience = calm ? 20 : this.random.nextInt(20);
      for (int openFor = 0; openFor <= patience; openFor += 2) {
        for (Server each : order) {
          Snapshot view = each.view;
          if (view != null) {
            Candidacy.Decision decision =
                each.candidacy.decide(view, each.standing, Duration.ofSeconds(openFor));
            if (decision.stands()) {
              promote(each, decision, calm);
              return;
            }
            if (openFor == 20) {
              log("%s does not stand: %s", each.name(), decision.turn().reason());
            }
          }
        }
      }
    }

    /** Promotes a server, unless the server or its agent is lost. */
    private void promote(Server server, Candidacy.Decision decision, boolean calm) {
      long electionTerm = ++this.elections;
      log("%s is elected; %s were passed over", server.name(), decision.passedOver());
      GtidSet awaited = server.state().received();
      if (!calm && this.random.nextBoolean()) {
        for (int i = this.random.nextInt(3); i > 0; i--) {
          Server other = any();
          intervene(other);
          if (this.random.nextBoolean()) {
            look(any());
          }
        }
      }
      if (!server.runs || !server.managed || server.receives) {
        return;
      }
      server.apply(Integer.MAX_VALUE);
      ServerState applied = server.state();
      if (!applied.executed().contains(awaited)) {
        log("%s lacks what it waits for", server.name());
        return;
      }
      Snapshot read = read();
      Position own = announce(server, read.electionTerm(), read).position();
      Candidacy.Decision confirmed = server.candidacy.confirm(read, own, decision);
      if (!confirmed.stands()) {
        log("%s gives up: %s", server.name(), confirmed.turn().reason());
        return;
      }
      long newest = read.positions().values().stream()
          .filter((each) -> each.isFinal(this.last.electionTerm()))
          .mapToLong(Position::term)
          .reduce(applied.term(), Math::max);
      Promotion promotion;
      try {
        promotion = this.last.next(own, applied, newest, electionTerm, members(server));
      } catch (IllegalStateException ex) {
        log("%s gives up: %s", server.name(), ex.getMessage());
        return;
      }
      server.loseRelayLog();
      server.replicatesFrom = "";
      this.last = Promotion.parse(promotion.print());
      this.servers.forEach((each) -> each.view = null);
      log(
          "%s is promoted in term %d with %s",
          server.name(),
          promotion.term(),
          this.positions.values().stream()
              .map((each) -> "%s(%s, whole=%s, received=%s)"
                  .formatted(
                      each.server(), each.finalIn(), !each.proof().isEmpty(), each.received()))
              .toList());
      Set<Transaction> lost = new HashSet<>(this.acknowledged);
      lost.removeAll(server.executed.values());
      assertThat(lost).as("acknowledged, and lost: %s", this).isEmpty();
      if (!calm && oneIn(6)) {
        mayKill(server);
        return;
      }
      if (server.term() < promotion.term()) {
        Transaction note = next(server, promotion.term());
        server.executed.put(note.gtid(), note);
      }
      if (!calm && oneIn(6)) {
        mayKill(server);
        return;
      }
      this.leader = server;
      this.open = true;
      this.promotions++;
    }

    @Override
    public String toString() {
      return this.servers.stream()
          .map((each) ->
              each.name() + "=" + each.uuid + " executed " + gtids(each.executed.keySet()))
          .collect(Collectors.joining(
              "\n  ",
              "seed %d:\n  %s\n  ".formatted(this.seed, String.join("\n  ", this.history)),
              ""));
    }
  }

  @ParameterizedTest
  @CsvSource({"1, 1", "2, 1", "2, 2", "3, 1", "3, 2"})
  void nothingAcknowledgedIsLostAndASourceIsFoundWhenAllAreBack(int replicas, int acknowledging) {
    int promotions = 0;
    int acknowledged = 0;
    for (int seed = 1; seed <= HISTORIES; seed++) {
      Simulation simulation = new Simulation(seed, replicas, acknowledging);
      simulation.run();
      if (!simulation.damaged) {
        assertThat(simulation.leader)
            .as("the source when all are back: %s", simulation)
            .isNotNull();
      }
      promotions += simulation.promotions;
      acknowledged += simulation.acknowledged.size();
    }
    System.out.printf(
        "%d promotions, %d acknowledged in %d histories%n", promotions, acknowledged, HISTORIES);
    assertThat(promotions).isGreaterThan(HISTORIES);
    assertThat(acknowledged).isGreaterThan(HISTORIES);
  }
}
