package io.election.faults;

import io.election.etcd.EtcdProcess;
import io.election.support.Signal;
import io.election.support.process.TcpProxy;
import io.election.zookeeper.Ensemble;
import io.election.zookeeper.Zookeeper;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;

/** A store of versioned keys, of which a test starts three members. */
enum KeyValueStore {
  ZOOKEEPER(KeyValueStore::startZookeeper),
  ETCD(KeyValueStore::startEtcd);

  private final Supplier<Members> starting;

  KeyValueStore(Supplier<Members> starting) {
    this.starting = starting;
  }

  Members start() {
    return this.starting.get();
  }

  String logName() {
    return name().toLowerCase(Locale.ROOT);
  }

  private static Members startZookeeper() {
    Ensemble ensemble = Ensemble.withoutLinks();
    List<Zookeeper> servers = List.copyOf(ensemble.members());
    Zookeeper first = servers.get(0);
    return new Members(
        properties(
            "Zookeeper",
            "zookeeper.connect-string",
            servers.stream().map(Zookeeper::connectString)),
        servers.stream()
            .map((server) -> new Member(
                server::kill, server::stop, server::restart, server::pause, server::resume))
            .toList(),
        (serviceId) -> first.type("delete", "/election/" + serviceId),
        () -> first.type("deleteall", "/election"),
        (serviceId, nodeId) -> first.type("set", "/election/" + serviceId, nodeId),
        () -> {
          Map<Zookeeper, Path> copies = new HashMap<>();
          servers.forEach(Zookeeper::stop);
          servers.forEach((server) -> copies.put(server, server.copyOfData()));
          Zookeeper.putBack(copies);
          return () -> Zookeeper.putBack(copies);
        },
        ensemble::close);
  }

  private static Members startEtcd() {
    return etcd(EtcdProcess.startCluster(3));
  }

  static Members etcd(List<EtcdProcess> servers) {
    EtcdProcess first = servers.get(0);
    return new Members(
        properties("Etcd", "etcd.endpoints", servers.stream().map(EtcdProcess::url)),
        servers.stream()
            .map((server) -> new Member(
                server::kill,
                server::stop,
                server::run,
                () -> server.send(Signal.STOP),
                () -> server.send(Signal.CONT)))
            .toList(),
        (serviceId) -> first.ctl("del", "/election/" + serviceId),
        () -> first.ctl("del", "--prefix", "/election/"),
        (serviceId, nodeId) -> first.ctl("put", "/election/" + serviceId, nodeId),
        () -> {
          Path snapshot = first.snapshot();
          return () -> EtcdProcess.restore(servers, snapshot);
        },
        () -> servers.forEach(EtcdProcess::close));
  }

  private static Map<String, String> properties(
      String algorithm, String name, Stream<String> addresses) {
    return Map.of(
        "spring.autoconfigure.exclude",
        DataSourceAutoConfiguration.class.getName(),
        "as.election.algorithm",
        algorithm,
        "as.election." + name,
        addresses.collect(Collectors.joining(",")));
  }

  /**
   * What a test does to a server.
   *
   * @param stop ends it by SIGTERM, and waits until it has ended
   * @param start starts it on its data, and waits until it answers
   */
  record Member(Runnable kill, Runnable stop, Runnable start, Runnable pause, Runnable resume) {}

  /**
   * Running servers.
   *
   * @param properties the properties of a node that reaches all members
   * @param delete deletes the record of an election, as an operator does
   * @param deleteAll deletes all that the nodes have written, as an operator does
   * @param designate writes a node into the record of an election, as an operator does
   * @param backup saves the data of the store, and returns what restores them on all members
   */
  record Members(
      Map<String, String> properties,
      List<Member> all,
      Consumer<String> delete,
      Runnable deleteAll,
      BiConsumer<String, String> designate,
      Supplier<Runnable> backup,
      Runnable closing)
      implements AutoCloseable {

    private Map.Entry<String, String> addresses() {
      return this.properties.entrySet().stream()
          .filter((property) -> property.getValue().contains(":"))
          .findFirst()
          .orElseThrow();
    }

    /** The port of the first member. */
    int port() {
      String first = addresses().getValue().split(",")[0];
      return Integer.parseInt(first.substring(first.lastIndexOf(':') + 1));
    }

    /** The property of a node that reaches the first member alone, through a proxy. */
    String through(TcpProxy proxy) {
      String first = addresses().getValue().split(",")[0];
      return addresses().getKey() + "=" + first.replaceFirst("\\d+$", "" + proxy.port());
    }

    @Override
    public void close() {
      this.closing.run();
    }
  }
}
