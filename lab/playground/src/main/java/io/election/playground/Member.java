package io.election.playground;

import io.election.support.TestServer;
import io.election.support.process.Claim;
import io.election.support.process.LeadershipLog;
import io.election.support.process.Node;
import io.election.support.process.NodeProcess;
import io.election.support.process.Requests;
import io.election.support.process.TcpProxy;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;
import org.springframework.http.HttpMethod;
import org.springframework.http.MediaType;
import org.springframework.http.client.JdkClientHttpRequestFactory;
import org.springframework.web.client.RestClient;

/** One node of the playground: its process, and the link to the database before it. */
final class Member implements AutoCloseable {

  /** The state of a process; {@code DEAD} if it ended without a request. */
  enum State {
    STARTING,
    RUNNING,
    PAUSED,
    STOPPED,
    KILLED,
    DEAD;

    String text() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  /** The packets that the link loses. */
  enum Cut {
    NONE,
    BOTH,
    ANSWERS;

    String text() {
      return name().toLowerCase(Locale.ROOT);
    }
  }

  private final TcpProxy link;
  private final NodeProcess process;
  private final LogTail log;
  private final @Nullable LeadershipLog wrongClaims;
  private final String url;
  private final RestClient endpoint;

  private volatile long startedAt = System.nanoTime();
  private volatile boolean paused;
  private volatile State ended = State.DEAD;
  private volatile boolean aside;
  private volatile Cut cut = Cut.NONE;
  private volatile long lastDeadline;

  Member(String name, Database database, Options options, Path folder) {
    Address address = Address.of(database.url());
    this.link = TcpProxy.to(address.socketAddress(), () -> new Requests(Requests.Protocol.MYSQL));
    int port = TestServer.freePort();
    this.url = "http://127.0.0.1:" + port + "/";
    JdkClientHttpRequestFactory requests = new JdkClientHttpRequestFactory();
    requests.setReadTimeout(Duration.ofSeconds(10));
    this.endpoint = RestClient.builder()
        .requestFactory(requests)
        .baseUrl(this.url + "actuator/leader/" + Playground.SERVICE)
        .build();
    Node node = new Node(name, PlaygroundNode.class)
        .with("as.election.node-id=" + name)
        .with("as.election.lease-duration=" + options.lease().toMillis() + "ms")
        .with("as.election.renew-interval=" + options.renew().toMillis() + "ms")
        .with("playground.lease=" + options.lease().toMillis() + "ms")
        .with("playground.renew=" + options.renew().toMillis() + "ms")
        .with("server.address=127.0.0.1")
        .with("server.port=" + port)
        .with("server.tomcat.threads.min-spare=2")
        .with("spring.datasource.url=" + address.through(this.link.port()))
        .with("spring.datasource.username=" + database.username())
        .with("spring.datasource.password=" + database.password())
        .with("management.endpoint.leader.access=unrestricted")
        .with("management.endpoint.leader.show-details=always");
    if (options.wrongOne()) {
      Path path = folder.resolve(name + ".wrong");
      node = node.with(PlaygroundNode.WRONG_CLAIMS + "=" + path);
      this.wrongClaims = LeadershipLog.open(path, Duration.ofMillis(100));
    } else {
      this.wrongClaims = null;
    }
    this.process = NodeProcess.start(node, folder, node.properties());
    this.log = new LogTail(this.process.logFile());
  }

  String name() {
    return process.name();
  }

  /** The address of the node's own page. */
  String url() {
    return url;
  }

  long pid() {
    return process.pid();
  }

  State state() {
    if (!process.isAlive()) {
      return ended;
    }
    if (paused) {
      return State.PAUSED;
    }
    return sampledAt() - startedAt > 0 && sampledAt() != 0 ? State.RUNNING : State.STARTING;
  }

  boolean leads() {
    return process.leads();
  }

  long sampledAt() {
    return process.leadershipLog().sampledAt();
  }

  /** When the lease ends, or ended, that the node has or had last; 0 if it never had one. */
  long deadline() {
    long deadline = process.leadershipLog().deadline();
    if (deadline != LeadershipLog.NO_DEADLINE) {
      lastDeadline = deadline;
    }
    return lastDeadline;
  }

  List<Claim> claims(long since) {
    return process.claims(since);
  }

  List<Claim> wrongClaims(long since) {
    return wrongClaims != null ? wrongClaims.claims(name(), since) : List.of();
  }

  /** What the page shows of the node. */
  Map<String, Object> describe(Moments moments) {
    Map<String, Object> node = new HashMap<>();
    State now = state();
    boolean leads = leads();
    List<Claim> recent = claims(Moments.ago(1_000));
    long end = deadline();
    node.put("id", name());
    node.put("kind", "election");
    node.put("url", url());
    node.put("state", now.text());
    node.put("cut", cut().text());
    node.put("leads", leads);
    node.put("term", leads && !recent.isEmpty() ? recent.get(recent.size() - 1).term() : null);
    node.put("deadline", end - System.nanoTime() > 0 ? moments.at(end) : null);
    node.put("aside", isAside());
    node.put("lastLines", now == State.DEAD ? lastLines() : List.of());
    node.put("sampledAt", moments.at(sampledAt()));
    return node;
  }

  String wrongName() {
    return name() + " by hand";
  }

  /** What the page shows of the hand-written SQL in the node. */
  Map<String, Object> describeWrong() {
    Map<String, Object> node = new HashMap<>();
    node.put("id", wrongName());
    node.put("kind", "wrong");
    node.put("url", url());
    node.put("state", state().text());
    node.put("cut", cut().text());
    node.put("leads", leadsWrongly());
    node.put("lastLines", List.of());
    return node;
  }

  boolean leadsWrongly() {
    return wrongClaims != null
        && process.isAlive()
        && wrongClaims.isLeading()
        && System.nanoTime() - wrongClaims.sampledAt() < 500_000_000;
  }

  Cut cut() {
    return cut;
  }

  boolean isAside() {
    return aside;
  }

  /** The requests that the node has sent to the database. */
  long requestCount() {
    return link.requestCount();
  }

  /** The lines that the process has logged since the last call. */
  List<String> newLines() {
    return log.read();
  }

  List<String> lastLines() {
    return log.lastLines();
  }

  synchronized void kill() {
    ended = State.KILLED;
    process.kill();
    paused = false;
  }

  synchronized void stop() {
    ended = State.STOPPED;
    process.stop();
  }

  synchronized void pause() {
    process.pause();
    paused = true;
  }

  synchronized void resume() {
    paused = false;
    process.resume();
  }

  synchronized void start() {
    ended = State.DEAD;
    aside = false;
    startedAt = System.nanoTime();
    process.restart();
  }

  synchronized void cut(Cut how) {
    if (how == Cut.BOTH) {
      link.cut();
    } else {
      link.loseAnswers();
    }
    cut = how;
  }

  synchronized void heal() {
    link.heal();
    cut = Cut.NONE;
  }

  void lead() {
    endpoint
        .post()
        .contentType(MediaType.APPLICATION_JSON)
        .body(Map.of("leaderId", name(), "reason", "playground"))
        .retrieve()
        .toBodilessEntity();
  }

  void standAside(boolean wanted) {
    endpoint
        .method(wanted ? HttpMethod.POST : HttpMethod.DELETE)
        .uri("/pause")
        .contentType(MediaType.APPLICATION_JSON)
        .body(wanted ? "{}" : "")
        .retrieve()
        .toBodilessEntity();
    aside = wanted;
  }

  @Override
  public void close() {
    process.destroy();
    link.close();
  }
}
