package io.election.playground;

import io.election.embedded.MariaDbPrograms;
import io.election.support.process.Claim;
import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.time.LocalTime;
import java.time.ZoneId;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The database and the nodes, and what is seen of them. */
@SuppressWarnings("FutureReturnValueIgnored") // each task reports its own failure
final class Playground implements AutoCloseable {

  /** The election of the sample. */
  static final String SERVICE = "sample-app";

  private static final Logger log = LoggerFactory.getLogger(Playground.class);

  private static final int TICK_MS = 50;

  private static final Pattern JOB =
      Pattern.compile("^(\\d\\d:\\d\\d:\\d\\d\\.\\d{3}) .*report for .* written");

  private static final Pattern POLLER =
      Pattern.compile("(started|stopped) leader-bound bean 'poller' .* (in .*)");

  private final Options options;
  private final Broadcaster broadcaster = new Broadcaster();
  private final Moments moments = new Moments();
  private final Timeline timeline = new Timeline(moments, broadcaster);
  private final List<String> progress = new CopyOnWriteArrayList<>();
  private final Map<String, Member> members = new LinkedHashMap<>();
  private final Map<String, Story.Incident> incidents = new ConcurrentHashMap<>();
  private final Map<String, Story.Incident> pauses = new ConcurrentHashMap<>();
  private final Map<String, Story.Incident> waking = new ConcurrentHashMap<>();
  private final Map<String, Long> wokenAt = new ConcurrentHashMap<>();
  private final Map<String, Long> counted = new HashMap<>();
  private final RecordWatch record = new RecordWatch(moments, broadcaster);
  private final ScheduledExecutorService threads = Executors.newScheduledThreadPool(2);
  private final ExecutorService tasks = Executors.newCachedThreadPool();

  private @Nullable WorkFolder folder;
  private volatile @Nullable Database database;
  private volatile String phase = "starting";
  private volatile @Nullable String failure;
  private volatile String databaseState = "running";
  private volatile Map<String, Object> load = Map.of("leader", 0, "followers", 0, "other", 0);
  private long countedAt = System.nanoTime();
  private @Nullable Claim last;
  private int ticks;

  Playground(Options options) {
    this.options = options;
  }

  /** Starts everything in the background. */
  void begin() {
    tasks.execute(() -> {
      try {
        start();
      } catch (Exception ex) {
        failure = "The playground could not be started: " + reason(ex);
        phase = "failed";
        log.error("{}", failure, ex);
      }
    });
    threads.scheduleWithFixedDelay(this::tick, TICK_MS, TICK_MS, TimeUnit.MILLISECONDS);
    threads.scheduleWithFixedDelay(this::watch, 250, 250, TimeUnit.MILLISECONDS);
  }

  /** The first line of a failure and of its cause. */
  static String reason(Throwable failure) {
    Throwable cause = failure;
    while (cause.getCause() != null) {
      cause = cause.getCause();
    }
    String text = String.valueOf(failure.getMessage());
    return cause != failure
        ? "%s (%s)"
            .formatted(
                text, String.valueOf(cause.getMessage()).lines().findFirst().orElse(""))
        : text;
  }

  private void start() throws IOException {
    WorkFolder.clean(WorkFolder.parent()).forEach(this::progress);
    WorkFolder work = WorkFolder.create(WorkFolder.parent());
    folder = work;
    Database started = startDatabase(work);
    database = started;
    started.processes().forEach(work::list);
    progress(started.description() + " runs");
    for (int i = 1; i <= options.nodes(); i++) {
      Member member = new Member("node-" + i, started, options, work.path());
      work.list(member.pid());
      synchronized (members) {
        members.put(member.name(), member);
      }
      progress(member.name() + " starts at " + member.url());
    }
    phase = "running";
  }

  private Database startDatabase(WorkFolder work) throws IOException {
    String url = options.url();
    if (url != null) {
      progress("Connecting to " + url);
      try {
        return MySqlDatabase.running(url, options.username(), options.password());
      } catch (SQLException ex) {
        throw new IllegalStateException(
            "%s does not accept %s. Check the server, --spring.datasource.url, --spring.datasource.username, and SPRING_DATASOURCE_PASSWORD in the environment."
                .formatted(url, options.username()),
            ex);
      }
    }
    if (!MariaDbPrograms.existForThisPlatform()) {
      throw new IllegalStateException("""
          There is no embedded MariaDB for this operating system and processor. Start a server:

          export SPRING_DATASOURCE_PASSWORD=... # any
          MARIADB_ROOT_PASSWORD=$SPRING_DATASOURCE_PASSWORD docker run --rm -p 127.0.0.1:3306:3306 -e MARIADB_ROOT_PASSWORD -e MARIADB_DATABASE=election mariadb:11.4

          Then start the playground, with the same variable, with --spring.datasource.url=jdbc:mariadb://localhost:3306/election""");
    }
    progress("The embedded MariaDB starts; its programs are in " + MariaDbPrograms.CACHE);
    return MySqlDatabase.embedded(MariaDbPrograms.CACHE, work.path().resolve("database"));
  }

