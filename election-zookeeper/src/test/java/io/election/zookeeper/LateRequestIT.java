package io.election.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.apache.zookeeper.ZooDefs.Ids.OPEN_ACL_UNSAFE;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.support.process.TcpProxy;
import java.util.List;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooKeeper;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/**
 * What a request does that arrives long after its client has given up, in a second life of the
 * record: the facts about ZooKeeper on which the store stands.
 */
class LateRequestIT {

  private static final String RECORD = "/record";
  private static final String TERM = "/term-7";
  private static final String HEARTBEAT = "/heartbeat";

  private static final Zookeeper server = Zookeeper.shared();

  private ZooKeeper hand;
  private TcpProxy proxy;

  @BeforeEach
  void lead() throws Exception {
    this.hand = server.connect();
    this.proxy = TcpProxy.to(server.port(), () -> (packet) -> 1);
    create(RECORD);
    create(TERM);
    create(HEARTBEAT);
    this.hand.setData(RECORD, "a leads in term 7".getBytes(UTF_8), 0);
  }

  @AfterEach
  void clear() throws Exception {
    this.proxy.close();
    for (String path : List.of(RECORD, TERM, HEARTBEAT, "/arrived")) {
      Zookeeper.deleteAll(this.hand, path);
    }
    this.hand.close();
  }

  private void create(String path) throws Exception {
    this.hand.create(path, new byte[0], OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
  }

  private int version(String path) throws Exception {
    return this.hand.exists(path, false).getVersion();
  }

  /**
   * Sends a request that is lost, changes the nodes, lets the request arrive, and returns whether it
   * changed anything.
   */
  private boolean hits(List<Op> request, Edit meanwhile) throws Exception {
    int before = version(HEARTBEAT);
    ZooKeeper sender = Zookeeper.connect("127.0.0.1:" + this.proxy.port());
    this.proxy.loseRequests();
    sender.multi(request, (rc, path, context, results) -> {}, null);
    sender.create(
        "/arrived",
        new byte[0],
        OPEN_ACL_UNSAFE,
        CreateMode.PERSISTENT,
        (rc, path, context, name) -> {},
        null);

    meanwhile.apply();

    this.proxy.heal();
    Awaitility.await("the request has arrived")
        .until(() -> this.hand.exists("/arrived", false) != null);
    sender.close();
    return version(HEARTBEAT) > before;
  }

  @FunctionalInterface
  private interface Edit {

    void apply() throws Exception;
  }

  /** Deletes the record and writes it again until it has the version of its first life. */
  private void secondLife() throws Exception {
    int first = version(RECORD);
    this.hand.delete(RECORD, -1);
    create(RECORD);
    assertThat(version(RECORD)).as("a version begins again").isZero();
    for (int version = 0; version < first; version++) {
      this.hand.setData(RECORD, "b leads in term 8".getBytes(UTF_8), version);
    }
    assertThat(version(RECORD)).isEqualTo(first);
  }

  private static Op renew() {
    return Op.setData(HEARTBEAT, new byte[0], -1);
  }

  @Test
  void aRequestThatNothingDisturbsArrives() throws Exception {
    assertThat(hits(List.of(Op.check(RECORD, 1), renew()), () -> {})).isTrue();
  }

  @Test
  void theVersionOfTheRecordAloneLetsALateRequestHitItsSecondLife() throws Exception {
    assertThat(hits(List.of(Op.check(RECORD, 1), renew()), this::secondLife)).isTrue();
  }

  @Test
  void theTermsOwnNodeKeepsALateRequestOffTheSecondLife() throws Exception {
    List<Op> request = List.of(Op.check(RECORD, 1), Op.check(TERM, 0), renew());

    // A take-over ends the term in its own node.
    assertThat(hits(request, () -> {
          secondLife();
          this.hand.setData(TERM, "ended".getBytes(UTF_8), 0);
        }))
        .isFalse();
  }

  @Test
  void aTermThatWasDeletedTooKeepsALateRequestOffTheSecondLife() throws Exception {
    List<Op> request = List.of(Op.check(RECORD, 1), Op.check(TERM, 0), renew());

    assertThat(hits(request, () -> {
          secondLife();
          this.hand.delete(TERM, -1);
          this.hand.create("/term-8", new byte[0], OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
          this.hand.delete("/term-8", -1);
        }))
        .isFalse();
  }

  @Test
  void aNewTermIsNotCreatedByALateTake() throws Exception {
    List<Op> request = List.of(
        Op.check(RECORD, 1),
        Op.check(TERM, 0),
        Op.create("/term-8", new byte[0], OPEN_ACL_UNSAFE, CreateMode.PERSISTENT),
        renew());

    assertThat(hits(request, () -> {
          secondLife();
          this.hand.setData(TERM, "ended".getBytes(UTF_8), 0);
        }))
        .isFalse();
    assertThat(this.hand.exists("/term-8", false)).isNull();
  }
}
