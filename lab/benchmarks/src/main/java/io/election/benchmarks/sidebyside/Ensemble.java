package io.election.benchmarks.sidebyside;

import io.election.support.process.IsolatedHosts;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.IntFunction;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.zookeeper.server.quorum.QuorumPeerMain;
import org.awaitility.Awaitility;

/** Three servers, each with one node of a candidate, and each on a host that can be cut off. */
final class Ensemble implements Server {

  private static final int SIZE = 3;

  private static final int CLIENT_PORT = 2379;

  private final Backend backend;

  private final IsolatedHosts hosts = new IsolatedHosts(SIZE);

  private final List<ServerProcess> members = new ArrayList<>();

  /** Starts the servers, of ZooKeeper or etcd. */
  Ensemble(Backend backend) throws IOException {
    this.backend = backend;
    boolean zooKeeper = backend == Backend.ZOOKEEPER;
    String version = zooKeeper ? ServerProcess.zooKeeperVersion() : ServerProcess.etcdVersion();
    for (int host = 1; host <= SIZE; host++) {
      Path folder = Files.createTempDirectory(backend.name());
      List<String> command = zooKeeper ? zooKeeper(host, folder) : etcd(host, folder);
      this.members.add(
          ServerProcess.start(version, CLIENT_PORT, folder, this.hosts.on(host, command)));
    }
    awaitUp();
  }

  private List<String> zooKeeper(int self, Path folder) throws IOException {
    Path data = Files.createDirectory(folder.resolve("data"));
    Files.writeString(data.resolve("myid"), Integer.toString(self));
    // Ticks and limits are those of its sample configuration.
    String settings = """
        tickTime=2000
        initLimit=10
        syncLimit=5
        maxClientCnxns=0
        clientPort=%d
        dataDir=%s
        """.formatted(CLIENT_PORT, data)
        + ofAll("\n", (host) -> "server." + host + "=" + this.hosts.address(host) + ":2888:3888");
    Path file = Files.writeString(folder.resolve("zoo.cfg"), settings);
    return ServerProcess.zooKeeper(QuorumPeerMain.class, file.toString());
  }

  private List<String> etcd(int self, Path folder) {
    return ServerProcess.etcd(
        "member" + self,
        folder,
        "http://" + this.hosts.address(self) + ":" + CLIENT_PORT,
        peers(self),
        ofAll(",", (host) -> "member" + host + "=" + peers(host)));
  }

  private String peers(int host) {
    return "http://" + this.hosts.address(host) + ":2380";
  }

  private static String ofAll(String separator, IntFunction<String> text) {
    return IntStream.rangeClosed(1, SIZE).mapToObj(text).collect(Collectors.joining(separator));
  }

  /** Loses everything between the server of a node and the others. */
  void cutOff(int node) {
    this.hosts.cutOff(node + 1);
  }

  void heal() {
    this.hosts.heal();
  }

  /** Waits until all servers belong to the quorum. */
  void awaitUp() {
    boolean zooKeeper = this.backend == Backend.ZOOKEEPER;
    String question = zooKeeper ? "srvr" : "GET /health HTTP/1.0\r\n\r\n";
    String answer = zooKeeper ? "Mode: " : "\"true\"";
    Awaitility.await(this.backend + ": all servers are up")
        .atMost(Duration.ofMinutes(2))
        .ignoreExceptions()
        .until(() -> {
          boolean up = true;
          for (int node = 0; node < SIZE; node++) {
            try (Socket socket = new Socket(host(node), CLIENT_PORT)) {
              socket.getOutputStream().write(question.getBytes(StandardCharsets.US_ASCII));
              up &= new String(socket.getInputStream().readAllBytes(), StandardCharsets.US_ASCII)
                  .contains(answer);
            }
          }
          return up;
        });
  }

  @Override
  public String host(int node) {
    return this.hosts.address(node + 1);
  }

  @Override
  public String version() {
    return this.members.get(0).version();
  }

  @Override
  public Place newPlace() {
    return this.members.get(0).newPlace();
  }

  @Override
  public void pause() {
    this.members.forEach(Server::pause);
  }

  @Override
  public void resume() {
    this.members.forEach(Server::resume);
  }

  @Override
  public void close() {
    this.members.forEach(Server::close);
    this.hosts.close();
  }
}
