package io.election.mysql.failover.agent;

import static org.awaitility.Awaitility.await;

import io.election.etcd.EtcdProcess;
import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Sampler.Writable;
import io.election.mysql.failover.agent.Status.Role;
import io.election.mysql.failover.agent.Writer.Written;
import io.election.support.Signal;
import io.election.support.process.TcpProxy;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.awaitility.core.ConditionTimeoutException;

/**
 * Servers, each with an agent in a JVM of its own, a proxy to etcd for each agent, and for each
 * server two writers that write whenever they can, one of them as root, and a sampler.
 */
final class FailoverSet implements AutoCloseable {

  static final Duration LEASE = Duration.ofSeconds(5);

  /** How long to wait for each condition. */
  Duration patience = Duration.ofSeconds(150);

  private static final Duration PAUSE = Duration.ofMillis(4);

  private static final long IDS_PER_WRITER = 1_000_000_000L;

  /** How many replicas acknowledge. */
  final int acknowledging;

  final EtcdProcess etcd = EtcdProcess.start();
  final ReplicationSet set;
  final Map<String, TcpProxy> proxies = new TreeMap<>();
  final Map<String, AgentProcess> agents = new TreeMap<>();

  /** When servers were resumed, by the monotonic clock. */
  final Map<String, Long> resumed = new TreeMap<>();

  /** When rebuilds of servers were requested, by the monotonic clock. */
  final Map<String, Long> rebuilt = new TreeMap<>();

  /** Violations seen so far, for instance a role without a reason. */
  final Set<String> violations = new TreeSet<>();

  /** The reasons for which servers were rebuilt. */
  final List<String> refusals = new ArrayList<>();

  private final List<Writer> writers = new ArrayList<>();
  private final List<Sampler> samplers = new ArrayList<>();
  private final Path folder;

  /**
   * Starts a set, and writers.
   *
   * @param folder where the logs are written
   */
  FailoverSet(Path folder, int acknowledging, String... names) throws SQLException {
    this.folder = folder;
    this.acknowledging = acknowledging;
    this.set = new ReplicationSet(names);
    for (Server server : this.set.servers.values()) {
      TcpProxy proxy = TcpProxy.to(
          new InetSocketAddress("127.0.0.1", URI.create(this.etcd.url()).getPort()),
          () -> (packet) -> 1);
      this.proxies.put(server.name, proxy);
      List<String> arguments = new ArrayList<>(AgentProcess.arguments(
          server, this.set.servers.values(), "set", "http://127.0.0.1:" + proxy.port()));
      this.agents.put(
          server.name, new AgentProcess(arguments, folder.resolve(server.name + "-agent.log")));
      this.writers.add(
          new Writer(() -> Optional.of(server), this.writers.size() * IDS_PER_WRITER, PAUSE));
      this.writers.add(Writer.administrator(
          server, this.writers.size() * IDS_PER_WRITER, PAUSE.multipliedBy(5)));
      this.samplers.add(new Sampler(server));
    }
    until("initialized", () -> {
      try {
        return this.agents.get(names[0]).initialize(acknowledging).statusCode() == 202;
      } catch (IOException ex) {
        return false;
      }
    });
  }

  /**
   * Puts a proxy between each agent, except that of the source, and its server. Each proxy waits
   * for the given statements, and discards the answer to the last one, or holds it.
   */
  Traps trapAgents(String source, List<String> statements, boolean hold) {
    Traps traps = new Traps(statements, hold);
    this.agents.keySet().stream().filter((name) -> !name.equals(source)).forEach(traps::add);
    until("complete behind proxies", () -> {
      // On a busy machine the source may lose its lease meanwhile, and be shut down by its guard.
      start();
      Optional<String> current = sourceOfCompleteSet(statuses());
      if (current.isPresent() && !current.get().equals(source)) {
        this.agents.get(current.get()).switchOver(source);
        return false;
      }
      return current.isPresent();
    });
    traps.arm();
    return traps;
  }

