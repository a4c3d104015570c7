package io.election.mysql.failover.agent;

import io.election.mysql.failover.agent.ReplicationSet.Server;
import io.election.mysql.failover.agent.Status.Role;
import io.election.support.Signal;
import io.election.support.TestServer;
import io.election.support.process.ClassArchive;
import io.election.support.process.NodeProcess;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpRequest.BodyPublishers;
import java.net.http.HttpResponse;
import java.net.http.HttpResponse.BodyHandlers;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Stream;

/** An agent in a JVM of its own, queried over HTTP. */
final class AgentProcess implements AutoCloseable {

  private static final Pattern STATUS =
      Pattern.compile("\"role\":\"(\\w+)\",\"reason\":\"((?:[^\"\\\\]|\\\\.)*)\"");

  private static final HttpClient HTTP = HttpClient.newBuilder()
      .version(HttpClient.Version.HTTP_1_1)
      .connectTimeout(Duration.ofSeconds(1))
      .build();

  private static final String TOKEN = "token-of-the-tests";

  private static final List<String> CLASSES = ClassArchive.train(
      FailoverAgentApplication.class.getName(),
      "--server.port=0",
      "--as.election.service-id=training",
      "--as.election.node-id=a",
      "--as.election.etcd.endpoints=http://127.0.0.1:1",
      "--as.failover.server=a",
      "--as.failover.url=jdbc:mysql://127.0.0.1:1/",
      "--as.failover.username=root",
      "--as.failover.password=none",
      "--as.failover.replication-username=replica",
      "--as.failover.replication-password=none",
      "--as.failover.servers.a=127.0.0.1:1",
      "--as.failover.servers.b=127.0.0.1:2");

  final int port;
  private final int commands;
  private final List<String> command;
  private final Path log;
  private Process process;

  /** Starts an agent that appends its log to a file. */
  AgentProcess(List<String> arguments, Path log) {
    this(
        Stream.concat(CLASSES.stream(), Stream.of(FailoverAgentApplication.class.getName()))
            .toList(),
        arguments,
        log);
  }

  /**
   * Starts an agent that appends its log to a file.
   *
   * @param program the options by which the JVM finds it
   */
  AgentProcess(List<String> program, List<String> arguments, Path log) {
    this.port = TestServer.freePort();
    this.commands = TestServer.freePort();
    this.command = new ArrayList<>(NodeProcess.JVM);
    this.command.add("-Xmx64m");
    this.command.addAll(program);
    this.command.addAll(List.of(
        "--server.port=" + this.port,
        "--as.failover.commands.port=" + this.commands,
        "--as.failover.commands.token-file=" + tokenFile(log),
        "--spring.main.banner-mode=off"));
    this.command.addAll(arguments);
    this.log = log;
    start();
  }

  private AgentProcess(int port, int commands, List<String> command, Path log) {
    this.port = port;
    this.commands = commands;
    this.command = command;
    this.log = log;
    start();
  }

  /** Starts the same agent with another value of one of its arguments. */
  AgentProcess with(String argument, String value) {
    List<String> command = this.command.stream()
        .map((each) -> each.startsWith(argument) ? argument + value : each)
        .toList();
    return new AgentProcess(this.port, this.commands, command, this.log);
  }

  /** Returns the properties of the agent of a server, except its HTTP port. */
  static List<String> arguments(
      Server server, Collection<Server> servers, String service, String etcd) {
    List<String> arguments = new ArrayList<>(List.of(
        "--as.election.service-id=" + service,
        "--as.election.node-id=agent-" + server.name,
        "--as.election.etcd.endpoints=" + etcd,
        "--as.failover.server=" + server.name,
        "--as.failover.url=" + server.url(),
        "--as.failover.username=root",
        "--as.failover.password=" + ReplicationSet.PASSWORD,
        "--as.failover.replication-username=replica",
        "--as.failover.replication-password=" + ReplicationSet.PASSWORD));
    servers.forEach((each) -> arguments.add(address(each)));
    return arguments;
  }

  /** Returns the property with the address of a server. */
  static String address(Server server) {
    return "--as.failover.servers.%s=%s:3306".formatted(server.name, server.host());
  }

  private static Path tokenFile(Path log) {
    try {
      return Files.writeString(Path.of(log + ".token"), TOKEN);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** Starts the agent, or restarts it after it has ended. */
  void start() {
    try {
      Process started = NodeProcess.builder(this.command, this.log).start();
      Runtime.getRuntime().addShutdownHook(new Thread(started::destroyForcibly));
      this.process = started;
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  boolean isRunning() {
    return this.process.isAlive();
  }

  /** Returns the maximum resident memory of the agent so far, in megabytes. */
  long mostResidentMegabytes() throws IOException {
    return Files.readAllLines(Path.of("/proc", Long.toString(this.process.pid()), "status"))
        .stream()
        .filter((line) -> line.startsWith("VmHWM:"))
        .mapToLong((line) -> Long.parseLong(line.replaceAll("\\D", "")) / 1024)
        .sum();
  }

  void send(Signal signal) {
    signal.send(this.process.toHandle());
  }

  /** Returns the status of the agent's server; empty if the agent does not answer. */
  Optional<Status> status() {
    try {
      Matcher matcher = STATUS.matcher(
          ask(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + this.port + "/check"))
                  .timeout(Duration.ofSeconds(1)))
              .body());
      return matcher.find()
          ? Optional.of(new Status(Role.valueOf(matcher.group(1)), matcher.group(2), 0))
          : Optional.empty();
    } catch (IOException ex) {
      return Optional.empty();
    }
  }

  HttpResponse<String> get(String path) throws IOException {
    return ask(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + this.port + path))
        .timeout(Duration.ofSeconds(10)));
  }

  HttpResponse<String> rebuild() throws IOException {
    return command("/rebuild", "{}");
  }

  HttpResponse<String> initialize(int acknowledging) throws IOException {
    return command("/initialize", "{\"acknowledging\":%d}".formatted(acknowledging));
  }

  HttpResponse<String> switchOver(String target) throws IOException {
    return command("/switch-over", "{\"to\":\"%s\"}".formatted(target));
  }

  HttpResponse<String> command(String path, String json) throws IOException {
    return ask(HttpRequest.newBuilder(URI.create("http://127.0.0.1:" + this.commands + path))
        .POST(BodyPublishers.ofString(json))
        .header("Content-Type", "application/json")
        .header("Authorization", "Bearer " + TOKEN)
        .timeout(Duration.ofSeconds(60)));
  }

  private static HttpResponse<String> ask(HttpRequest.Builder builder) throws IOException {
    HttpRequest request = builder.build();
    try {
      return HTTP.send(request, BodyHandlers.ofString());
    } catch (InterruptedException ex) {
      Thread.currentThread().interrupt();
      throw new IOException(ex);
    }
  }

  @Override
  public void close() {
    this.process.destroyForcibly().onExit().join();
  }
}
