package io.election.faults;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.etcd.EtcdLeaseStore;
import io.election.etcd.EtcdProcess;
import io.election.jdbc.ElectionDatabase;
import io.election.jdbc.JdbcLeaseStore;
import io.election.keyvalue.KeyValueLeaseStore;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.lease.Precedence;
import io.election.store.LeaseSettings;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.support.TestDatabase;
import io.election.support.process.LocalSampler;
import io.election.zookeeper.Zookeeper;
import io.election.zookeeper.ZookeeperLeaseStore;
import java.lang.reflect.Field;
import java.lang.reflect.Modifier;
import java.time.Duration;
import java.time.InstantSource;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.Callable;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Function;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Tag;
import org.junit.jupiter.api.Test;
import org.springframework.aop.MethodBeforeAdvice;
import org.springframework.aop.framework.ProxyFactory;

/**
 * A process is copied while it follows two elections, as a snapshot of a machine is started twice.
 * Both copies then know the same secrets. A third node is no copy.
 */
@Tag("faults")
@Order(2)
class CopiedProcessIT {

  private static final Duration LEASE = Duration.ofSeconds(3);
  private static final LeaseSettings SETTINGS = new LeaseSettings(
      LEASE, Duration.ofMillis(600), Duration.ofSeconds(1), Duration.ofSeconds(1), true);
  private static final List<String> ELECTIONS = List.of("x", "y");

  private final Map<String, LocalSampler> samplers =
      Map.of("x", new LocalSampler(), "y", new LocalSampler());

  @Test
  void fault_58_process_is_copied_while_it_follows_in_sql() throws Exception {
    TestDatabase database = TestDatabase.newDatabase();
    Cluster.prepare(database);
    isCopied(
        () -> new JdbcLeaseStore(
            new ElectionDatabase(database.dataSource(), database.jdbcUrl()),
            JdbcLeaseStore.SchemaMode.MIGRATE,
            SETTINGS.operationTimeout(),
            SETTINGS.renewInterval(),
            true),
        CopiedProcessIT::copyToken);
  }

  @Test
  @Tag("long")
  void fault_58_process_is_copied_while_it_follows_in_etcd() throws Exception {
    EtcdProcess server = EtcdProcess.shared();
    isCopied(
        () -> EtcdLeaseStore.builder(List.of(server.url())).prefix("/copied/").build(),
        CopiedProcessIT::copyLife);
  }

  @Test
  @Tag("long")
  void fault_58_process_is_copied_while_it_follows_in_zookeeper() throws Exception {
    try (Zookeeper server = Zookeeper.start()) {
      isCopied(
          () -> ZookeeperLeaseStore.builder(server.connectString()).build(),
          CopiedProcessIT::copyLife);
    }
  }

  private static void copyToken(LeaseStore original, LeaseStore copy) throws Exception {
    Field rows = JdbcLeaseStore.class.getDeclaredField("rows");
    rows.setAccessible(true);
    copy(rows.getType().getDeclaredField("token"), rows.get(original), rows.get(copy));
  }

  private static void copyLife(LeaseStore original, LeaseStore copy) throws Exception {
    Field life = KeyValueLeaseStore.class.getDeclaredField("life");
    life.setAccessible(true);
    for (Field known : life.getType().getDeclaredFields()) {
      if (!Modifier.isStatic(known.getModifiers())) {
        copy(known, life.get(original), life.get(copy));
      }
    }
  }

  private static void copy(Field field, Object from, Object to) throws IllegalAccessException {
    field.setAccessible(true);
    Object value = field.get(from);
    if (value instanceof Map<?, ?> map) {
      value = new HashMap<>(map);
    } else if (value instanceof Set<?> set) {
      value = new HashSet<>(set);
    }
    field.set(to, value);
  }

  private void isCopied(Callable<LeaseStore> open, Copying copying) throws Exception {
    LeaseStore memory = open.call();
    LeaseStore copied = open.call();
    // Each copy first leads another election.
    AtomicBoolean apart = new AtomicBoolean(true);
    Node third = new Node("third", open.call(), (service) -> true);
    Node original = new Node("copied", memory, (service) -> !apart.get() || service.equals("x"));
    Node copy = new Node("copied", copied, (service) -> !apart.get() || service.equals("y"));
    try {
      third.start("third", this.samplers);
      await("the third node leads", () -> third.leads("x") && third.leads("y"));
      original.start("original", this.samplers);
      await("the process follows", () -> original.follows("x") && original.follows("y"));
      copying.copy(memory, copied);
      copy.start("copy", this.samplers);
      third.cutOff.set(true);
      await("both copies lead", () -> original.leads("x") && copy.leads("y"));
      apart.set(false);
      third.cutOff.set(false);
      long end = System.nanoTime() + LEASE.multipliedBy(3).toNanos();
      await("three leases have passed", () -> System.nanoTime() - end > 0);
      for (String election : ELECTIONS) {
        await(
            "there is a leader",
            () -> original.leads(election) || copy.leads(election) || third.leads(election));
      }
      original.cutOff.set(true);
      await("another node leads", () -> copy.leads("x") || third.leads("x"));
      original.cutOff.set(false);
      copy.cutOff.set(true);
      await("another node leads", () -> original.leads("y") || third.leads("y"));
      for (String election : ELECTIONS) {
        assertThat(this.samplers.get(election).judge().violations())
            .as(election)
            .isEmpty();
      }
    } finally {
      this.samplers.values().forEach(LocalSampler::close);
      List.of(original, copy, third).forEach((node) -> node.elector.stop());
    }
  }

  private static void await(String what, Callable<Boolean> condition) {
    Awaitility.await(what)
        .atMost(Duration.ofSeconds(60))
        .pollInterval(Duration.ofMillis(10))
        .until(condition);
  }

  /** Copies what a process knows from one store to another. */
  @FunctionalInterface
  private interface Copying {

    void copy(LeaseStore original, LeaseStore copy) throws Exception;
  }

  /** A node that can be cut off from its store. */
  private static final class Node {

    final AtomicBoolean cutOff = new AtomicBoolean();
    final Elector elector;
    final Map<String, LeaseElectionService> services = new HashMap<>();

    Node(String id, LeaseStore store, Function<String, Boolean> stands) {
      this.elector = new Elector(
          reachable(store),
          SETTINGS,
          () -> id,
          (serviceId) -> false,
          (event) -> {},
          System::nanoTime,
          InstantSource.system(),
          (opening) -> stands.apply(opening.serviceId())
              ? Precedence.Turn.atOnce()
              : Precedence.Turn.standAside("it does not stand"));
      ELECTIONS.forEach(
          (name) -> this.services.put(name, new LeaseElectionService(name, this.elector)));
    }

    private LeaseStore reachable(LeaseStore store) {
      ProxyFactory factory = new ProxyFactory(new Class<?>[] {LeaseStore.class});
      factory.setTarget(store);
      factory.addAdvice((MethodBeforeAdvice) (method, arguments, target) -> {
        if (this.cutOff.get() && !Set.of("name", "close").contains(method.getName())) {
          throw new LeaseStoreException("cut off");
        }
      });
      return (LeaseStore) factory.getProxy();
    }

    void start(String name, Map<String, LocalSampler> samplers) {
      samplers.forEach((election, sampler) -> sampler.add(name, this.services.get(election)));
      this.elector.start(List.copyOf(this.services.values()));
    }

    boolean leads(String election) {
      return this.services.get(election).isLeader();
    }

    boolean follows(String election) {
      return this.services.get(election).leaderId().isPresent() && !leads(election);
    }
  }
}