  /** Agents behind proxies. They replace the ordinary agents, which come back at the end. */
  final class Traps implements AutoCloseable {

    private final String[] statements;
    private final boolean hold;
    private final Map<String, AgentProcess> replaced = new TreeMap<>();
    private final Map<String, TcpProxy> ways = new TreeMap<>();
    private final Map<String, TcpProxy.Trap> traps = new TreeMap<>();

    private Traps(List<String> statements, boolean hold) {
      this.statements = statements.toArray(String[]::new);
      this.hold = hold;
    }

    private void add(String name) {
      TcpProxy way = TcpProxy.to(
          new InetSocketAddress(FailoverSet.this.set.get(name).host(), 3306), () -> (packet) -> 1);
      AgentProcess before = FailoverSet.this.agents.get(name);
      before.close();
      // Without TLS, so that the proxy can read the statements.
      String url = ReplicationSet.url("127.0.0.1", way.port()) + "&sslMode=DISABLED";
      this.replaced.put(name, before);
      this.ways.put(name, way);
      FailoverSet.this.agents.put(name, before.with("--as.failover.url=", url));
    }

    private void arm() {
      this.ways.forEach((name, way) -> this.traps.put(
          name,
          this.hold ? way.holdAnswerTo(this.statements) : way.resetAfterAnswerTo(this.statements)));
    }

    /** Waits for the first agent that has sent the statements. Answers to others are not held. */
    AgentProcess awaitVictim() {
      String victim = await("an agent sends " + List.of(this.statements))
          .atMost(FailoverSet.this.patience)
          .pollInterval(Duration.ofMillis(1))
          .until(
              () -> this.traps.keySet().stream()
                  .filter((name) -> this.traps.get(name).isSprung())
                  .findFirst(),
              Optional::isPresent)
          .orElseThrow();
      if (this.hold) {
        this.ways.forEach((name, way) -> {
          if (!name.equals(victim)) {
            way.heal();
          }
        });
      }
      return FailoverSet.this.agents.get(victim);
    }

    /** Lets answers that are held arrive. */
    void release() {
      this.ways.values().forEach(TcpProxy::heal);
    }

    /** Stops the agents behind proxies. {@link #settle} starts the ordinary ones. */
    @Override
    public void close() {
      this.replaced.forEach((name, before) -> {
        FailoverSet.this.agents.get(name).close();
        FailoverSet.this.agents.put(name, before);
        this.ways.get(name).close();
      });
    }
  }

  /** Returns the statuses of the servers whose agents answer. */
  Map<String, Status> statuses() {
    Map<String, Status> statuses = new TreeMap<>();
    this.agents.forEach((name, agent) -> {
      if (agent.isRunning()) {
        agent.status().ifPresent((status) -> statuses.put(name, status));
      }
    });
    statuses.forEach((name, status) -> {
      if (status.role() != Role.SOURCE
          && status.role() != Role.REPLICA
          && status.reason().isBlank()) {
        this.violations.add(status.role() + " without a reason");
      }
    });
    return statuses;
  }

  /** Returns all transactions acknowledged since an instant, in the order of the answers. */
  List<Written> written(long since) {
    return this.writers.stream()
        .flatMap((writer) -> writer.written().stream())
        .filter((each) -> each.at() >= since)
        .sorted(Comparator.comparingLong(Written::at))
        .toList();
  }

  /** Returns when servers were writable, except for periods that ended before an instant. */
  List<Writable> writable(long since) {
    return this.samplers.stream()
        .flatMap((sampler) -> sampler.writable().stream())
        .filter((each) -> each.lastEnded() >= since)
        .toList();
  }

  /** Waits until a source has acknowledged some writes from now on. */
  void awaitWrites(Predicate<String> source) {
    long since = System.nanoTime();
    until("written to", () -> hasWritten(since, source));
  }

