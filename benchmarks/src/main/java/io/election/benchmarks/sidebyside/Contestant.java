package io.election.benchmarks.sidebyside;

import io.election.benchmarks.candidates.CandidateKind;
import io.election.benchmarks.candidates.CandidateSettings;
import io.election.benchmarks.candidates.Claim;
import io.election.benchmarks.servers.Link;
import io.election.benchmarks.servers.Server;
import io.election.benchmarks.servers.Server.Place;
import io.election.benchmarks.servers.Signal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.awaitility.core.ConditionTimeoutException;
import org.springframework.util.FileSystemUtils;

/** The processes of one candidate. */
final class Contestant implements AutoCloseable {

  private final CandidateSettings settings;

  private final Place place;

  private final Path folder;

  private final List<Node> nodes = new ArrayList<>();

  /**
   * Creates it without processes.
   *
   * @param kind the candidate
   * @param timing its lease and renew interval
   * @param server where it elects
   * @param group names its elections
   * @param elections how many
   */
  Contestant(CandidateKind kind, Timing timing, Server server, String group, int elections) {
    this.place = server.newPlace();
    this.settings = new CandidateSettings(
        kind,
        "",
        "",
        this.place.username(),
        this.place.password(),
        timing.lease(kind),
        timing.renew(kind),
        timing == Timing.DEFAULTS,
        group,
        elections);
    try {
      this.folder = Files.createTempDirectory("side-by-side-" + kind.id() + "-");
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  Node add(String name) {
    Link link = link();
    return add(Node.start(settings(name, link), link, this.folder));
  }

  /** Adds a process that measures what a question costs. */
  Node addWithQuestion(String name) {
    Link link = link();
    return add(Node.startWithQuestion(settings(name, link), link, this.folder));
  }

  /** Adds a process that is many followers. */
  Node addCrowd(String name, int size) {
    Link link = link();
    return add(Node.startCrowd(settings(name, link), link, this.folder, size));
  }

  private Node add(Node node) {
    this.nodes.add(node);
    return node;
  }

  private Link link() {
    return new Link(this.settings.kind().backend(), this.place.port());
  }

  private CandidateSettings settings(String name, Link link) {
    return new CandidateSettings(
        this.settings.kind(),
        name,
        this.place.address(link.port()),
        this.settings.username(),
        this.settings.password(),
        this.settings.lease(),
        this.settings.renew(),
        this.settings.defaults(),
        this.settings.group(),
        this.settings.elections());
  }

  CandidateKind kind() {
    return this.settings.kind();
  }

  Duration lease() {
    return this.settings.lease();
  }

  Duration renew() {
    return this.settings.renew();
  }

  List<Node> nodes() {
    return this.nodes;
  }

  Optional<Node> leader() {
    return this.nodes.stream().filter(Node::leads).findFirst();
  }

  /** Starts the processes that have ended, and waits until all run and one leads. */
  Node awaitLeader() {
    this.nodes.stream().filter((node) -> !node.isAlive()).forEach(Node::restart);
    within(Duration.ofSeconds(90), "all nodes of " + kind().title() + " are up")
        .until(() -> this.nodes.stream().allMatch(Node::isUp));
    return within(patience(), "a node of " + kind().title() + " leads")
        .until(this::leader, Optional::isPresent)
        .orElseThrow();
  }

  /** Waits until a node other than the last leader has claimed to lead since an instant. */
  void awaitSuccessor(Node last, long since) {
    within(patience(), "a node of " + kind().title() + " succeeds " + last.name())
        .until(() -> this.nodes.stream()
            .filter((node) -> node != last)
            .flatMap((node) -> node.claims(since).stream())
            .findAny()
            .isPresent());
  }

  /** Waits until a node claims to lead after an instant, and gives the first such claim. */
  Claim awaitClaimAfter(long instant) {
    return within(patience(), "a node of " + kind().title() + " leads")
        .until(
            () -> this.nodes.stream()
                .flatMap((node) -> node.claims(instant).stream())
                .min(Comparator.comparingLong((claim) -> claim.from() - instant)),
            Optional::isPresent)
        .orElseThrow();
  }

  /** For how long since an instant two led at once. */
  long overlap(long since) {
    long sum = 0;
    for (int i = 0; i < this.nodes.size(); i++) {
      for (int j = i + 1; j < this.nodes.size(); j++) {
        for (Claim one : this.nodes.get(i).claims(since)) {
          for (Claim other : this.nodes.get(j).claims(since)) {
            sum += one.overlap(other, since);
          }
        }
      }
    }
    return sum;
  }

  /** Starts anew after something went wrong. */
  void restartAll() throws InterruptedException {
    for (Node node : this.nodes) {
      node.link().heal();
      node.signal(Signal.KILL);
      node.awaitEnd();
      node.restart();
    }
  }

  /** Lease, interval, and what a busy machine adds, twice. */
  Duration patience() {
    return this.settings.lease().plus(this.settings.renew()).multipliedBy(2).plusSeconds(20);
  }

  private static ConditionFactory within(Duration duration, String what) {
    return Awaitility.await(what)
        .atMost(duration)
        .pollDelay(Duration.ZERO)
        .pollInterval(Duration.ofMillis(20));
  }

  /** The end of each process's output. */
  String logs() {
    StringBuilder logs = new StringBuilder();
    for (Node node : this.nodes) {
      try {
        List<String> lines = Files.readAllLines(this.folder.resolve(node.name() + ".log"));
        logs.append("---- ")
            .append(kind().title())
            .append(' ')
            .append(node.name())
            .append('\n');
        lines
            .subList(Math.max(0, lines.size() - 15), lines.size())
            .forEach((line) -> logs.append(line).append('\n'));
      } catch (IOException ex) {
        throw new UncheckedIOException(ex);
      }
    }
    return logs.toString();
  }

  /** Stops all processes, cleanly if they can. */
  @Override
  public void close() {
    this.nodes.forEach((node) -> node.signal(Signal.CONT));
    this.nodes.forEach((node) -> node.signal(Signal.TERM));
    try {
      within(Duration.ofSeconds(15), kind().title() + " ends")
          .until(() -> this.nodes.stream().noneMatch(Node::isAlive));
    } catch (ConditionTimeoutException ex) {
      System.out.println(ex.getMessage());
    }
    this.nodes.forEach(Node::destroy);
    try {
      FileSystemUtils.deleteRecursively(this.folder);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
