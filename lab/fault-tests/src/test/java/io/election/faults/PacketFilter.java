package io.election.faults;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import org.junit.jupiter.api.Assumptions;

/** Drops packets of ports on the loopback interface, until it is closed or the JVM ends. */
final class PacketFilter implements AutoCloseable {

  private final List<Integer> ports;

  private final Deque<List<String>> rules = new ArrayDeque<>();

  private final Thread cleanup = new Thread(this::heal, "packet-filter-cleanup");

  PacketFilter(Integer... ports) {
    this.ports = List.of(ports);
    Runtime.getRuntime().addShutdownHook(this.cleanup);
  }

  /** Skips the test where packets cannot be dropped. */
  static void assumeUsable() {
    Assumptions.assumeTrue(
        succeeds("iptables", "-w", "-n", "-L", "INPUT"),
        "packets can only be dropped with iptables, as root");
  }

  void loseRequests() {
    add("--dport");
  }

  void loseAnswers() {
    add("--sport");
  }

  void loseBoth() {
    loseRequests();
    loseAnswers();
  }

  void lose(double probability) {
    String[] some = {"-m", "statistic", "--mode", "random", "--probability", "" + probability};
    add("--dport", some);
    add("--sport", some);
  }

  private synchronized void add(String direction, String... matches) {
    for (int port : this.ports) {
      List<String> rule = new ArrayList<>(
          List.of("INPUT", "-i", "lo", "-p", "tcp", direction, Integer.toString(port)));
      rule.addAll(List.of(matches));
      rule.addAll(List.of("-j", "DROP"));
      change("-I", rule);
      this.rules.push(rule);
    }
  }

  synchronized void heal() {
    while (!this.rules.isEmpty()) {
      change("-D", this.rules.pop());
    }
  }

  private static void change(String action, List<String> rule) {
    List<String> command = new ArrayList<>(List.of("iptables", "-w", action));
    command.addAll(rule);
    if (!succeeds(command.toArray(String[]::new))) {
      throw new IllegalStateException(command + " has failed");
    }
  }

  /** Returns whether a command is there and ends with 0. */
  static boolean succeeds(String... command) {
    try {
      return new ProcessBuilder(command)
              .redirectErrorStream(true)
              .redirectOutput(ProcessBuilder.Redirect.DISCARD)
              .start()
              .onExit()
              .join()
              .exitValue()
          == 0;
    } catch (IOException ex) {
      return false;
    }
  }

  @Override
  public void close() {
    heal();
    Runtime.getRuntime().removeShutdownHook(this.cleanup);
  }
}
