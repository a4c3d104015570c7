package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.Member;
import io.election.lease.Precedence.Kind;
import io.election.lease.Precedence.OpenElection;
import io.election.lease.Precedence.Turn;
import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.Joining;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Random;
import java.util.Set;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Random histories of sets in which servers and agents are lost at any step. The agents decide by
 * their own rules; the servers are modelled: a binary log, a relay log, and what a restart loses of
 * them. System property: {@code failover.histories}, the number of histories.
 */
class FailoverSimulationTest {

  /** Longer than a server holds back if all others are fresher and do not stand. */
  private static final Duration LONG = Duration.ofSeconds(20);

  private static final int STEPS = 60;

  private static final int HISTORIES = Integer.getInteger("failover.histories", 500);

  /** A transaction; {@code term} is that of the promotion that it records, or 0. */
  private record Transaction(String uuid, int number, long term) {}

  /** A server, and what its agent has published. */
  private static final class Server {

    final String name;
    final AgentProperties properties;
    final FreshestFirst freshest;
    String uuid;

    /** The transactions that it has executed. */
    List<Transaction> executed = new ArrayList<>();

    /** The transactions that it has received but not applied. */
    List<Transaction> relayed = new ArrayList<>();

    /** The transactions that it is committing as the source. */
    List<Transaction> committing = new ArrayList<>();

    /** The address of the source that it is set to replicate from. */
    String replicatesFrom = "";

    boolean runs = true;
    boolean receives;
    boolean whole;

    /** What the source had when this server joined it. */
    Set<Transaction> sourceHad = Set.of();

    Server(String name, AgentProperties properties, String uuid) {
      this.name = name;
      this.properties = properties;
      this.freshest = new FreshestFirst(properties);
      this.uuid = uuid;
    }

    String address() {
      return this.properties.address();
    }

    List<Transaction> received() {
      List<Transaction> received = new ArrayList<>(this.executed);
      received.addAll(this.relayed);
      return received;
    }

    /** The transactions that its replicas may receive. */
    List<Transaction> logged() {
      List<Transaction> logged = new ArrayList<>(this.executed);
      logged.addAll(this.committing);
      return logged;
    }

    long term() {
      return this.executed.stream().mapToLong(Transaction::term).max().orElse(0);
    }

    void apply(int count) {
      for (int i = 0; i < count && !this.relayed.isEmpty(); i++) {
        this.executed.add(this.relayed.remove(0));
      }
    }

    boolean follows(Server source) {
      return this.runs && this.receives && this.replicatesFrom.equals(source.address());
    }

    void receive(int count, List<Transaction> logged) {
      Set<Transaction> received = new HashSet<>(received());
      logged.stream()
          .filter((each) -> !received.contains(each))
          .limit(count)
          .forEach(this.relayed::add);
      if (received().containsAll(this.sourceHad)) {
        this.whole = true;
      }
    }

    void kill() {
      this.runs = false;
      this.receives = false;
      this.freshest.withdraw();
    }

    void lose() {
      this.executed.clear();
      this.relayed.clear();
      this.committing.clear();
      this.replicatesFrom = "";
    }

    /** Transactions in the binary log are committed; those in the relay log are discarded. */
    void restart() {
      this.runs = true;
      this.whole = false;
      this.executed.addAll(this.committing);
      this.committing.clear();
      this.relayed.clear();
    }

    ServerState state() {
      return new ServerState(
          this.uuid,
          gtids(this.executed),
          gtids(received()),
          true,
          true,
          term(),
          this.replicatesFrom,
          this.receives,
          this.receives,
          true,
          0,
          0,
          this.name.charAt(0),
          "",
          "",
          this.whole);
    }
  }

  private static GtidSet gtids(Collection<Transaction> transactions) {
    return GtidSet.parse(String.join(
        ",",
        transactions.stream().map((each) -> each.uuid() + ":" + each.number()).toList()));
  }

  /** A set of servers, and the record of its last promotion. */
  private static final class Simulation {

    final long seed;
    final Random random;
    final int acknowledging;
    final List<Server> servers = new ArrayList<>();
    final Set<Transaction> acknowledged = new HashSet<>();
    final List<String> history = new ArrayList<>();
    Optional<Promotion> last = Optional.empty();

    @Nullable
    Server source;

    long elections;
    int uuids;
    int numbers;
    int promotions;

