package io.election.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.election.support.Signal;
import io.election.support.TestServer;
import io.election.support.process.NodeProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.zookeeper.KeeperException;
import org.apache.zookeeper.WatchedEvent;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.ZooKeeperMain;
import org.apache.zookeeper.server.auth.SASLAuthenticationProvider;
import org.apache.zookeeper.server.quorum.QuorumPeerMain;
import org.awaitility.Awaitility;

/** A server of ZooKeeper in a process of its own, with its own port and folder. */
public final class Zookeeper implements AutoCloseable {

  private static Zookeeper shared;

  private final Path folder;
  private final int port;
  private final List<String> jvmOptions;
  private int securePort;
  private Process process;

  private Zookeeper(Path folder, int port, List<String> jvmOptions) {
    this.folder = folder;
    this.port = port;
    this.jvmOptions = jvmOptions;
    this.process = launch();
  }

  /** Returns the server of this run of tests. */
  static synchronized Zookeeper shared() {
    if (shared == null) {
      shared = start();
      Runtime.getRuntime().addShutdownHook(new Thread(shared::close));
    }
    return shared;
  }

  /** Starts a server that is an ensemble by itself. */
  public static Zookeeper start() {
    Zookeeper server = start(1, List.of());
    server.awaitUp();
    return server;
  }

  /** Starts a server with a secure port too, for clients whose certificates it trusts. */
  public static Zookeeper startSecure(Path keyStore, Path trustStore, String password) {
    int port = TestServer.freePort();
    Zookeeper server = start(
        1,
        List.of(
            "secureClientPort=" + port,
            "secureClientPortAddress=127.0.0.1",
            "serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
            "ssl.keyStore.location=" + keyStore,
            "ssl.keyStore.password=" + password,
            "ssl.trustStore.location=" + trustStore,
            "ssl.trustStore.password=" + password));
    server.securePort = port;
    server.awaitUp();
    return server;
  }

  /**
   * Starts a server to which clients may authenticate by SASL.
   *
   * @param jaas a file of JAAS with the section {@code Server}, which names the users
   */
  public static Zookeeper startWithSasl(Path jaas) {
    Zookeeper server = start(
        1,
        List.of("authProvider.sasl=" + SASLAuthenticationProvider.class.getName()),
        List.of("-Djava.security.auth.login.config=" + jaas));
    server.awaitUp();
    return server;
  }

  /** Starts a server, which answers only after it has found its ensemble. */
  static Zookeeper start(int id, List<String> ensemble) {
    return start(id, ensemble, List.of());
  }