  private void progress(String line) {
    progress.add(line);
    log.info("{}", line);
  }

  Collection<Member> members() {
    synchronized (members) {
      return List.copyOf(members.values());
    }
  }

  @Nullable
  Member member(String name) {
    synchronized (members) {
      return members.get(name);
    }
  }

  @Nullable
  Database database() {
    return database;
  }

  Timeline timeline() {
    return timeline;
  }

  String databaseState() {
    return databaseState;
  }

  void databaseState(String state) {
    databaseState = state;
  }

  /** Runs a task after some time; reports a failure. */
  void later(Duration time, String what, Task task) {
    threads.schedule(() -> inBackground(what, task), time.toMillis(), TimeUnit.MILLISECONDS);
  }

  /** Runs a task that may take long; reports a failure. */
  void inBackground(String what, Task task) {
    tasks.execute(() -> {
      try {
        task.run();
      } catch (Exception ex) {
        log.debug("{} failed", what, ex);
        timeline.tell("warn", "%s failed: %s".formatted(what, reason(ex)), "playground.md");
      }
    });
  }

  /** A request of a visitor, or a consequence of one. */
  interface Task {
    void run() throws Exception;
  }

  /** Lists the process of a restarted node. */
  void list(Member member) {
    WorkFolder work = folder;
    if (work != null) {
      work.list(member.pid());
    }
  }

  /** Lists the processes of the restarted database. */
  void list(Database started) {
    WorkFolder work = folder;
    if (work != null) {
      started.processes().forEach(work::list);
    }
  }

  /** Tells that something happens to a node, or to the database on which all depend. */
  void happens(String target, String kind, String what, boolean continues) {
    long now = System.nanoTime();
    Member member = member(target);
    boolean led = member != null && member.leads();
    Story.Incident incident =
        new Story.Incident(target, what, now, led && member != null ? member.deadline() : 0);
    timeline.mark(target, kind, now, continues ? null : Long.valueOf(now), what);
    if (member == null) {
      incidents.clear();
      members().stream()
          .filter(Member::leads)
          .forEach((each) -> incidents.put(
              each.name(), new Story.Incident("the database", what, now, each.deadline())));
      timeline.tell("change", "The database " + what, "reliability.md#faults");
    } else {
      incidents.put(target, incident);
      if (kind.equals("pause")) {
        pauses.put(target, incident);
      }
      timeline.tell("change", Story.happened(incident), "guarantees.md#the-timing-argument");
    }
  }

  /** Tells that a pause or cut of a node has ended. */
  void ends(String target, String kind, String text) {
    timeline.endMarks(target, kind, System.nanoTime());
    timeline.tell("info", text, "guarantees.md#the-timing-argument");
  }

  void wakes(String name) {
    Story.Incident pause = pauses.remove(name);
    timeline.endMarks(name, "pause", System.nanoTime());
    if (pause != null) {
      wokenAt.put(name, System.nanoTime());
      waking.put(name, pause);
    }
  }

  /** Looks at the claims; reports what has changed. */
  private void tick() {
    try {
      ticks++;
      inspect();
      if (ticks % 5 == 0) {
        judge();
        readLogs();
      }
      if (ticks % 20 == 0) {
        Database known = database;
        if (known != null && known.showsRequests()) {
          measureLoad();
        }
        timeline.forget();
      }
      if (broadcaster.hasViewers() && ticks % 2 == 0) {
        broadcaster.send(new Broadcaster.Event("state", state()));
      }
    } catch (RuntimeException ex) {
      log.warn("The nodes cannot be polled", ex);
    }
  }

  private void inspect() {
    long since = Moments.ago(5_000);
    List<Claim> begun = new ArrayList<>();
    for (Member member : members()) {
      member.deadline();
      List<Claim> claims = member.claims(since);
      for (int i = 0; i < claims.size(); i++) {
        Claim claim = claims.get(i);
        timeline.claim(member.name(), claim, i == claims.size() - 1 && member.leads());
        Claim known = last;
        if (known == null || claim.from() - known.from() > 0) {
          begun.add(claim);
        }
      }
      List<Claim> wrong = member.wrongClaims(since);
      for (int i = 0; i < wrong.size(); i++) {
        timeline.claim(
            member.wrongName(), wrong.get(i), i == wrong.size() - 1 && member.leadsWrongly());
      }
      tellWaking(member);
    }
    begun.sort(Comparator.comparingLong(Claim::from));
    begun.forEach(this::tellBegun);
    // The last claim grows as long as its node leads.
    Claim known = last;
    Member leader = known != null ? member(known.node()) : null;
    if (known != null && leader != null) {
      leader.claims(since).stream()
          .filter((claim) -> claim.from() == known.from())
          .forEach((claim) -> last = claim);
    }
  }

