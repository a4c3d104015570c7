package io.election.etcd;

import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.election.test.Signal;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.awaitility.Awaitility;

/** An etcd from the path, with its default settings, on a port and in a folder of its own. */
public final class EtcdProcess implements AutoCloseable {

  private static EtcdProcess shared;

  private final Path folder;
  private final int port = freePort();
  private final int peerPort = freePort();
  private final List<String> options;
  private Process process;

  private EtcdProcess(String... options) {
    this.options = List.of(options);
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
    boolean found = Arrays.stream(System.getenv("PATH").split(":"))
        .anyMatch(folder -> Files.isExecutable(Path.of(folder, "etcd")));
    assumeTrue(found, "etcd is not on the path");
    EtcdProcess etcd = new EtcdProcess(options);
    etcd.run();
    return etcd;
  }

  /** Starts the process, on its data as they are. */
  void run() {
    String peers = "http://127.0.0.1:" + this.peerPort;
    List<String> command = new ArrayList<>(List.of(
        "etcd",
        "--data-dir=" + data(),
        "--listen-client-urls=" + url(),
        "--advertise-client-urls=" + url(),
        "--listen-peer-urls=" + peers,
        "--initial-advertise-peer-urls=" + peers,
        "--initial-cluster=default=" + peers));
    command.addAll(this.options);
    try {
      this.process = new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(this.folder.resolve("log").toFile())
          .start();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
    Awaitility.await("etcd")
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(50))
        .failFast(() -> !this.process.isAlive())
        .ignoreExceptions()
        .until(() -> ctl("endpoint", "health").contains("is healthy"));
  }

  void kill() {
    this.process.destroyForcibly().onExit().join();
  }

  void send(Signal signal) {
    signal.send(this.process.toHandle());
  }

  public String url() {
    return "http://127.0.0.1:" + this.port;
  }

  int port() {
    return this.port;
  }

  Path data() {
    return this.folder.resolve("data");
  }

  /** Replaces the data by those of a snapshot, as another cluster. */
  void restore(Path snapshot) {
    kill();
    delete(data());
    String peers = "http://127.0.0.1:" + this.peerPort;
    ctl(
        "snapshot",
        "restore",
        snapshot.toString(),
        "--data-dir=" + data(),
        "--initial-cluster-token=restored",
        "--initial-cluster=default=" + peers,
        "--initial-advertise-peer-urls=" + peers);
    run();
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

  private static int freePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  private static void delete(Path folder) {
    try (var files = Files.walk(folder)) {
      files
          .sorted(java.util.Comparator.reverseOrder())
          .forEach(file -> file.toFile().delete());
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
