package io.election.benchmarks.servers;

import io.election.test.Signal;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Version;
import org.apache.zookeeper.server.ZooKeeperServerMain;
import org.awaitility.Awaitility;
import org.springframework.util.FileSystemUtils;

/** A server that runs as a process of this machine. */
final class ServerProcess implements Server {

  private final Process process;

  private final String version;

  private final int port;

  private final Path folder;

  private ServerProcess(Process process, String version, int port, Path folder) {
    this.process = process;
    this.version = version;
    this.port = port;
    this.folder = folder;
  }

  /**
   * Starts one ZooKeeper, with the tick of its sample configuration and no limit on connections.
   */
  static Server zooKeeper() throws IOException {
    Path folder = Files.createTempDirectory("zookeeper-");
    int port = freePort();
    Process process = start(
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
    ServerProcess server =
        new ServerProcess(process, "ZooKeeper " + Version.getVersion(), port, folder);
    server.await(() -> {
      new Socket(InetAddress.getLoopbackAddress(), port).close();
      return true;
    });
    return server;
  }

  /** Starts one etcd with its default settings. */
  static Server etcd() throws IOException {
    Process asked =
        new ProcessBuilder("etcd", "--version").redirectErrorStream(true).start();
    String version;
    try (InputStream output = asked.getInputStream()) {
      version = new String(output.readAllBytes(), StandardCharsets.UTF_8)
          .lines()
          .findFirst()
          .orElse("")
          .replace("etcd Version: ", "etcd ");
    }
    Path folder = Files.createTempDirectory("etcd-");
    int port = freePort();
    String clients = "http://127.0.0.1:" + port;
    String peers = "http://127.0.0.1:" + freePort();
    Process process = start(
        folder,
        "etcd",
        "--data-dir=" + folder.resolve("data"),
        "--listen-client-urls=" + clients,
        "--advertise-client-urls=" + clients,
        "--listen-peer-urls=" + peers,
        "--initial-advertise-peer-urls=" + peers,
        "--initial-cluster=default=" + peers);
    ServerProcess server = new ServerProcess(process, version, port, folder);
    server.await(() -> {
      HttpURLConnection connection =
          (HttpURLConnection) URI.create(clients + "/health").toURL().openConnection();
      return connection.getResponseCode() == 200;
    });
    return server;
  }

  private static Process start(Path folder, String... command) throws IOException {
    Process process = new ProcessBuilder(new ArrayList<>(List.of(command)))
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("log").toFile())
        .start();
    Runtime.getRuntime().addShutdownHook(new Thread(process::destroyForcibly));
    return process;
  }

  private void await(Callable<Boolean> ready) {
    Awaitility.await(this.version)
        .atMost(Duration.ofSeconds(30))
        .pollInterval(Duration.ofMillis(100))
        .ignoreExceptions()
        .failFast(() -> !this.process.isAlive())
        .until(ready);
  }

  private static int freePort() {
    try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      return socket.getLocalPort();
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  @Override
  public String version() {
    return this.version;
  }

  @Override
  public Place newPlace() {
    int port = this.port;
    return new Place() {
      @Override
      public int port() {
        return port;
      }

      @Override
      public String address(int port) {
        return "127.0.0.1:" + port;
      }

      @Override
      public String username() {
        return "";
      }

      @Override
      public String password() {
        return "";
      }
    };
  }

  @Override
  public Map<String, Double> counters() {
    return Map.of();
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
    this.process.destroyForcibly();
    try {
      this.process.waitFor(10, TimeUnit.SECONDS);
      FileSystemUtils.deleteRecursively(this.folder);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }
}