    /** Whether a source has lost its data, so that an acknowledged transaction may be gone. */
    boolean diskLost;

    Simulation(long seed, int replicas, int acknowledging) {
      this.seed = seed;
      this.random = new Random(seed);
      this.acknowledging = acknowledging;
      String[] names = Stream.of("a", "b", "c", "d").limit(replicas + 1).toArray(String[]::new);
      boolean isNew = this.random.nextBoolean();
      for (String name : names) {
        Server server = new Server(
            name,
            FreshestFirstTest.properties(name, acknowledging, Duration.ofSeconds(2), names),
            newUuid());
        if (!isNew) {
          server.executed.add(new Transaction("00000000-0000-0000-0000-000000009999", 1, 0));
        }
        this.servers.add(server);
      }
    }

    private String newUuid() {
      return "00000000-0000-0000-0000-%012d".formatted(++this.uuids);
    }

    private void log(String format, Object... arguments) {
      this.history.add(format.formatted(arguments));
    }

    void run() {
      for (int step = 0; step < STEPS; step++) {
        switch (this.random.nextInt(10)) {
          case 0 -> kill(any(this.servers));
          case 1 -> this.servers.stream().filter((each) -> !each.runs).forEach(this::mayRestart);
          case 2 -> mayElect();
          case 3, 4 -> this.servers.forEach(this::mayJoin);
          case 5 -> any(this.servers).apply(this.random.nextInt(3));
          case 6, 7 -> replicate();
          default -> write();
        }
      }
      this.servers.stream().filter((each) -> !each.runs).forEach(this::restart);
      if (this.source == null) {
        elect(this.servers, true);
      }
    }

    private Server any(List<Server> servers) {
      return servers.get(this.random.nextInt(servers.size()));
    }

    private void kill(Server server) {
      if (!server.runs) {
        return;
      }
      log("%s is killed", server.name);
      server.kill();
      if (server == this.source) {
        this.source = null;
        if (!this.diskLost && this.random.nextInt(8) == 0) {
          this.diskLost = true;
          log("%s is replaced by an empty server", server.name);
          server.lose();
          server.uuid = newUuid();
        }
      }
    }

    private void mayRestart(Server server) {
      if (this.random.nextBoolean()) {
        restart(server);
      }
    }

    private void restart(Server server) {
      log("%s restarts", server.name);
      server.restart();
    }

    private void write() {
      Server source = this.source;
      if (source != null && source.committing.size() < 3) {
        source.committing.add(new Transaction(source.uuid, ++this.numbers, 0));
      }
    }

    private void replicate() {
      Server source = this.source;
      if (source == null) {
        return;
      }
      this.servers.stream()
          .filter((each) -> each.follows(source))
          .forEach((each) -> each.receive(this.random.nextInt(4), source.logged()));
      while (!source.committing.isEmpty()) {
        Transaction first = source.committing.get(0);
        long have = this.servers.stream()
            .filter((each) -> each.follows(source) && each.received().contains(first))
            .count();
        if (have < this.acknowledging) {
          return;
        }
        source.executed.add(source.committing.remove(0));
        this.acknowledged.add(first);
        log("%s acknowledges %d", source.name, first.number());
      }
    }

    /** The source may run on, without being able to renew its lease. */
    private void mayElect() {
      Server source = this.source;
      if (source != null) {
        if (this.random.nextBoolean()) {
          return;
        }
        log("%s steps down", source.name);
        source.executed.addAll(source.committing);
        source.committing.clear();
        source.freshest.withdraw();
        this.source = null;
      }
      List<Server> seen = this.servers.stream()
          .filter((each) -> each.runs && this.random.nextInt(8) > 0)
          .toList();
      elect(seen, false);
    }

