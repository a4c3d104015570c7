package io.election.benchmarks.scale;

import io.election.benchmarks.scale.NodeFile.Counter;
import io.election.benchmarks.servers.Backend;
import io.election.benchmarks.servers.Server;
import io.election.benchmarks.servers.Server.Place;
import io.election.benchmarks.sidebyside.Machine;
import io.election.benchmarks.sidebyside.Results;
import io.election.benchmarks.sidebyside.Row;
import io.election.lease.LeaseStoreException;
import io.election.mysql.ElectionDatabase;
import io.election.mysql.MysqlLeaseStore;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionTimeoutException;
import org.springframework.jdbc.datasource.DriverManagerDataSource;
import org.springframework.util.FileSystemUtils;

/**
 * Runs very many nodes in very many elections on one database, and kills those that lead.
 *
 * <pre>
 * java -cp benchmarks/target/benchmarks.jar io.election.benchmarks.scale.Scale [--quick]
 * </pre>
 */
public final class Scale {

  private final ScaleOptions options;

  private final Results results;

  private final Server server;

  private final Place place;

  private final Path folder;

  private final List<NodesProcess> processes = new ArrayList<>();

  private Scale(ScaleOptions options, Results results, Server server) throws IOException {
    this.options = options;
    this.results = results;
    this.server = server;
    this.place = server.newPlace();
    this.folder = Files.createTempDirectory("scale-");
  }

  /**
   * Measures. Ends with 1 if an election ever had two leaders, or none in the end.
   *
   * @param arguments see {@link ScaleOptions}
   * @throws Exception if the server does not start
   */
  public static void main(String[] arguments) throws Exception {
    System.setProperty("logback.configurationFile", "benchmarks-quiet.xml");
    ScaleOptions options = ScaleOptions.parse(arguments);
    Results results = Results.create(options.results());
    boolean sound;
    try (Server server = Backend.MYSQL.start()) {
      Runtime.getRuntime().addShutdownHook(new Thread(server::close));
      Machine.describe(results, server.version(), arguments);
      ServiceTimes times = ServiceTimes.measure(server);
      results.about("service times", times.toString());
      sound = new Scale(options, results, server).run();
      Machine.describeEnd(results);
    }
    String summary = ScaleSummary.of(results);
    Files.writeString(options.results().resolve("summary.md"), summary);
    System.out.println(summary);
    System.exit(sound ? 0 : 1);
  }

  private boolean run() throws IOException, InterruptedException, LeaseStoreException {
    migrate();
    boolean succeeded = true;
    try {
      launch();
      if (this.options.cold()) {
        start(this.processes);
        idle("idle-spread");
        storm("storm-spread", busiest());
        gather();
        idle("idle-one-leader");
        storm("storm-one-leader", this.processes.get(0));
      } else {
        start(this.processes.subList(0, 1));
        start(this.processes);
        idle("idle-one-leader");
        storm("storm-one-leader", this.processes.get(0));
        idle("idle-spread");
        storm("storm-spread", busiest());
      }
      idle("idle-after");
    } catch (ConditionTimeoutException ex) {
      System.out.println(ex.getMessage());
      add("end", "failed_count", 1);
      succeeded = false;
      for (NodesProcess process : this.processes) {
        process.kill();
      }
    }
    boolean sound = checkTenures();
    this.processes.forEach(NodesProcess::close);
    FileSystemUtils.deleteRecursively(this.folder);
    return succeeded && sound;
  }

  private void migrate() throws LeaseStoreException {
    String address = this.place.address(this.place.port());
    new MysqlLeaseStore(
            new ElectionDatabase(
                new DriverManagerDataSource(address, this.place.username(), this.place.password()),
                address),
            MysqlLeaseStore.SchemaMode.MIGRATE,
            Duration.ofSeconds(10),
            Duration.ofSeconds(10),
            false)
        .ensureTables();
  }

  /** The first process is one node, the others share the rest. */
  private void launch() {
    int first = 0;
    for (int i = 0; i < this.options.processes(); i++) {
      int left = this.options.nodes() - first;
      int size = i == 0 ? 1 : left / (this.options.processes() - i);
      this.processes.add(NodesProcess.start(fleet(first, size), this.folder));
      first += size;
    }
    await(
        "all processes are up",
        Duration.ofSeconds(120),
        () -> this.processes.stream().allMatch(NodesProcess::isReady));
  }

  private Fleet fleet(int first, int size) {
    return new Fleet(
        first,
        size,
        this.options.elections(),
        this.place.address(this.place.port()),
        this.place.username(),
        this.place.password(),
        this.options.lease(),
        this.options.renew(),
        this.options.operation(),
        this.options.start(),
        this.options.sample());
  }

  /** Nodes start, and in all elections there is a leader then. */
  private void start(List<NodesProcess> starting) {
    Snapshot before = snapshot();
    starting.forEach((process) -> process.file().set(Counter.GO, 1));
    await(
        "all elections have a leader", patience(), () -> led(0).size() == this.options.elections());
    double led = (System.nanoTime() - before.instant()) / 1e6;
    int nodes = starting.size() == 1 ? 1 : this.options.nodes();
    await(
        "all nodes have started",
        patience(),
        () -> snapshot().counters().getOrDefault(Counter.STARTED, 0L) == nodes);
    if (nodes > 1) {
      sleep(this.options.lease());
      add("start", "all_led_ms", led);
      add("start", snapshot().since(before));
      addLeaders("start");
    }
  }

  /** The process whose nodes lead in most elections, apart from the first. */
  private NodesProcess busiest() {
    return this.processes.stream()
        .skip(1)
        .max(Comparator.comparingInt((process) -> process.leaderships().size()))
        .orElseThrow();
  }

