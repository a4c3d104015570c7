package io.election.support;

import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.UUID;
import org.awaitility.Awaitility;
import org.testcontainers.containers.Network;

/**
 * Three MySQL servers that form a group: MySQL Group Replication with a single primary, in
 * containers. The members communicate over a network of their own, so that one of them can be cut
 * off from the others while clients still reach it.
 */
public final class ReplicationGroup implements AutoCloseable {

  /** The time in which a member must find the group and fetch what it missed. */
  private static final Duration PATIENCE = Duration.ofSeconds(90);

  private final Network network = Network.newNetwork();
  private final String name = UUID.randomUUID().toString();
  private final List<ContainerServer> members = new ArrayList<>();
  private final List<ContainerServer> cutOff = new ArrayList<>();

  private ReplicationGroup() {}

  public static ReplicationGroup start() {
    ReplicationGroup group = new ReplicationGroup();
    try {
      for (int number = 1; number <= 3; number++) {
        String alias = "member" + number;
        String[] options = options(number, alias, group.name);
        ContainerServer member = ContainerServer.launch(
            DatabaseImage.MYSQL_9_7, (container) -> container.setCommand(options));
        group.members.add(member);
        member.connect(group.network, alias);
      }
      group.form();
      return group;
    } catch (RuntimeException | Error ex) {
      group.close();
      throw ex;
    }
  }

  /** The settings that the documentation recommends, and those that the group needs to run. */
  private static String[] options(int number, String alias, String group) {
    return new String[] {
      "--server-id=" + number,
      "--report-host=" + alias,
      "--gtid-mode=ON",
      "--enforce-gtid-consistency=ON",
      "--innodb-buffer-pool-size=64M",
      "--plugin-load-add=group_replication.so",
      // The plugin is not loaded yet while the server initializes its data.
      "--loose-group-replication-group-name=" + group,
      "--loose-group-replication-start-on-boot=OFF",
      "--loose-group-replication-local-address=" + alias + ":33061",
      "--loose-group-replication-group-seeds=member1:33061,member2:33061,member3:33061",
      "--loose-group-replication-recovery-get-public-key=ON",
      "--loose-group-replication-consistency=BEFORE_ON_PRIMARY_FAILOVER",
      "--loose-group-replication-member-expel-timeout=0",
      "--loose-group-replication-unreachable-majority-timeout=1",
      "--loose-group-replication-exit-state-action=READ_ONLY",
      "--loose-group-replication-autorejoin-tries=0",
    };
  }

  private void form() {
    // The transactions of a server's first start must not count as transactions that others lack.
    this.members.forEach((member) -> member.execute("RESET BINARY LOGS AND GTIDS"));
    ContainerServer first = this.members.get(0);
    first.execute("SET GLOBAL group_replication_bootstrap_group = ON");
    first.execute("START GROUP_REPLICATION");
    first.execute("SET GLOBAL group_replication_bootstrap_group = OFF");
    this.members.stream().skip(1).forEach(this::join);
    System.out.println("Test database: three members in Group Replication, MySQL "
        + first.version().replaceFirst("[^0-9.].*", ""));
  }

  private void join(ContainerServer member) {
    Awaitility.await("the server joins the group")
        .atMost(PATIENCE)
        .pollInterval(Duration.ofMillis(500))
        .ignoreExceptions()
        .until(() -> {
          if (!isIn(member)) {
            member.execute("STOP GROUP_REPLICATION");
            member.execute("START GROUP_REPLICATION USER = 'root', PASSWORD = '"
                + TestServer.ROOT_PASSWORD + "'");
          }
          return isIn(member);
        });
  }

  /** Asks another member too: one that was paused does not know yet that it was expelled. */
  private boolean isIn(ContainerServer member) {
    String id = member.query("SELECT @@server_uuid");
    String sql = """
        SELECT COUNT(*) FROM performance_schema.replication_group_members
        WHERE member_id = '%s' AND member_state = 'ONLINE'
        """.formatted(id);
    return "1".equals(member.query(sql))
        && primaryOtherThan(member).map((other) -> "1".equals(other.query(sql))).orElse(true);
  }

  public List<TestServer> members() {
    return List.copyOf(this.members);
  }

  /** Creates an empty database on the server that is the primary now. */
  public TestDatabase newDatabase() {
    return TestDatabase.create(primary().orElseThrow());
  }

  /** The member that accepts writes, if there is one. */
  public Optional<TestServer> primary() {
    return primaryAmong(this.members);
  }

  /** The member that accepts writes, if it is another than the given one, which is not queried. */
  public Optional<TestServer> primaryOtherThan(TestServer last) {
    return primaryAmong(this.members.stream().filter((member) -> member != last).toList());
  }

  private static Optional<TestServer> primaryAmong(List<ContainerServer> members) {
    String isPrimary = """
        SELECT @@GLOBAL.super_read_only = 0 AND COUNT(*) = 1
        FROM performance_schema.replication_group_members
        WHERE member_id = @@server_uuid AND member_role = 'PRIMARY' AND member_state = 'ONLINE'
        """;
    return members.stream()
        .filter(ContainerServer::isRunning)
        .filter((member) -> "1".equals(member.query(isPrimary)))
        .map(TestServer.class::cast)
        .findFirst();
  }

  /** Cuts a member off from the others. Clients still reach it. */
  public void cutOff(TestServer member) {
    ContainerServer server = (ContainerServer) member;
    this.cutOff.add(server);
    server.disconnect(this.network);
  }

  /** Makes a member the primary by an orderly switch. */
  public void switchTo(TestServer member) {
    member.execute("SELECT group_replication_set_as_primary(@@server_uuid)");
  }

  public void switchToMultiPrimary() {
    this.members.get(0).execute("SELECT group_replication_switch_to_multi_primary_mode()");
  }

  public void switchToSinglePrimary() {
    this.members.get(0).execute("SELECT group_replication_switch_to_single_primary_mode()");
  }

  /** Restores all members, and waits until the group is complete. */
  public void restore() {
    for (ContainerServer member : this.members) {
      member.revive();
      if (this.cutOff.remove(member)) {
        member.connect(this.network, "member" + (this.members.indexOf(member) + 1));
      }
      join(member);
    }
  }

  @Override
  public void close() {
    this.members.forEach(ContainerServer::close);
    this.network.close();
  }
}
