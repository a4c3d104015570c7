package io.election.mysql;

import io.election.mysql.MysqlLeaseStore.SchemaMode;
import io.election.test.TestDatabase;
import java.time.Duration;
import javax.sql.DataSource;

/** Creates the objects under test on a test database. */
final class Database {

  /** Longer than a statement can take on a busy machine. */
  static final Duration OPERATION_TIMEOUT = Duration.ofSeconds(10);

  static final Duration RENEW_INTERVAL = Duration.ofSeconds(2);

  private Database() {}

  /** An empty database with all tables. */
  static TestDatabase withTables(TestDatabase database) {
    database.execute(
        LeaseTables.CREATE_LEASES, LeaseTables.CREATE_HISTORY, LeaseTables.CREATE_MEMBERS);
    return database;
  }

  static MysqlLeaseStore store(TestDatabase database) {
    return store(database.dataSource(), database.jdbcUrl());
  }

  static MysqlLeaseStore store(DataSource dataSource, String url) {
    return store(dataSource, url, SchemaMode.NONE, OPERATION_TIMEOUT);
  }

  static MysqlLeaseStore store(
      DataSource dataSource, String url, SchemaMode mode, Duration timeout) {
    ElectionDatabase database = new ElectionDatabase(dataSource, url);
    return new MysqlLeaseStore(database, mode, timeout, RENEW_INTERVAL, true);
  }

  static LeaderElectionSchema schema(TestDatabase database, SchemaMode mode) {
    return schema(database.dataSource(), database.jdbcUrl(), mode);
  }

  static LeaderElectionSchema schema(DataSource dataSource, String url, SchemaMode mode) {
    return new LeaderElectionSchema(new ElectionDatabase(dataSource, url), mode, OPERATION_TIMEOUT);
  }
}