  private boolean hasWritten(long since, Predicate<String> source) {
    List<Written> written = written(since);
    return written.size() > 20 && source.test(written.get(written.size() - 1).server());
  }

  /**
   * Starts all servers and agents that are down, rebuilds refused servers, and waits until the set
   * is complete, its source acknowledges writes, and the positions of all replicas count.
   *
   * @return the name of the source
   */
  String settle() {
    AtomicReference<String> source = new AtomicReference<>("");
    AtomicLong since = new AtomicLong();
    until("complete", () -> {
      start();
      Map<String, Status> statuses = statuses();
      rebuild(statuses);
      String current = sourceOfCompleteSet(statuses).orElse("");
      if (current.isEmpty() || !source.get().equals(current)) {
        source.set(current);
        since.set(System.nanoTime());
      }
      return !current.isEmpty() && hasWritten(since.get(), current::equals) && allCount();
    });
    return source.get();
  }

  /**
   * Hands over until the given server is the source. On a busy machine it may not catch up in time,
   * or not take over within a lease, so that another server does.
   */
  void switchOver(String target) {
    until("handed over to " + target, () -> {
      String source = settle();
      if (!source.equals(target)) {
        this.agents.get(source).switchOver(target);
      }
      return source.equals(target);
    });
  }

  /** Returns whether each replica is proven to have all that it ever acknowledged. */
  private boolean allCount() {
    Promotion last = Promotion.parse(read(""));
    Stream<Position> positions = this.agents.keySet().stream()
        .flatMap((name) -> Position.parse(read("/positions/" + name)).stream());
    return LocalAgents.counting(last, positions).size() == this.agents.size() - 1;
  }

  private String read(String key) {
    return this.etcd.ctl("get", "--print-value-only", "/mysql-failover/set" + key);
  }

  /** Returns the source if all other servers are its replicas. */
  private Optional<String> sourceOfCompleteSet(Map<String, Status> statuses) {
    List<String> sources = statuses.keySet().stream()
        .filter((name) -> statuses.get(name).role() == Role.SOURCE)
        .toList();
    boolean complete = sources.size() == 1
        && statuses.size() == this.agents.size()
        && statuses.values().stream()
            .allMatch((each) -> each.role() == Role.SOURCE || each.role() == Role.REPLICA);
    return complete ? Optional.of(sources.get(0)) : Optional.empty();
  }

  /** Returns the transactions that each server but the source has executed. */
  Map<String, GtidSet> executedByReplicas(String source) throws SQLException {
    Map<String, GtidSet> executed = new TreeMap<>();
    for (Server server : this.set.servers.values()) {
      if (!server.name.equals(source)) {
        executed.put(server.name, GtidSet.parse(server.query("SELECT @@GLOBAL.gtid_executed")));
      }
    }
    return executed;
  }

  private void start() {
    this.agents.forEach((name, agent) -> {
      if (!agent.isRunning()) {
        agent.start();
      }
      if (!this.set.get(name).isRunning()) {
        this.set.get(name).startAgain();
      }
    });
  }

  /** Waits until an agent reports a role, and returns the name of its server. */
  String awaitRole(Role role) {
    AtomicReference<String> found = new AtomicReference<>();
    await("a server is " + role)
        .atMost(this.patience)
        .pollInterval(Duration.ofMillis(10))
        .until(() -> {
          statuses().forEach((name, status) -> {
            if (status.role() == role) {
              found.set(name);
            }
          });
          return found.get() != null;
        });
    return found.get();
  }

  /**
   * Waits until an agent reports a reason, or until a write that was sent since an instant is
   * acknowledged.
   *
   * @return whether such a write was acknowledged
   */
  boolean isWrittenToBefore(String reason, long since) {
    until(
        "explained",
        () -> acknowledgesWhatWasSent(since)
            || statuses().values().stream().anyMatch((each) -> each.reason().contains(reason)));
    return acknowledgesWhatWasSent(since);
  }

