package io.election.benchmarks.sidebyside;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import javax.sql.DataSource;
import org.jspecify.annotations.Nullable;
import org.springframework.context.SmartLifecycle;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.leader.DefaultCandidate;
import org.springframework.integration.support.SmartLifecycleRoleController;
import org.springframework.integration.support.leader.LockRegistryLeaderInitiator;
import org.springframework.jdbc.support.JdbcTransactionManager;

/** {@code LockRegistryLeaderInitiator} over a lock in the database. */
final class SpringIntegrationCandidate implements Candidate {

  private static final String TABLE = """
      CREATE TABLE INT_LOCK (
          LOCK_KEY CHAR(36) NOT NULL,
          REGION VARCHAR(100) NOT NULL,
          CLIENT_ID CHAR(36),
          CREATED_DATE DATETIME(6) NOT NULL,
          EXPIRED_AFTER DATETIME(6) NOT NULL,
          constraint INT_LOCK_PK primary key (LOCK_KEY, REGION)
      )
      """;

  private static final int MANY_STRIPES = 1 << 20;

  /** That of {@code AbstractPollingEndpoint}: at a stop of the context, the leadership ends first. */
  private static final int POLLER_PHASE = Integer.MAX_VALUE / 2;

  private final CandidateSettings settings;

  private final AnnotationConfigApplicationContext context =
      new AnnotationConfigApplicationContext();

  private final Map<String, LockRegistryLeaderInitiator> initiators = new HashMap<>();

  private final @Nullable Consumer consumer;

  SpringIntegrationCandidate(CandidateSettings settings) {
    this.settings = settings;
    int phase = settings.kind() == CandidateKind.SPRING_INTEGRATION_POLLER_CONSUMER
        ? POLLER_PHASE
        : SmartLifecycle.DEFAULT_PHASE;
    this.consumer = settings.kind().isConsumer() ? new Consumer(phase) : null;
  }

  @Override
  public void join(List<String> elections) {
    DataSource dataSource = Pool.open(this.settings, "");
    boolean mysql = this.settings.kind().backend == Backend.MYSQL;
    Pool.createTable(dataSource, mysql ? TABLE : TABLE.replace("DATETIME(6)", "TIMESTAMP"));
    this.context.registerBean(
        "transactionManager",
        JdbcTransactionManager.class,
        () -> new JdbcTransactionManager(dataSource));
    this.context.registerBean(
        DefaultLockRepository.class, () -> new DefaultLockRepository(dataSource));
    this.context.registerBean(JdbcLockRegistry.class, this::registry);
    Consumer consumer = this.consumer;
    if (consumer != null) {
      String role = elections.get(0);
      this.context.registerBean(Consumer.class, () -> consumer);
      this.context.registerBean(
          SmartLifecycleRoleController.class,
          () -> new SmartLifecycleRoleController(List.of(role), List.of(consumer)));
      this.context.registerBean(LockRegistryLeaderInitiator.class, () -> initiator(role));
      this.context.refresh();
      return;
    }
    this.context.refresh();
    for (String election : elections) {
      initiator(election).start();
    }
  }

  private LockRegistryLeaderInitiator initiator(String election) {
    LockRegistryLeaderInitiator initiator = new LockRegistryLeaderInitiator(
        this.context.getBean(JdbcLockRegistry.class),
        new DefaultCandidate(this.settings.node(), election));
    if (!this.settings.defaults()) {
      initiator.setHeartBeatMillis(this.settings.renew().toMillis());
    }
    this.initiators.put(election, initiator);
    return initiator;
  }

  private JdbcLockRegistry registry() {
    DefaultLockRepository repository = this.context.getBean(DefaultLockRepository.class);
    if (this.settings.defaults()) {
      return new JdbcLockRegistry(repository);
    }
    JdbcLockRegistry registry = new JdbcLockRegistry(repository, this.settings.lease());
    registry.setIdleBetweenTries(this.settings.renew());
    if (this.settings.elections() > 1) {
      // The locks of a process share this many stripes. An election whose stripe is taken never
      // leads.
      registry.setCacheCapacity(MANY_STRIPES);
    }
    return registry;
  }

  @Override
  public boolean isLeader(String election) {
    if (this.consumer != null) {
      return this.consumer.isRunning();
    }
    LockRegistryLeaderInitiator initiator = this.initiators.get(election);
    return initiator != null && initiator.getContext().isLeader();
  }

  @Override
  public void resign(String election) {
    Objects.requireNonNull(this.initiators.get(election), election).getContext().yield();
  }

  @Override
  public void leave() {
    if (this.consumer == null) {
      this.initiators.values().forEach(LockRegistryLeaderInitiator::destroy);
    }
    this.context.close();
  }
}
