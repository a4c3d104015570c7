package io.election.benchmarks.sidebyside;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import javax.sql.DataSource;
import org.springframework.context.annotation.AnnotationConfigApplicationContext;
import org.springframework.integration.jdbc.lock.DefaultLockRepository;
import org.springframework.integration.jdbc.lock.JdbcLockRegistry;
import org.springframework.integration.leader.DefaultCandidate;
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

  private final CandidateSettings settings;

  private final AnnotationConfigApplicationContext context =
      new AnnotationConfigApplicationContext();

  private final Map<String, LockRegistryLeaderInitiator> initiators = new HashMap<>();

  SpringIntegrationCandidate(CandidateSettings settings) {
    this.settings = settings;
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
    this.context.refresh();
    JdbcLockRegistry registry = this.context.getBean(JdbcLockRegistry.class);
    for (String election : elections) {
      LockRegistryLeaderInitiator initiator = new LockRegistryLeaderInitiator(
          registry, new DefaultCandidate(this.settings.node(), election));
      if (!this.settings.defaults()) {
        initiator.setHeartBeatMillis(this.settings.renew().toMillis());
      }
      this.initiators.put(election, initiator);
      initiator.start();
    }
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
    LockRegistryLeaderInitiator initiator = this.initiators.get(election);
    return initiator != null && initiator.getContext().isLeader();
  }

  @Override
  public void leave() {
    this.initiators.values().forEach(LockRegistryLeaderInitiator::destroy);
    this.context.close();
  }
}