  /** Returns whether a write that was sent since an instant was acknowledged. */
  boolean acknowledgesWhatWasSent(long since) {
    return written(since).stream().anyMatch((each) -> each.began() >= since);
  }

  /** Waits until agents answer. */
  void awaitAnswers(Collection<String> names) {
    until("answering", () -> statuses().keySet().containsAll(names));
  }

  /** Prevents servers from applying received transactions. */
  Locks lockTables(List<String> servers) throws SQLException {
    Locks locks = new Locks();
    for (String server : servers) {
      locks.add(server);
    }
    return locks;
  }

  /** Locks on the tables of servers. */
  final class Locks implements AutoCloseable {

    private final Map<String, Connection> connections = new TreeMap<>();
    private final Map<String, String> ids = new TreeMap<>();

    private void add(String name) throws SQLException {
      Connection connection = FailoverSet.this.set.get(name).connect();
      this.connections.put(name, connection);
      try (Statement statement = connection.createStatement();
          ResultSet row = statement.executeQuery("SELECT CONNECTION_ID()")) {
        row.next();
        this.ids.put(name, row.getString(1));
        statement.execute("LOCK TABLES orders.written READ");
      }
    }

    void releaseExcept(String name) throws SQLException {
      for (String other : this.connections.keySet()) {
        if (!other.equals(name)) {
          this.connections.get(other).close();
        }
      }
    }

    /**
     * Kills the connections, since a server that was unplugged does not notice that its client is
     * gone.
     */
    @Override
    public void close() throws SQLException {
      for (Connection connection : this.connections.values()) {
        connection.abort(Runnable::run);
      }
      this.ids.forEach((name, id) -> until("unlocked", () -> {
        Server server = FailoverSet.this.set.get(name);
        if (server.isRunning()) {
          try {
            server.execute("KILL " + id);
          } catch (SQLException ex) {
            return ex.getErrorCode() == 1094; // it is already gone
          }
        }
        return true;
      }));
    }
  }

  /**
   * Rebuilds refused servers, each server once per round, and again if the clone failed: the source
   * may have been lost meanwhile.
   */
  private void rebuild(Map<String, Status> statuses) {
    statuses.forEach((name, status) -> {
      long now = System.nanoTime();
      if (status.role() == Role.REFUSED
          && (this.refusals.stream().noneMatch((each) -> each.startsWith(name + ":"))
              || status.reason().matches("(?s).*a clone from \\S+ has failed.*"))
          && rebuild(name)) {
        this.rebuilt.putIfAbsent(name, now);
        this.refusals.add(name + ": " + status.reason());
      }
    });
  }

  private boolean rebuild(String name) {
    try {
      return this.agents.get(name).rebuild().statusCode() == 202;
    } catch (IOException ex) {
      return false;
    }
  }

  void until(String what, Callable<Boolean> condition) {
    try {
      await(what).atMost(this.patience).pollInterval(Duration.ofMillis(200)).until(condition);
    } catch (ConditionTimeoutException ex) {
      throw new IllegalStateException(
          "The set is not %s in time. Statuses reported by the agents: %s. Running servers: %s"
              .formatted(
                  what,
                  statuses(),
                  this.set.servers.values().stream()
                      .filter(Server::isRunning)
                      .map((server) -> server.name)
                      .toList()),
          ex);
    }
  }

  @Override
  public void close() {
    this.writers.forEach(Writer::close);
    this.samplers.forEach(Sampler::close);
    this.agents.values().forEach((agent) -> agent.send(Signal.CONT));
    this.agents.values().forEach(AgentProcess::close);
    this.proxies.values().forEach(TcpProxy::close);
    this.set.servers.values().forEach((server) -> {
      try {
        Files.writeString(this.folder.resolve(server.name + "-server.log"), server.log());
      } catch (IOException ex) {
        throw new UncheckedIOException(ex);
      }
    });
    this.set.close();
    this.etcd.close();
  }
}
