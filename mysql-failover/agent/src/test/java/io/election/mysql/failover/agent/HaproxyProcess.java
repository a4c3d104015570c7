package io.election.mysql.failover.agent;

import io.election.support.TestServer;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.stream.Collectors;

/**
 * An HAProxy, found on the path, in front of the servers of a set. It asks their agents for the
 * source.
 */
final class HaproxyProcess implements AutoCloseable {

  private static final String CONFIGURATION = """
      defaults
        mode tcp
        timeout connect 1s
        timeout client 1h
        timeout server 1h

      listen source
        bind 127.0.0.1:%d
        option httpchk GET /check
        default-server check inter 500ms fall 1 rise 1 on-marked-down shutdown-sessions
      """;

  private final int port = TestServer.freePort();
  private final Process process;

  HaproxyProcess(FailoverSet set, Path folder) throws IOException {
    String servers = set.agents.entrySet().stream()
        .map((agent) -> "  server %s %s:3306 addr 127.0.0.1 port %d%n"
            .formatted(agent.getKey(), set.set.get(agent.getKey()).host(), agent.getValue().port))
        .collect(Collectors.joining());
    Path file = folder.resolve("haproxy.cfg");
    Files.writeString(file, CONFIGURATION.formatted(this.port) + servers);
    this.process = new ProcessBuilder("haproxy", "-db", "-f", file.toString())
        .redirectErrorStream(true)
        .redirectOutput(folder.resolve("haproxy.log").toFile())
        .start();
    Runtime.getRuntime().addShutdownHook(new Thread(this.process::destroyForcibly));
  }

  String url() {
    return ReplicationSet.url("127.0.0.1", this.port);
  }

  @Override
  public void close() {
    this.process.destroyForcibly().onExit().join();
  }
}
