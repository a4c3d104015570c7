package io.election.support;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import org.awaitility.Awaitility;
import org.testcontainers.containers.JdbcDatabaseContainer;
import org.testcontainers.containers.Network;
import org.testcontainers.utility.MountableFile;

/** A server and its asynchronous, read-only replica, in containers. */
public final class ReplicatedServers implements AutoCloseable {

  private static final String FAKE_TIME = "/usr/local/lib/libfaketime.so";

  private final Network network = Network.newNetwork();
  private final ContainerServer source;
  private final ContainerServer replica;

  private ReplicatedServers(DatabaseImage image, Duration ahead) {
    ContainerServer source = launch(image, 1, Duration.ZERO);
    try {
      source.connect(this.network, "source");
      this.replica = launch(image, 2, ahead);
      this.replica.connect(this.network, "replica");
    } catch (RuntimeException | Error ex) {
      source.close();
      throw ex;
    }
    this.source = source;
  }

  public static ReplicatedServers start() {
    return start(Duration.ZERO);
  }

  /** Starts both servers with clocks that may differ, for which libfaketime must be installed. */
  public static ReplicatedServers start(Duration ahead) {
    return started(new ReplicatedServers(DatabaseImage.MYSQL_9_7, ahead));
  }

  /** Starts two servers of MariaDB. */
  public static ReplicatedServers startMariaDb() {
    return started(new ReplicatedServers(DatabaseImage.MARIADB_11_8, Duration.ZERO));
  }

  private static ReplicatedServers started(ReplicatedServers servers) {
    try {
      servers.replicate();
      return servers;
    } catch (RuntimeException | Error ex) {
      servers.close();
      throw ex;
    }
  }

  private static ContainerServer launch(DatabaseImage image, int number, Duration ahead) {
    return ContainerServer.launch(image, (container) -> {
      if (image == DatabaseImage.MARIADB_11_8) {
        container.setCommand("--server-id=" + number, "--log-bin", "--innodb-buffer-pool-size=64M");
      } else {
        container.setCommand(
            "--server-id=" + number,
            "--gtid-mode=ON",
            "--enforce-gtid-consistency=ON",
            "--innodb-buffer-pool-size=64M");
      }
      if (!ahead.isZero()) {
        shiftClock(container, ahead);
      }
    });
  }

  private static void shiftClock(JdbcDatabaseContainer<?> container, Duration ahead) {
    Path library = FakeClock.library("libfaketime.so.1");
    container.withCopyFileToContainer(MountableFile.forHostPath(library), FAKE_TIME);
    // The shared memory of libfaketime must not belong to root, because root then switches to
    // another user; libfaketime is also slow.
    container.withCreateContainerCmdModifier((command) -> command.withUser("mysql"));
    container.withTmpFs(Map.of("/run/mysqld", "mode=1777"));
    container.withStartupTimeoutSeconds(300);
    container.addEnv("LD_PRELOAD", FAKE_TIME);
    container.addEnv("FAKETIME", String.format(Locale.ROOT, "%+d", ahead.toSeconds()));
    container.addEnv("FAKETIME_DONT_FAKE_MONOTONIC", "1");
  }

  /** Makes the replica a replica of the source again, whatever has happened to the two servers. */
  public void replicateAgain() {
    this.source.revive();
    this.source.execute(writable());
    this.replica.execute("STOP REPLICA");
    this.replica.execute("RESET REPLICA ALL");
    this.replica.execute(writable());
    replicate();
  }

  private String writable() {
    return this.source.isMariaDb()
        ? "SET GLOBAL read_only = OFF"
        : "SET GLOBAL super_read_only = OFF, GLOBAL read_only = OFF";
  }

  private void replicate() {
    if (this.source.isMariaDb()) {
      this.source.execute("RESET MASTER");
      this.replica.execute("RESET MASTER");
      this.replica.execute("SET GLOBAL gtid_slave_pos = ''");
      this.replica.execute("""
          CHANGE MASTER TO MASTER_HOST = 'source', MASTER_USER = 'root', MASTER_PASSWORD = '%s',
              MASTER_USE_GTID = slave_pos
          """.formatted(TestServer.ROOT_PASSWORD));
      this.replica.execute("START REPLICA");
      this.replica.execute("SET GLOBAL read_only = ON");
      return;
    }
    // The transactions of a server's first start must not count as transactions that the other
    // server lacks.
    this.source.execute("RESET BINARY LOGS AND GTIDS");
    this.replica.execute("RESET BINARY LOGS AND GTIDS");
    this.replica.execute("""
        CHANGE REPLICATION SOURCE TO SOURCE_HOST = 'source', SOURCE_USER = 'root',
            SOURCE_PASSWORD = '%s', SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1
        """.formatted(TestServer.ROOT_PASSWORD));
    this.replica.execute("START REPLICA");
    this.replica.execute("SET GLOBAL super_read_only = ON");
  }

  public TestServer source() {
    return this.source;
  }

  /** The server that replicates from the source, read-only until it is promoted. */
  public TestServer replica() {
    return this.replica;
  }

  /** Waits until the replica has applied all transactions of the source. */
  public void awaitSameData() {
    if (this.source.isMariaDb()) {
      String written = this.source.query("SELECT @@GLOBAL.gtid_binlog_pos");
      Awaitility.await("the replica has what the source has")
          .atMost(Duration.ofSeconds(60))
          .until(() -> "0"
              .equals(this.replica.query("SELECT MASTER_GTID_WAIT('%s', 1)".formatted(written))));
      return;
    }
    String executed = this.source.query("SELECT @@GLOBAL.gtid_executed");
    Awaitility.await("the replica has what the source has")
        .atMost(Duration.ofSeconds(60))
        .until(() -> "1"
            .equals(this.replica.query(
                "SELECT GTID_SUBSET('%s', @@GLOBAL.gtid_executed)".formatted(executed))));
  }

  /** Stops the replica from receiving: what the source acknowledges now exists only there. */
  public void stopReceiving() {
    this.replica.execute("STOP REPLICA IO_THREAD");
  }

  /** Stops the replica from applying, but not from receiving: its visible data do not change. */
  public void stopApplying() {
    this.replica.execute("STOP REPLICA SQL_THREAD");
  }

  /** Makes the replica writable and ends its replication, whatever the state of the source. */
  public void promote() {
    // On one connection, since the leader's lease runs on.
    this.replica.execute("STOP REPLICA", "RESET REPLICA ALL", writable());
  }

  @Override
  public void close() {
    this.source.close();
    this.replica.close();
    this.network.close();
  }
}
