package io.election.benchmarks.sidebyside;

import io.election.support.Signal;
import io.election.support.TestServer;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.apache.zookeeper.Version;
import org.apache.zookeeper.server.ZooKeeperServerMain;
import org.awaitility.Awaitility;
import org.springframework.util.FileSystemUtils;

/** A server that runs as a process of this machine. */
record ServerProcess(String version, int port, Path folder, Process process) implements Server {

  static ServerProcess start(String version, int port, Path folder, List<String> command)
      throws IOException {
    Process process = new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("log").toFile())
        .start();
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
    return new ServerProcess(version, port, folder, process);
  }

  private Server awaitUp() {
    Awaitility.await(this.version)
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(100))
        .ignoreExceptions()
        .failFast(() -> !this.process.isAlive())
        .until(() -> {
          new Socket(InetAddress.getLoopbackAddress(), this.port).close();
          return true;
        });
    return this;
  }

  /**
   * Starts one ZooKeeper, with the tick of its sample configuration and no limit on connections.
   */
  static Server zooKeeper() throws IOException {
    Path folder = Files.createTempDirectory("zookeeper-");
    int port = TestServer.freePort();
    List<String> command = zooKeeper(
        ZooKeeperServerMain.class, "" + port, folder.resolve("data").toString(), "2000", "0");
    return start(zooKeeperVersion(), port, folder, command).awaitUp();
  }

  static String zooKeeperVersion() {
    return "ZooKeeper " + Version.getVersion();
  }

  static List<String> zooKeeper(Class<?> program, String... arguments) {
    List<String> command = new ArrayList<>(List.of(
        ProcessHandle.current().info().command().orElse("java"),
        "-Xmx256m",
        "-Dzookeeper.admin.enableServer=false",
        "-Dzookeeper.4lw.commands.whitelist=srvr",
        "-Dlogback.configurationFile=benchmarks-quiet.xml",
        "-cp",
        System.getProperty("java.class.path"),
        program.getName()));
    command.addAll(List.of(arguments));
    return command;
  }

  /** Starts one etcd with its default settings. */
  static Server etcd() throws IOException {
    Path folder = Files.createTempDirectory("etcd-");
    int port = TestServer.freePort();
    String peers = "http://127.0.0.1:" + TestServer.freePort();
    List<String> command =
        etcd("default", folder, "http://127.0.0.1:" + port, peers, "default=" + peers);
    return start(etcdVersion(), port, folder, command).awaitUp();
  }

  static String etcdVersion() throws IOException {
    Process asked =
        new ProcessBuilder("etcd", "--version").redirectErrorStream(true).start();
    return new String(asked.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
        .replaceFirst("(?s)\n.*", "")
        .replace("etcd Version: ", "etcd ");
  }

  static List<String> etcd(String name, Path folder, String clients, String peers, String cluster) {
    return List.of(
        "etcd",
        "--name=" + name,
        "--data-dir=" + folder.resolve("data"),
        "--listen-client-urls=" + clients,
        "--advertise-client-urls=" + clients,
        "--listen-peer-urls=" + peers,
        "--initial-advertise-peer-urls=" + peers,
        "--initial-cluster=" + cluster);
  }

  @Override
  public Place newPlace() {
    return new Place(this.port, "127.0.0.1:" + this.port, "", "");
  }

  @Override
  public void pause() {
    Signal.STOP.send(this.process.toHandle());
  }

  @Override
  public void resume() {
    Signal.CONT.send(this.process.toHandle());
  }

  @Override
  public void close() {
    this.process.destroyForcibly().onExit().join();
    try {
      FileSystemUtils.deleteRecursively(this.folder);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }
}
