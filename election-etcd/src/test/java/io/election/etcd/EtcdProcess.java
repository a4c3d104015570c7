package io.election.etcd;

import io.election.support.Signal;
import io.election.support.TestServer;
import io.election.support.Tool;
import io.election.support.process.IsolatedHosts;
import io.grpc.InsecureChannelCredentials;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetSocketAddress;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.UnaryOperator;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;

/** An etcd from the path, with its default settings, on a port and in a folder of its own. */
public final class EtcdProcess implements AutoCloseable {

  private static EtcdProcess shared;

  private final Path folder;
  private final UnaryOperator<List<String>> launcher;
  private final String host;
  private final int port = TestServer.freePort();
  private final int peerPort = TestServer.freePort();
  private final String name;
  private final List<String> options;
  private int securePort;
  private String cluster;
  private Process process;

  private EtcdProcess(String name, String... options) {
    this(name, "127.0.0.1", UnaryOperator.identity(), options);
  }

  private EtcdProcess(
      String name, String host, UnaryOperator<List<String>> launcher, String... options) {
    this.name = name;
    this.host = host;
    this.launcher = launcher;
    this.options = List.of(options);
    this.cluster = member();
    try {
      this.folder = Files.createTempDirectory("etcd-");
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
    Runtime.getRuntime().addShutdownHook(new Thread(this::close));
  }

  /** Returns the server of this run of tests. The test is skipped where there is no etcd. */
  public static synchronized EtcdProcess shared() {
    if (shared == null) {
      shared = start();
    }
    return shared;
  }

  public static EtcdProcess start(String... options) {
    Tool.ETCD.assumeWorks();
    EtcdProcess etcd = new EtcdProcess("default", options);
    etcd.run();
    return etcd;
  }

  /** Starts a server with a secure port too, for clients that show the server's certificate. */
  public static EtcdProcess startSecure(Path certificate, Path key) {
    Tool.ETCD.assumeWorks();
    EtcdProcess etcd = new EtcdProcess(
        "default",
        "--cert-file=" + certificate,
        "--key-file=" + key,
        "--trusted-ca-file=" + certificate,
        "--client-cert-auth");
    etcd.securePort = TestServer.freePort();
    etcd.run();
    return etcd;
  }

  /** Starts a cluster. The test is skipped where there is no etcd. */
  public static List<EtcdProcess> startCluster(int size) {
    Tool.ETCD.assumeWorks();
    return startCluster(
        IntStream.range(0, size).mapToObj((i) -> new EtcdProcess("member-" + i)).toList());
  }

  /** Starts a cluster, with a member on each of these hosts. */
  public static List<EtcdProcess> startCluster(IsolatedHosts hosts, int size) {
    Tool.ETCD.assumeWorks();
    return startCluster(IntStream.rangeClosed(1, size)
        .mapToObj((host) -> new EtcdProcess(
            "member-" + host, hosts.address(host), (command) -> hosts.on(host, command)))
        .toList());
  }

  private static List<EtcdProcess> startCluster(List<EtcdProcess> members) {
    String all = members.stream().map(EtcdProcess::member).collect(Collectors.joining(","));
    members.forEach((member) -> member.cluster = all);
    members.forEach(EtcdProcess::launch);
    members.forEach(EtcdProcess::awaitUp);
    return members;
  }

  /** Starts the process, on its data as they are. */
  public void run() {
    launch();
    awaitUp();
  }

  private void launch() {
    List<String> command = new ArrayList<>(List.of(
        "etcd",
        "--name=" + this.name,
        "--data-dir=" + data(),
        "--listen-client-urls=" + (this.securePort > 0 ? url() + "," + secureUrl() : url()),
        "--advertise-client-urls=" + url(),
        "--listen-peer-urls=" + peers(),
        "--initial-advertise-peer-urls=" + peers(),
        "--initial-cluster=" + this.cluster));
    command.addAll(this.options);
    try {
      this.process = new ProcessBuilder(this.launcher.apply(command))
          .redirectErrorStream(true)
          .redirectOutput(this.folder.resolve("log").toFile())
          .start();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  private void awaitUp() {
    Awaitility.await("etcd")
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(50))
        .failFast(() -> !this.process.isAlive())
        .ignoreExceptions()
        .until(() -> ctl("endpoint", "health").contains("is healthy"));
  }

  public void kill() {
    this.process.destroyForcibly().onExit().join();
  }

  /** Ends the server by SIGTERM. */
  public void stop() {
    send(Signal.TERM);
    this.process.onExit().join();
  }

  public void send(Signal signal) {
    signal.send(this.process.toHandle());
  }

  public String secureUrl() {
    return "https://127.0.0.1:" + this.securePort;
  }

  public String url() {
    return "http://" + this.host + ":" + this.port;
  }

  /** Returns whether this member leads its cluster. */
  public boolean leads() {
    return metric("etcd_server_is_leader") == 1;
  }

  private String peers() {
    return "http://" + this.host + ":" + this.peerPort;
  }

  /** How a cluster knows this member. */
  private String member() {
    return this.name + "=" + peers();
  }

  /** Connects to this member alone. */
  EtcdServer connect(String prefix, Duration operationTimeout) {
    EtcdLogin none = new EtcdLogin("", "", System::nanoTime);
    return new EtcdServer(channels(none), prefix, operationTimeout);
  }

  /** Returns connections to this member alone. */
  EtcdChannels channels(EtcdLogin login) {
    return new EtcdChannels(
        List.of(new InetSocketAddress("127.0.0.1", this.port)),
        InsecureChannelCredentials.create(),
        login);
  }

  int port() {
    return this.port;
  }

  Path data() {
    return this.folder.resolve("data");
  }

  /** Saves a snapshot of the cluster. */
  public Path snapshot() {
    Path snapshot = this.folder.resolve("snapshot");
    ctl("snapshot", "save", snapshot.toString());
    return snapshot;
  }

  /** Replaces the data of the whole cluster by a snapshot's, under the same names and addresses. */
  void restore(Path snapshot) {
    restore(List.of(this), snapshot);
  }

  /** Replaces the data of the whole cluster by a snapshot's, under the same names and addresses. */
  public static void restore(List<EtcdProcess> members, Path snapshot) {
    members.forEach(EtcdProcess::kill);
    for (EtcdProcess member : members) {
      delete(member.data());
      member.ctl(
          "snapshot",
          "restore",
          snapshot.toString(),
          "--name=" + member.name,
          "--data-dir=" + member.data(),
          "--initial-cluster=" + member.cluster,
          "--initial-advertise-peer-urls=" + member.peers());
    }
    members.forEach(EtcdProcess::launch);
    members.forEach(EtcdProcess::awaitUp);
  }

  /** Runs etcdctl, and returns what it prints. */
  public String ctl(String... arguments) {
    List<String> command = new ArrayList<>(List.of("etcdctl", "--endpoints=" + url()));
    command.addAll(List.of(arguments));
    ProcessBuilder builder = new ProcessBuilder(command).redirectErrorStream(true);
    builder.environment().put("ETCDCTL_API", "3");
    try {
      Process tool = builder.start();
      String text = new String(tool.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
      if (tool.waitFor() != 0) {
        throw new IllegalStateException(command + ": " + text);
      }
      return text;
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(ex);
    }
  }

  /** How many requests for keys the server has received. */
  long requests() {
    return metric("grpc_server_started_total\\{grpc_method=\"(?:Txn|Range|Put)\",[^}]*\\}");
  }

  /** The sum of those of the server's metrics whose names match. */
  long metric(String name) {
    String metrics;
    try {
      metrics = HttpClient.newHttpClient()
          .send(
              HttpRequest.newBuilder(URI.create(url() + "/metrics")).build(),
              BodyHandlers.ofString())
          .body();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(ex);
    }
    Matcher found = Pattern.compile("(?m)^" + name + " (\\S+)$").matcher(metrics);
    double sum = 0;
    while (found.find()) {
      sum += Double.parseDouble(found.group(1));
    }
    return (long) sum;
  }

  private static void delete(Path folder) {
    try (var files = Files.walk(folder)) {
      files
          .sorted(java.util.Comparator.reverseOrder())
          .forEach((file) -> file.toFile().delete());
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  @Override
  public void close() {
    kill();
    if (Files.exists(this.folder)) {
      delete(this.folder);
    }
  }
}
