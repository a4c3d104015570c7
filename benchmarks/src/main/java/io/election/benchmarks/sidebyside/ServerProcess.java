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

  private ServerProcess(String version, int port, Path folder, String... command)
      throws IOException {
    this.version = version;
    this.port = port;
    this.folder = folder;
    this.process = new ProcessBuilder(command)
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("log").toFile())
        .start();
    Runtime.getRuntime().addShutdownHook(new Thread(this.process::destroyForcibly));
    Awaitility.await(version)
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(100))
        .ignoreExceptions()
        .failFast(() -> !this.process.isAlive())
        .until(() -> {
          new Socket(InetAddress.getLoopbackAddress(), port).close();
          return true;
        });
  }

  /**
   * Starts one ZooKeeper, with the tick of its sample configuration and no limit on connections.
   */
  static Server zooKeeper() throws IOException {
    Path folder = Files.createTempDirectory("zookeeper-");
    int port = TestServer.freePort();
    return new ServerProcess(
        "ZooKeeper " + Version.getVersion(),
        port,
        folder,
        ProcessHandle.current().info().command().orElse("java"),
        "-Xmx256m",
        "-Dzookeeper.admin.enableServer=false",
        "-Dlogback.configurationFile=benchmarks-quiet.xml",
        "-cp",
        System.getProperty("java.class.path"),
        ZooKeeperServerMain.class.getName(),
        Integer.toString(port),
        folder.resolve("data").toString(),
        "2000",
        "0");
  }

  /** Starts one etcd with its default settings. */
  static Server etcd() throws IOException {
    Process asked =
        new ProcessBuilder("etcd", "--version").redirectErrorStream(true).start();
    String version = new String(asked.getInputStream().readAllBytes(), StandardCharsets.UTF_8)
        .replaceFirst("(?s)\n.*", "")
        .replace("etcd Version: ", "etcd ");
    Path folder = Files.createTempDirectory("etcd-");
    int port = TestServer.freePort();
    String clients = "http://127.0.0.1:" + port;
    String peers = "http://127.0.0.1:" + TestServer.freePort();
    return new ServerProcess(
        version,
        port,
        folder,
        "etcd",
        "--data-dir=" + folder.resolve("data"),
        "--listen-client-urls=" + clients,
        "--advertise-client-urls=" + clients,
        "--listen-peer-urls=" + peers,
        "--initial-advertise-peer-urls=" + peers,
        "--initial-cluster=default=" + peers);
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