  private void tellBegun(Claim claim) {
    Claim before = last;
    if (!claim.isOfOneTermWith(before)) {
      Story.Incident incident = before != null ? incidents.remove(before.node()) : null;
      timeline.tell(
          "change", Story.began(claim, before, incident), "guarantees.md#the-timing-argument");
    }
    last = claim;
  }

  private void tellWaking(Member member) {
    Story.Incident pause = waking.get(member.name());
    Long woken = wokenAt.get(member.name());
    if (pause != null && woken != null && member.sampledAt() - woken > 0) {
      waking.remove(member.name());
      boolean leads = member.claims(woken).stream().anyMatch((claim) -> claim.to() - woken >= 0);
      timeline.tell("info", Story.woke(pause, woken, leads), "guarantees.md#the-timing-argument");
    }
  }

  private void judge() {
    long since = Moments.ago(60_000);
    timeline.judge(
        members().stream().flatMap((member) -> member.claims(since).stream()).toList(), false);
    if (options.wrongOne()) {
      timeline.judge(
          members().stream()
              .flatMap((member) -> member.wrongClaims(since).stream())
              .toList(),
          true);
    }
  }

  /** Finds the runs of the job and of the poller in the logs. */
  private void readLogs() {
    for (Member member : members()) {
      member.newLines().forEach((line) -> markRun(member, line));
    }
  }

  private void markRun(Member member, String line) {
    Matcher poller = POLLER.matcher(line);
    if (poller.find()) {
      timeline.tell(
          "info",
          "%s %s its poller, %s".formatted(member.name(), poller.group(1), poller.group(2)),
          "getting-started.md#consumers-and-pollers");
    }
    Matcher matcher = JOB.matcher(line);
    if (matcher.find()) {
      long age = Duration.between(
              LocalTime.parse(matcher.group(1)), LocalTime.now(ZoneId.systemDefault()))
          .toNanos();
      if (age >= 0) { // not over midnight
        long at = System.nanoTime() - age;
        timeline.mark(member.name(), "job", at, at, "job run");
      }
    }
  }

  private void measureLoad() {
    double seconds = (System.nanoTime() - countedAt) / 1e9;
    countedAt = System.nanoTime();
    double leader = 0;
    double followers = 0;
    for (Member member : members()) {
      long count = member.requestCount();
      Long before = counted.put(member.name(), count);
      double rate = (count - (before != null ? before : count)) / seconds;
      if (member.leads()) {
        leader += rate;
      } else {
        followers += rate;
      }
    }
    double other = record.takeQueries() / seconds;
    load = Map.of("leader", leader, "followers", followers, "other", other);
  }

  /** Reads the record and the history. */
  private void watch() {
    Database watched = database;
    if (watched != null && databaseState.equals("running")) {
      try {
        record.read(watched);
      } catch (RuntimeException ex) {
        log.warn("The record cannot be shown", ex);
      }
    }
  }

  /** The first message to a browser. */
  List<Broadcaster.Event> everything() {
    List<Broadcaster.Event> events = new ArrayList<>();
    events.add(new Broadcaster.Event("state", state()));
    events.addAll(timeline.all());
    events.add(new Broadcaster.Event("history", record.history()));
    return events;
  }

  Broadcaster broadcaster() {
    return broadcaster;
  }

  private Map<String, Object> state() {
    Database known = database;
    Map<String, Object> settings = new HashMap<>();
    settings.put("leaseMs", options.lease().toMillis());
    settings.put("renewMs", options.renew().toMillis());
    settings.put("serviceId", SERVICE);
    settings.put("database", known != null ? known.description() : "");
    settings.put("databaseState", databaseState);
    settings.put("databaseProblem", record.problem());
    Map<String, Object> state = new HashMap<>();
    state.put("now", moments.now());
    state.put("phase", phase);
    state.put("progress", List.copyOf(progress));
    state.put("failure", failure);
    state.put("settings", settings);
    List<Map<String, Object>> nodes = new ArrayList<>();
    members().forEach((member) -> nodes.add(member.describe(moments)));
    if (options.wrongOne()) {
      members().forEach((member) -> nodes.add(member.describeWrong()));
    }
    state.put("nodes", nodes);
    state.put("row", record.row());
    state.put("load", load);
    state.put("overlaps", timeline.overlaps(false));
    state.put("overlapMs", timeline.overlapMs(false));
    state.put("wrongOverlaps", options.wrongOne() ? timeline.overlaps(true) : null);
    state.put("wrongOverlapMs", options.wrongOne() ? timeline.overlapMs(true) : null);
    return state;
  }

  @Override
  public void close() {
    threads.shutdownNow();
    tasks.shutdownNow();
    members().forEach(Member::close);
    Database started = database;
    if (started != null) {
      started.close();
    }
    WorkFolder work = folder;
    if (work != null) {
      try {
        work.close();
      } catch (IOException ex) {
        log.warn("The folder {} could not be deleted", work.path(), ex);
      }
    }
    log.info(
        "the playground has ended its processes and deleted their files; the programs of MariaDB stay in {}",
        MariaDbPrograms.CACHE);
  }
}
