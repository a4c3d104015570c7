package io.election.benchmarks.sidebyside;

import io.election.test.Signal;
import io.election.test.TestServer;
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
final class ServerProcess implements Server {

  private final String version;

  private final int port;

  private final Path folder;

  private final Process process;

  ServerProcess(String version, int port, Path folder, List<String> command) throws IOException {
    this.version = version;
    this.port = port;
    this.folder = folder;
    this.process = new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("log").toFile())
        .start();
    Runtime.getRuntime().addShutdownHook(new Thread(this.process::destroyForcibly));
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
    return new ServerProcess(
            zooKeeperVersion(),
            port,
            folder,
            zooKeeper(
                ZooKeeperServerMain.class,
                Integer.toString(port),
                folder.resolve("data").toString(),
                "2000",
                "0"))
        .awaitUp();
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
    String version = etcdVersion();
    Path folder = Files.createTempDirectory("etcd-");
    int port = TestServer.freePort();
    String peers = "http://127.0.0.1:" + TestServer.freePort();
    return new ServerProcess(
            version,
            port,
            folder,
            etcd("default", folder, "http://127.0.0.1:" + port, peers, "default=" + peers))
        .awaitUp();
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
  public String version() {
    return this.version;
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
