package io.election.benchmarks.scale;

import io.election.Leadership;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.benchmarks.scale.NodeFile.Counter;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.lease.LeaseSettings;
import io.election.mysql.ElectionDatabase;
import io.election.mysql.MysqlLeaseStore;
import java.nio.file.Path;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.jdbc.datasource.DriverManagerDataSource;

/**
 * A process that is many nodes: each an elector of its own, with its own threads, connection and store.
 * All are asked again and again whether they lead.
 */
public final class ScaleNodes {

  private final Fleet fleet;

  private final NodeFile file;

  private final long tenureNanos;

  private final List<Node> nodes = new ArrayList<>();

  private final long[] places;

  private final Tenure[] tenures;

  private ScaleNodes(Fleet fleet, NodeFile file) {
    this.fleet = fleet;
    this.file = file;
    LeaseSettings settings = fleet.settings();
    this.tenureNanos = settings.leaseDuration().minus(settings.margin()).toNanos();
    this.places = new long[fleet.size() * fleet.elections()];
    this.tenures = new Tenure[this.places.length];
  }

  /**
   * Takes part until killed or stopped.
   *
   * @param arguments {@link Fleet#arguments()} and {@code file=…}, where the figures go
   */
  public static void main(String[] arguments) {
    Map<String, String> values = Stream.of(arguments)
        .map((argument) -> argument.split("=", 2))
        .collect(Collectors.toMap((pair) -> pair[0], (pair) -> pair[1]));
    Fleet fleet = Fleet.parse(values);
    new ScaleNodes(fleet, NodeFile.open(Path.of(Fleet.value(values, "file")))).run();
  }

  /** One of the nodes. */
  private record Node(String id, Elector elector, List<LeaseElectionService> elections) {}

  private void run() {
    for (int i = 0; i < this.fleet.size(); i++) {
      this.nodes.add(node("node-" + (this.fleet.first() + i)));
    }
    this.file.set(Counter.SWEPT_AT, System.nanoTime());
    while (this.file.get(Counter.GO) == 0) {
      LockSupport.parkNanos(1_000_000);
    }
    Thread starts = new Thread(this::startAll, "starts");
    starts.setDaemon(true);
    starts.start();
    boolean designated = false;
    while (true) {
      long swept = System.nanoTime();
      sweep();
      long now = System.nanoTime();
      this.file.set(Counter.SWEPT_AT, now);
      this.file.set(Counter.SWEEP_NANOS, now - swept);
      if (!designated && this.file.get(Counter.DESIGNATE) != 0) {
        designated = true;
        Thread designation = new Thread(this::designate, "designation");
        designation.setDaemon(true);
        designation.start();
      }
      LockSupport.parkNanos(this.fleet.sampleNanos() - (now - swept));
    }
  }

  private void startAll() {
    long start = System.nanoTime();
    for (int i = 0; i < this.nodes.size(); i++) {
      long due = start + this.fleet.startNanos() / this.nodes.size() * i;
      while (System.nanoTime() - due < 0) {
        LockSupport.parkNanos(due - System.nanoTime());
      }
      Node node = this.nodes.get(i);
      node.elector().start(node.elections());
      this.file.add(Counter.STARTED, 1);
    }
  }

  private Node node(String id) {
    LeaseSettings settings = this.fleet.settings();
    ElectionDatabase database = new ElectionDatabase(
        new DriverManagerDataSource(
            this.fleet.address(), this.fleet.username(), this.fleet.password()),
        this.fleet.address());
    Elector elector = new Elector(
        new MeasuredStore(
            // Without signals, which would take as many connections again.
            new MysqlLeaseStore(
                database,
                MysqlLeaseStore.SchemaMode.NONE,
                settings.operationTimeout(),
                settings.renewInterval(),
                false),
            this.file),
        settings,
        () -> id,
        (serviceId) -> false,
        this::count,
        System::nanoTime,
        InstantSource.system());
    List<LeaseElectionService> elections = new ArrayList<>();
    for (String election : this.fleet.electionNames()) {
      elections.add(new LeaseElectionService(election, elector));
    }
    return new Node(id, elector, elections);
  }

  private void count(LeadershipEvent event) {
    if (event instanceof LeadershipAcquiredEvent) {
      this.file.add(Counter.ACQUIRED, 1);
    } else if (event instanceof LeadershipLostEvent lost
        && (lost.reason() == LeadershipLostEvent.Reason.EXPIRED
            || lost.reason() == LeadershipLostEvent.Reason.DISPLACED)) {
      this.file.add(Counter.LOST, 1);
    }
  }

  /** The operator's wish that the first node of this process lead everything. */
  private void designate() {
    Node node = this.nodes.get(0);
    for (LeaseElectionService election : node.elections()) {
      try {
        election.designate(node.id());
        TimeUnit.MILLISECONDS.sleep(20);
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
        return;
      } catch (Exception ex) {
        System.out.println(ex);
      }
    }
  }

  private void sweep() {
    for (int i = 0; i < this.nodes.size(); i++) {
      List<LeaseElectionService> elections = this.nodes.get(i).elections();
      for (int j = 0; j < elections.size(); j++) {
        sample(i * elections.size() + j, this.fleet.first() + i, j, elections.get(j));
      }
    }
  }

  private void sample(int cell, int node, int election, LeaseElectionService service) {
    long before = System.nanoTime();
    boolean leader = service.isLeader();
    Tenure tenure = this.tenures[cell];
    if (!leader) {
      if (tenure != null) {
        this.file.put((int) this.places[cell], tenure.endedBefore(System.nanoTime()));
        this.tenures[cell] = null;
      }
      return;
    }
    long answered = System.nanoTime();
    long asked;
    Optional<Leadership> leadership;
    long told;
    do {
      asked = System.nanoTime();
      leadership = service.leadership();
      told = System.nanoTime();
      // Where many threads share few cores, half a second may pass between two statements.
    } while (told - asked > 1_000_000);
    if (leadership.isEmpty()) {
      return;
    }
    long term = leadership.get().term();
    long left = leadership.get().remaining().toNanos();
    long deadline = told + left;
    if (tenure != null && tenure.term() == term) {
      Tenure longer = tenure.goesOn(before, deadline);
      this.tenures[cell] = longer;
      this.file.put((int) this.places[cell], longer);
    } else {
      long sent = asked + left - this.tenureNanos;
      Tenure first = new Tenure(node, election, term, sent, answered, answered, deadline);
      this.tenures[cell] = first;
      this.places[cell] = this.file.add(first);
    }
  }
}