  private static Zookeeper start(int id, List<String> ensemble, List<String> jvmOptions) {
    try {
      Path folder = Files.createTempDirectory("zookeeper-");
      int port = TestServer.freePort();
      List<String> settings = new ArrayList<>(List.of(
          "tickTime=2000",
          "initLimit=10",
          "syncLimit=5",
          "dataDir=" + folder.resolve("data"),
          "clientPort=" + port,
          "clientPortAddress=127.0.0.1",
          "maxClientCnxns=0",
          "admin.enableServer=false",
          "4lw.commands.whitelist=*"));
      settings.addAll(ensemble);
      Files.createDirectory(folder.resolve("data"));
      Files.writeString(folder.resolve("data").resolve("myid"), Integer.toString(id));
      Files.write(folder.resolve("zoo.cfg"), settings);
      return new Zookeeper(folder, port, jvmOptions);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  private static List<String> java(String... arguments) {
    List<String> command = new ArrayList<>(List.of(
        ProcessHandle.current().info().command().orElse("java"),
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-Xmx160m",
        "-cp",
        NodeProcess.classPath()));
    command.addAll(List.of(arguments));
    return command;
  }

  /** Starts a program of the tests, whose output is to be read. */
  static Process launch(Class<?> program, String... arguments) throws IOException {
    List<String> command = java(program.getName());
    command.addAll(List.of(arguments));
    Process launched = new ProcessBuilder(command).redirectErrorStream(true).start();
    Runtime.getRuntime().addShutdownHook(new Thread(launched::destroyForcibly));
    return launched;
  }

  private Process launch() {
    List<String> command = java(this.jvmOptions.toArray(String[]::new));
    command.add(QuorumPeerMain.class.getName());
    command.add(this.folder.resolve("zoo.cfg").toString());
    try {
      Process launched = new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(ProcessBuilder.Redirect.appendTo(log().toFile()))
          .start();
      Runtime.getRuntime().addShutdownHook(new Thread(launched::destroyForcibly));
      return launched;
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  private Path log() {
    return this.folder.resolve("log");
  }

  /** Waits until the server serves clients. */
  void awaitUp() {
    Awaitility.await("ZooKeeper is up: " + log())
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(50))
        .failFast(() -> {
          if (!this.process.isAlive()) {
            throw new IllegalStateException("ZooKeeper has ended:\n" + Files.readString(log()));
          }
        })
        .until(() -> command("srvr").contains("Mode: "));
  }

  Path folder() {
    return this.folder;
  }

  int port() {
    return this.port;
  }

  public String secureConnectString() {
    return "127.0.0.1:" + this.securePort;
  }

  public String connectString() {
    return "127.0.0.1:" + this.port;
  }

  /** Runs a command of four letters; returns nothing if the server does not answer. */
  public String command(String word) {
    try (Socket socket = new Socket(InetAddress.getLoopbackAddress(), this.port)) {
      socket.setSoTimeout(2000);
      socket.getOutputStream().write(word.getBytes(UTF_8));
      return new String(socket.getInputStream().readAllBytes(), UTF_8);
    } catch (IOException ex) {
      return "";
    }
  }

  /** How many requests the server has received, pings and this question included. */
  public long requests() {
    Matcher received = Pattern.compile("Received: (\\d+)").matcher(command("srvr"));
    if (!received.find()) {
      throw new IllegalStateException("the server does not count its requests");
    }
    return Long.parseLong(received.group(1));
  }

  public void kill() {
    this.process.destroyForcibly().onExit().join();
  }

  /** Ends the server by SIGTERM. */
  public void stop() {
    this.process.toHandle().destroy();
    this.process.onExit().join();
  }

  /** Kills the server, if it runs, and starts it again on its data. */
  public void restart() {
    kill();
    this.process = launch();
    awaitUp();
  }

  /** Copies the data of a server that is stopped or at rest. */
  public Path copyOfData() {
    Path copy = this.folder.resolve("copy");
    copyAll(this.folder.resolve("data"), copy);
    return copy;
  }

  /** Replaces the data of servers by copies, while none of them runs. */
  public static void putBack(Map<Zookeeper, Path> copies) {
    copies.keySet().forEach(Zookeeper::kill);
    copies.forEach((server, copy) -> {
      deleteAll(server.folder.resolve("data"));
      copyAll(copy, server.folder.resolve("data"));
      server.process = server.launch();
    });
    copies.keySet().forEach(Zookeeper::awaitUp);
  }

  private static void copyAll(Path from, Path to) {
    try (var files = Files.walk(from)) {
      for (Path file : (Iterable<Path>) files::iterator) {
        Files.copy(file, to.resolve(from.relativize(file).toString()));
      }
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  private static void deleteAll(Path folder) {
    try (var files = Files.walk(folder)) {
      files.sorted((a, b) -> b.compareTo(a)).forEach((file) -> file.toFile().delete());
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  public void pause() {
    Signal.STOP.send(this.process.toHandle());
  }

  public void resume() {
    Signal.CONT.send(this.process.toHandle());
  }

  /** Runs a command as an operator types it, by the command line of ZooKeeper. */
  public void type(String... words) {
    List<String> command =
        java(ZooKeeperMain.class.getName(), "-server", connectString(), "-waitforconnection");
    command.addAll(List.of(words));
    try {
      Path output = Files.createTempFile(this.folder, "typed", ".log");
      int exit = new ProcessBuilder(command)
          .redirectErrorStream(true)
          .redirectOutput(output.toFile())
          .start()
          .waitFor();
      if (exit != 0) {
        throw new IllegalStateException(
            String.join(" ", words) + " failed:\n" + Files.readString(output));
      }
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new IllegalStateException(ex);
    }
  }

  /** Returns the data of a node as text; empty if there is no such node. */
  public String read(String path) {
    ZooKeeper client = connect();
    try {
      return new String(client.getData(path, false, null), UTF_8);
    } catch (KeeperException.NoNodeException ex) {
      return "";
    } catch (KeeperException | InterruptedException ex) {
      throw new IllegalStateException(ex);
    } finally {
      close(client);
    }
  }

  private static void close(ZooKeeper client) {
    try {
      client.close();
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
    }
  }

  /** Connects as any other client does. */
  ZooKeeper connect() {
    return connect(connectString());
  }

  /** Connects to an address. */
  static ZooKeeper connect(String connectString) {
    try {
      ZooKeeper client = new ZooKeeper(connectString, 40_000, Zookeeper::ignore);
      awaitConnected(client);
      return client;
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** A client whose attempt fell into a restart waits for its answer as long as for a session. */
  static void awaitConnected(ZooKeeper client) {
    Awaitility.await("connected")
        .atMost(Duration.ofMinutes(1))
        .until(() -> client.getState().isConnected());
  }

  static void ignore(WatchedEvent event) {}

  /** Deletes a node and all below it, if it exists. */
  static void deleteAll(ZooKeeper client, String path)
      throws KeeperException, InterruptedException {
    try {
      for (String child : client.getChildren(path, false)) {
        deleteAll(client, path + "/" + child);
      }
      client.delete(path, -1);
    } catch (KeeperException.NoNodeException ex) {
      // It is deleted already.
    }
  }

  @Override
  public void close() {
    resume();
    kill();
    deleteAll(this.folder);
  }
}
