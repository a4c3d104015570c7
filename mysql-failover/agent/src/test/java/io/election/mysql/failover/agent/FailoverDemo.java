package io.election.mysql.failover.agent;

import static java.nio.charset.StandardCharsets.UTF_8;

import io.election.mysql.failover.agent.Status.Role;
import io.election.mysql.failover.agent.Writer.Written;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.opentest4j.TestAbortedException;

/**
 * A set of four servers for a demonstration. {@code start} starts the set and keeps it running;
 * {@code kill}, in another JVM, kills the source of that set and prints what happened.
 */
final class FailoverDemo {

  private static final Path FOLDER = Path.of("target", "failover-demo");

  private static final Path PORT = FOLDER.resolve("port");

  private FailoverDemo() {}

  public static void main(String[] arguments) throws Exception {
    try {
      switch (arguments.length == 1 ? arguments[0] : "") {
        case "start" -> start();
        case "kill" -> kill();
        default -> System.out.println("The argument is start or kill");
      }
    } catch (TestAbortedException ex) {
      System.out.println("This machine cannot run it: " + ex.getMessage());
    }
  }

  private static void start() throws Exception {
    Files.createDirectories(FOLDER);
    long began = System.nanoTime();
    System.out.println("Starting etcd, four servers of mysql:9.7 in containers, and their agents");
    try (FailoverSet set = new FailoverSet(FOLDER, 1, "a", "b", "c", "d");
        ServerSocket listener = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      set.patience = Duration.ofDays(1);
      Thread story = new Thread(() -> tellForEver(set, began), "story");
      story.setDaemon(true);
      story.start();
      String source = set.settle();
      set.agents.forEach((name, agent) -> System.out.printf(
          "%s: server %s:3306 (root, %s), agent http://127.0.0.1:%d/check%n",
          name, set.set.get(name).host(), ReplicationSet.PASSWORD, agent.port));
      System.out.printf(
          "%s is the source, and a client writes to it. Logs are in %s; Ctrl-C stops everything.%n",
          source, FOLDER.toAbsolutePath());
      Files.writeString(PORT, Integer.toString(listener.getLocalPort()));
      while (true) {
        try (Socket client = listener.accept();
            PrintStream out = new PrintStream(client.getOutputStream(), true, UTF_8)) {
          killSource(set, out);
        }
      }
    } finally {
      Files.deleteIfExists(PORT);
    }
  }

  /** Sends the command to the JVM of the set, and prints its answer. */
  private static void kill() throws IOException {
    if (!Files.exists(PORT)) {
      System.out.println("No set is running, or it is not complete yet: see the other terminal");
      return;
    }
    int port = Integer.parseInt(Files.readString(PORT));
    try (Socket set = new Socket(InetAddress.getLoopbackAddress(), port);
        InputStream story = set.getInputStream()) {
      story.transferTo(System.out);
    }
  }

  private static void killSource(FailoverSet set, PrintStream out) throws Exception {
    String source = set.settle();
    long began = System.nanoTime();
    set.set.get(source).kill();
    tell(out, began, source + ", the source, is killed");
    Map<String, String> shown = new TreeMap<>();
    while (hasNoOtherSource(set, source, began)) {
      show(set, shown, out, began);
    }
    Written last = last(set, source);
    Written first = first(set, source, began).orElseThrow();
    tell(
        out,
        began,
        "%s acknowledges writes, %.2f s after the last write to %s"
            .formatted(first.server(), (first.at() - last.at()) / 1e9, source));
    List<Written> all = set.written(Long.MIN_VALUE);
    Set<Long> ids = set.set.get(first.server()).ids();
    long lost = all.stream().filter((each) -> !ids.contains(each.id())).count();
    tell(
        out,
        began,
        "%2$s lacks %3$d of %1$d acknowledged transactions"
            .formatted(all.size(), first.server(), lost));
    set.set.get(source).startAgain();
    tell(out, began, source + " is started again");
    while (!hasJoinedOrIsRefused(set, source)) {
      show(set, shown, out, began);
    }
    show(set, shown, out, began);
    set.settle();
    set.refusals.forEach((refusal) -> tell(out, began, "rebuilt " + refusal));
    set.refusals.clear();
    set.rebuilt.clear();
    show(set, shown, out, began);
  }

  private static void tellForEver(FailoverSet set, long began) {
    Map<String, String> shown = new TreeMap<>();
    while (true) {
      show(set, shown, System.out, began);
    }
  }

  private static boolean hasJoinedOrIsRefused(FailoverSet set, String server) {
    Status status = set.statuses().get(server);
    return status != null && (status.role() == Role.REPLICA || status.role() == Role.REFUSED);
  }

  private static boolean hasNoOtherSource(FailoverSet set, String source, long since) {
    return first(set, source, since).isEmpty();
  }

  private static Optional<Written> first(FailoverSet set, String source, long since) {
    return set.written(since).stream()
        .filter((each) -> !each.server().equals(source))
        .findFirst();
  }

  private static Written last(FailoverSet set, String source) {
    return set.written(Long.MIN_VALUE).stream()
        .filter((each) -> each.server().equals(source))
        .reduce((one, next) -> next)
        .orElseThrow();
  }

  /** Prints the statuses of the agents that have changed. */
  private static void show(
      FailoverSet set, Map<String, String> shown, PrintStream out, long began) {
    set.statuses().forEach((name, status) -> {
      String text = "%s is %s%s"
          .formatted(name, status.role(), status.reason().isEmpty() ? "" : ": " + status.reason());
      if (!text.equals(shown.put(name, text))) {
        tell(out, began, text);
      }
    });
    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(50));
  }

  private static void tell(PrintStream out, long began, String text) {
    out.printf("%7.2f s  %s%n", (System.nanoTime() - began) / 1e9, text);
  }
}