    /**
     * Elects one of the servers whose agents run.
     *
     * @param calm whether all of them are fit, and none is lost during its promotion
     */
    private void elect(List<Server> seen, boolean calm) {
      long since = this.last.map(Promotion::electionTerm).orElse(0L);
      seen.forEach((each) -> {
        each.receives = false;
        each.freshest.know(this.last);
        each.freshest.unfit(!calm && this.random.nextInt(8) == 0 ? "it is unfit" : "", false);
        each.freshest.publish(each.state(), since, new Status(Status.Role.WAITING, "", 0));
      });
      List<Member> members = seen.stream()
          .map((each) -> FreshestFirstTest.member(each.name, each.freshest.position("set")))
          .toList();
      List<Server> order = new ArrayList<>(seen);
      Collections.shuffle(order, this.random);
      for (Duration openFor = Duration.ZERO;
          openFor.compareTo(LONG) < 0;
          openFor = openFor.plusSeconds(2)) {
        for (Server each : order) {
          Turn turn =
              each.freshest.turn(new OpenElection("set", openFor, false, Optional.of(members)));
          if (turn.kind() == Kind.AT_ONCE) {
            promote(each, members, calm ? 0 : this.random.nextInt(4));
            return;
          }
        }
      }
      order.forEach((each) -> log("%s stands aside: %s", each.name, each.freshest.reason()));
    }

    /**
     * Promotes a server.
     *
     * @param lostAt 1 if its agent is lost after it has recorded the promotion, 2 if after the term
     *     was written to the data
     */
    private void promote(Server server, List<Member> members, int lostAt) {
      server.apply(Integer.MAX_VALUE);
      assertThat(server.freshest.fresher(members, gtids(server.executed)))
          .as("servers fresher than %s: %s", server.name, this)
          .isEmpty();
      long electionTerm = ++this.elections;
      Promotion promotion;
      try {
        promotion = Promotion.next(
            server.properties, server.freshest, server.state(), this.last, electionTerm);
      } catch (IllegalStateException ex) {
        log("%s gives up: %s", server.name, ex.getMessage());
        return;
      }
      server.replicatesFrom = "";
      server.whole = false; // a source uses the variable of the mark
      this.last = Optional.of(promotion);
      log("%s is promoted in term %d", server.name, promotion.term());
      if (lostAt == 1) {
        mayLose(server);
        return;
      }
      server.executed.add(new Transaction(server.uuid, ++this.numbers, promotion.term()));
      if (lostAt == 2) {
        mayLose(server);
        return;
      }
      assertThat(server.executed)
          .as("what was acknowledged: %s", this)
          .containsAll(this.acknowledged);
      log("%s accepts writes", server.name);
      this.promotions++;
      this.source = server;
    }

    private void mayLose(Server server) {
      log("%s gives up", server.name);
      if (this.random.nextBoolean()) {
        kill(server);
      }
    }

    private void mayJoin(Server server) {
      Server source = this.source;
      if (source == null || server == source || !server.runs || server.follows(source)) {
        return;
      }
      Promotion last = this.last.orElseThrow();
      if (this.random.nextBoolean()) {
        server.apply(Integer.MAX_VALUE);
      }
      Joining.Verdict verdict = Joining.decide(
          server.term(),
          gtids(server.received()),
          last.term(),
          last.position(),
          gtids(source.logged()));
      if (verdict.allowed()) {
        log("%s joins %s", server.name, source.name);
        assertThat(source.logged())
            .as("what %s has received: %s", server.name, this)
            .containsAll(server.received());
        if (!server.relayed.isEmpty()) {
          server.whole = false;
          server.relayed.clear();
        }
      } else if (this.random.nextInt(3) == 0) {
        log("%s is rebuilt: %s", server.name, verdict.reason());
        server.uuid = newUuid();
        server.executed = new ArrayList<>(source.executed);
        server.relayed.clear();
        server.whole = false;
      } else {
        return;
      }
      server.replicatesFrom = source.address();
      server.sourceHad = Set.copyOf(source.logged());
      server.receives = true;
      server.freshest.withdraw();
    }

    @Override
    public String toString() {
      return "seed %d:\n  %s".formatted(this.seed, String.join("\n  ", this.history));
    }
  }

  @ParameterizedTest
  @CsvSource({"2, 1", "2, 2", "3, 1", "3, 2"})
  void nothingAcknowledgedIsLostAndASourceIsFoundWhenAllAreBack(int replicas, int acknowledging) {
    int promotions = 0;
    for (int seed = 1; seed <= HISTORIES; seed++) {
      Simulation simulation = new Simulation(seed, replicas, acknowledging);
      simulation.run();
      if (!simulation.diskLost) {
        assertThat(simulation.source)
            .as("the source when all are back: %s", simulation)
            .isNotNull();
      }
      promotions += simulation.promotions;
    }
    System.out.printf("%d promotions in %d histories%n", promotions, HISTORIES);
    assertThat(promotions).isGreaterThan(HISTORIES);
  }
}
