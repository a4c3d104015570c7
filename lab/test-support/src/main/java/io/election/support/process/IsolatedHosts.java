package io.election.support.process;

import io.election.support.Shell;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import java.util.stream.Stream;
import org.opentest4j.TestAbortedException;

/**
 * Hosts on one network, as network namespaces of Linux, which need root and {@code iptables}. A host
 * can be cut off from the others while this machine still reaches it.
 */
public final class IsolatedHosts implements AutoCloseable {

  private final int size;

  /** The third byte of the addresses, which also names the devices and namespaces. */
  private final int subnet = ThreadLocalRandom.current().nextInt(1, 255);

  private final Thread cleanup = new Thread(this::delete, "isolated-hosts-cleanup");

  /**
   * Creates the hosts, with the numbers from 1 to {@code size}.
   *
   * @throws TestAbortedException if this machine has no namespaces
   */
  public IsolatedHosts(int size) {
    this.size = size;
    Runtime.getRuntime().addShutdownHook(this.cleanup);
    try {
      run("""
          iptables -w -n -L INPUT
          ip netns add hosts$N
          ip -n hosts$N link add name switch type bridge
          ip -n hosts$N link set dev switch up
          ip link add name hosts$N type veth peer name machine netns hosts$N
          ip -n hosts$N link set dev machine master switch up
          ip addr add $ADDRESS.254/24 dev hosts$N
          ip link set dev hosts$N up
          """);
      for (int host = 1; host <= size; host++) {
        run("""
            ip netns add $HOST
            ip -n hosts$N link add name $HOST type veth peer name eth0 netns $HOST
            ip -n hosts$N link set dev $HOST master switch up
            ip -n $HOST addr add $IP/24 dev eth0
            ip -n $HOST link set dev eth0 up
            ip -n $HOST link set dev lo up
            """.replace("$HOST", name(host)).replace("$IP", address(host)));
      }
    } catch (IllegalStateException ex) {
      close();
      throw new TestAbortedException("No network namespaces, which need root: " + ex.getMessage());
    }
  }

  private String name(int host) {
    return "host" + this.subnet + "-" + host;
  }

  /** The address of a host, for this machine and for the other hosts. */
  public String address(int host) {
    return "10.213." + this.subnet + "." + host;
  }

  /** The command that runs another one on a host. */
  public List<String> on(int host, List<String> command) {
    return Stream.concat(Stream.of("ip", "netns", "exec", name(host)), command.stream())
        .toList();
  }

  /** Loses everything between a host and the others. */
  public void cutOff(int host) {
    run("""
        $ON iptables -w -A INPUT -i eth0 ! -s $ADDRESS.254 -j DROP
        $ON iptables -w -A OUTPUT -o eth0 ! -d $ADDRESS.254 -j DROP
        """.replace("$ON", String.join(" ", on(host, List.of()))));
  }

  /** Ends all cuts. */
  public void heal() {
    for (int host = 1; host <= this.size; host++) {
      run(String.join(" ", on(host, List.of("iptables", "-w", "-F"))));
    }
  }

  private void run(String script) {
    Shell.run(
        Path.of("."),
        script.replace("$ADDRESS", "10.213." + this.subnet).replace("$N", "" + this.subnet));
  }

  /** The processes on a host must have ended. */
  @Override
  public void close() {
    Runtime.getRuntime().removeShutdownHook(this.cleanup);
    delete();
  }

  private void delete() {
    for (int host = 1; host <= this.size; host++) {
      run("ip netns del " + name(host) + " || true");
    }
    run("ip netns del hosts$N || true");
  }
}
