package io.election.store;

import io.election.etcd.EtcdLeaseStore;
import io.election.etcd.EtcdProcess;
import io.election.jdbc.ElectionDatabase;
import io.election.jdbc.JdbcLeaseStore;
import io.election.jdbc.JdbcLeaseStore.SchemaMode;
import io.election.support.TestDatabase;
import io.election.test.ElectionDirectoryContract;
import java.time.Duration;
import java.util.List;
import java.util.UUID;
import org.junit.jupiter.api.Tag;

/** The contract of a store, on a list of a real MySQL and a real etcd. */
@Tag("faults")
class JointLeaseStoreIT extends ElectionDirectoryContract {

  /** Longer than a call can take on a busy machine. */
  private static final Duration OPERATION_TIMEOUT = Duration.ofSeconds(10);

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofMinutes(1), Duration.ofSeconds(2), OPERATION_TIMEOUT, Duration.ZERO, true);

  private final TestDatabase database = TestDatabase.newDatabase().withTables();

  private final String prefix = "/" + UUID.randomUUID() + "/";

  @Override
  protected LeaseStore open() {
    List<JointPart> parts = List.of(in("mysql", this.database), second());
    // The nodes of the contract hold all parts or none, so that it does not matter which one asks.
    return JointLeaseStore.of(parts, SETTINGS, () -> A, System::nanoTime, Runnable::run);
  }

  /** Opens the second store of the list. */
  JointPart second() {
    return new JointPart.Leases(
        "etcd",
        EtcdLeaseStore.builder(List.of(EtcdProcess.shared().url()))
            .prefix(this.prefix)
            .operationTimeout(OPERATION_TIMEOUT)
            .build());
  }

  static JointPart in(String name, TestDatabase database) {
    return new JointPart.Leases(
        name,
        new JdbcLeaseStore(
            new ElectionDatabase(database.dataSource(), database.jdbcUrl()),
            SchemaMode.NONE,
            OPERATION_TIMEOUT,
            Duration.ofSeconds(2),
            true));
  }
}
