package io.election.faults;

import io.election.etcd.EtcdProcess;
import io.election.test.Signal;
import io.election.zookeeper.Ensemble;
import io.election.zookeeper.Zookeeper;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.springframework.boot.jdbc.autoconfigure.DataSourceAutoConfiguration;

/** A store of versioned keys, of which a test starts three members. */
enum KeyValueStore {
  ZOOKEEPER {
    @Override
    Members start() {
      return new ZookeeperMembers();
    }
  },
  ETCD {
    @Override
    Members start() {
      return new EtcdMembers();
    }
  };

  abstract Members start();

  String logName() {
    return name().toLowerCase(Locale.ROOT);
  }

  /** Running servers. */
  interface Members extends AutoCloseable {

    /** The properties of a node that reaches all members. */
    Map<String, String> properties();

    int size();

    void kill(int member);

    /** Starts a member that was killed, and waits until it answers. */
    void start(int member);

    void pause(int member);

    void resume(int member);

    /** Deletes the record of an election, as an operator does. */
    void delete(String serviceId);

    /** Writes a node into the record of an election, as an operator does. */
    void designate(String serviceId, String nodeId);

    @Override
    void close();
  }

  private static Map<String, String> properties(String algorithm, String name, String addresses) {
    return Map.of(
        "spring.autoconfigure.exclude",
        DataSourceAutoConfiguration.class.getName(),
        "as.election.algorithm",
        algorithm,
        "as.election." + name,
        addresses);
  }

  private static final class ZookeeperMembers implements Members {

    private final Ensemble ensemble = new Ensemble(false);

    private final List<Zookeeper> members = List.copyOf(this.ensemble.members());

    @Override
    public Map<String, String> properties() {
      return KeyValueStore.properties(
          "Zookeeper",
          "zookeeper.connect-string",
          this.members.stream().map(Zookeeper::connectString).collect(Collectors.joining(",")));
    }

    @Override
    public int size() {
      return this.members.size();
    }

    @Override
    public void kill(int member) {
      this.members.get(member).kill();
    }

    @Override
    public void start(int member) {
      this.members.get(member).restart();
    }

    @Override
    public void pause(int member) {
      this.members.get(member).pause();
    }

    @Override
    public void resume(int member) {
      this.members.get(member).resume();
    }

    @Override
    public void delete(String serviceId) {
      this.members.get(0).type("delete", "/election/" + serviceId);
    }

    @Override
    public void designate(String serviceId, String nodeId) {
      this.members.get(0).type("set", "/election/" + serviceId, nodeId);
    }

    @Override
    public void close() {
      this.ensemble.close();
    }
  }

  private static final class EtcdMembers implements Members {

    private final List<EtcdProcess> members = EtcdProcess.startCluster(3);

    @Override
    public Map<String, String> properties() {
      return KeyValueStore.properties(
          "Etcd",
          "etcd.endpoints",
          this.members.stream().map(EtcdProcess::url).collect(Collectors.joining(",")));
    }

    @Override
    public int size() {
      return this.members.size();
    }

    @Override
    public void kill(int member) {
      this.members.get(member).kill();
    }

    @Override
    public void start(int member) {
      this.members.get(member).run();
    }

    @Override
    public void pause(int member) {
      this.members.get(member).send(Signal.STOP);
    }

    @Override
    public void resume(int member) {
      this.members.get(member).send(Signal.CONT);
    }

    @Override
    public void delete(String serviceId) {
      this.members.get(0).ctl("del", "/election/" + serviceId);
    }

    @Override
    public void designate(String serviceId, String nodeId) {
      this.members.get(0).ctl("put", "/election/" + serviceId, nodeId);
    }

    @Override
    public void close() {
      this.members.forEach(EtcdProcess::close);
    }
  }
}