  private void idle(String phase) {
    Snapshot before = snapshot();
    sleep(this.options.idle());
    add(phase, snapshot().since(before));
    addLeaders(phase);
  }

  /** In how many elections the busiest nodes lead. */
  private void addLeaders(String phase) {
    Map<Long, Long> byNode = this.processes.stream()
        .flatMap((process) -> process.leaderships().stream())
        .collect(Collectors.groupingBy(Tenure::node, Collectors.counting()));
    add(phase, "leading_nodes_count", byNode.size());
    add(
        phase,
        "most_elections_of_a_node_count",
        byNode.values().stream().mapToLong(Long::longValue).max().orElse(0));
  }

  /** All elections get the leader that is alone in its process. */
  private void gather() {
    NodesProcess one = this.processes.get(0);
    one.file().set(Counter.DESIGNATE, 1);
    await(
        "one node leads everything",
        patience(),
        () -> one.leaderships().size() == this.options.elections());
  }

  private void storm(String phase, NodesProcess victim) throws InterruptedException {
    List<Tenure> ended = victim.leaderships();
    Snapshot before = snapshot();
    Peak peak = new Peak(this.server);
    long killed = System.nanoTime();
    victim.kill();
    Map<Long, Long> lastYes = new HashMap<>();
    // As heard in the end.
    Set<Long> terms = ended.stream().map(Tenure::term).collect(Collectors.toSet());
    victim.file().tenures().stream()
        .filter((tenure) -> terms.contains(tenure.term()))
        .forEach((tenure) -> lastYes.merge(tenure.election(), tenure.to(), Math::max));
    Set<Long> open = ended.stream().map(Tenure::election).collect(Collectors.toSet());
    await(
        phase + ": all elections have a leader again",
        patience(),
        () -> led(killed).containsAll(open));
    add(phase, "all_led_ms", (System.nanoTime() - killed) / 1e6);
    sleep(this.options.renew().multipliedBy(2));
    add(phase, "peak_statements_per_s", peak.stop());
    Snapshot after = snapshot();
    add(phase, after.since(before));
    add(phase, "open_elections_count", open.size());
    List<Double> gaps = new ArrayList<>();
    for (NodesProcess process : this.processes) {
      for (Tenure tenure : process.file().tenures()) {
        Long last = lastYes.get(tenure.election());
        if (last != null && tenure.from() - killed > 0 && open.remove(tenure.election())) {
          gaps.add((tenure.from() - last) / 1e6);
        }
      }
    }
    gaps.sort(Comparator.naturalOrder());
    if (!gaps.isEmpty()) {
      add(phase, "gap_min_ms", gaps.get(0));
      add(phase, "gap_p50_ms", gaps.get((gaps.size() - 1) / 2));
      add(phase, "gap_p99_ms", gaps.get((int) Math.ceil(gaps.size() * 0.99) - 1));
      add(phase, "gap_max_ms", gaps.get(gaps.size() - 1));
    }
    addLeaders(phase);
  }

  /** The elections that have a leader who began after an instant; 0 for any. */
  private Set<Long> led(long since) {
    Set<Long> led = new HashSet<>();
    for (NodesProcess process : this.processes) {
      for (Tenure tenure : process.leaderships()) {
        if (since == 0 || tenure.from() - since > 0) {
          led.add(tenure.election());
        }
      }
    }
    return led;
  }

  /** Whether no election ever had two leaders, by what all nodes have said all the time. */
  private boolean checkTenures() {
    Collection<List<Tenure>> byElection = this.processes.stream()
        .flatMap((process) -> process.file().tenures().stream())
        .collect(Collectors.groupingBy(Tenure::election))
        .values();
    int tenures = 0;
    long heard = 0;
    long possible = 0;
    int sharedTerms = 0;
    for (List<Tenure> rivals : byElection) {
      tenures += rivals.size();
      for (int i = 0; i < rivals.size(); i++) {
        for (int j = i + 1; j < rivals.size(); j++) {
          heard += rivals.get(i).overlap(rivals.get(j));
          long both = rivals.get(i).possibleOverlap(rivals.get(j));
          if (both > 0) {
            System.out.printf("Two at once: %s and %s%n", rivals.get(i), rivals.get(j));
          }
          possible += both;
          sharedTerms += rivals.get(i).term() == rivals.get(j).term() ? 1 : 0;
        }
      }
    }
    add("end", "tenures_count", tenures);
    add("end", "overlap_ms", heard / 1e6);
    add("end", "possible_overlap_ms", possible / 1e6);
    add("end", "shared_terms_count", sharedTerms);
    return tenures > 0 && heard == 0 && possible == 0 && sharedTerms == 0;
  }

  private Snapshot snapshot() {
    return Snapshot.take(this.server, this.processes);
  }

  /** Generous: it is the figures that tell how long it took. */
  private Duration patience() {
    return this.options.start().plus(this.options.lease().multipliedBy(6)).plusSeconds(60);
  }

  private static void await(String what, Duration atMost, Callable<Boolean> condition) {
    Awaitility.await(what)
        .atMost(atMost)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(50))
        .until(condition);
  }

  private static void sleep(Duration duration) {
    try {
      TimeUnit.NANOSECONDS.sleep(duration.toNanos());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(ex);
    }
  }

  private void add(String phase, Map<String, Double> measures) {
    measures.forEach((measure, value) -> add(phase, measure, value));
  }

  private void add(String phase, String measure, double value) {
    String settings = "%dx%d-%d-%d"
        .formatted(
            this.options.nodes(),
            this.options.elections(),
            this.options.lease().toMillis(),
            this.options.renew().toMillis());
    this.results.add(new Row(settings, phase, "election", 1, measure, value));
  }
}
