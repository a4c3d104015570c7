package io.election.zookeeper;

import static java.nio.charset.StandardCharsets.UTF_8;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.LeadershipAcquiredEvent;
import io.election.keyvalue.KeyValueEdits;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStoreException;
import io.election.support.process.TcpProxy;
import io.election.test.Leases;
import io.election.test.ManualEdits;
import io.election.test.ManualEditsContract;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.zookeeper.CreateMode;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.data.ACL;
import org.apache.zookeeper.data.Id;
import org.apache.zookeeper.server.auth.DigestAuthenticationProvider;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Runs the contract on a real server, and edits records by the command line of ZooKeeper. */
class ZookeeperLeaseStoreIT extends ManualEditsContract {

  private static final String ROOT = "/soa/master/services";
  private static final String RECORD = ROOT + "/" + SERVICE;

  /** The disk of a test machine may be slow. */
  private static final Duration TIMEOUT = Duration.ofSeconds(3);

  private static final Zookeeper server = Zookeeper.shared();

  /** One connection of the operator, because the client takes 100 ms to close one. */
  private static final ZooKeeper hand = server.connect();

  @BeforeEach
  void deleteAll() throws Exception {
    Zookeeper.awaitConnected(hand);
    Zookeeper.deleteAll(hand, "/soa");
  }

  private static ZookeeperLeaseStore.Builder builder(String connectString, String root) {
    return ZookeeperLeaseStore.builder(connectString).root(root).operationTimeout(TIMEOUT);
  }

  @Override
  protected LeaseStore open() {
    return builder(server.connectString(), ROOT).build();
  }

  @Override
  protected ManualEdits edits() {
    return new KeyValueEdits(new ZookeeperHand(hand, ROOT));
  }

  @Test
  void theRecordOfTheSeedIsAPersistentNodeAtTheSamePath() throws Exception {
    led("AccountService:1.0.0", A);

    String path = "/soa/master/services/AccountService:1.0.0";
    assertThat(hand.exists(path, false).getEphemeralOwner()).isZero();
    assertThat(new String(hand.getData(path, false, null), UTF_8)).contains(A);
  }

  @Test
  void termsGrowEvenIfEverythingWasDeleted() throws Exception {
    long term = led(SERVICE, A).term();

    Zookeeper.deleteAll(hand, "/soa");

    assertThat(led(SERVICE, A).term()).isGreaterThan(term);
    assertThat(hand.getChildren(ROOT + "/~terms/" + SERVICE, false))
        .extracting(Long::parseLong)
        .as("no name comes back")
        .allMatch((again) -> again > term);
  }

  @Test
  void anEnsembleThatLostItsIdentityIsAnother() throws Exception {
    LeaseRow row = led(SERVICE, A);

    hand.delete(ROOT + "/~identity", -1);

    assertThat(row(SERVICE)).isNotEqualTo(row);
    assertThat(row(SERVICE).own()).isFalse();
  }

  @Test
  void anOperatorDesignatesANodeByItsNameAlone() throws Exception {
    LeaseRow row = led(SERVICE, A);

    server.type("set", RECORD, B);

    LeaseRow designated = row(SERVICE);
    assertThat(designated.leaderId()).isEqualTo(B);
    assertThat(designated.own()).isFalse();
    assertThat(renew(A, Map.of(SERVICE, row.term()))).isEmpty();
    assertThat(Leases.acquire(another(), SERVICE, designated, B, LEASE, 0, "DESIGNATED")
            .orElseThrow())
        .isGreaterThan(row.term());
  }

  /** The server closes the connection. */
  @Test
  void aRequestThatIsTooLongForTheServerIsToldWithTheSettingThatHelps() throws Exception {
    store().read(Set.of(SERVICE));
    Set<String> many = IntStream.range(0, 8_000)
        .mapToObj((number) -> "a".repeat(120) + number)
        .collect(Collectors.toSet());

    assertThatThrownBy(() -> store().read(many))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("-Djute.maxbuffer");
  }

  @Test
  void anOperatorForcesAnElectionByADeletion() throws Exception {
    LeaseRow row = led(SERVICE, A);

    server.type("delete", RECORD);

    assertThat(store().read(Set.of(SERVICE))).isEmpty();
    assertThat(renew(A, Map.of(SERVICE, row.term()))).isEmpty();
    assertThat(create(SERVICE, B, LEASE, 0).orElseThrow().term()).isGreaterThan(row.term());
  }

  @Test
  void anOperatorWhoDeletesTheRootEndsAllLeaderships() throws Exception {
    Map<String, Long> terms = leadMany(3);

    server.type("deleteall", "/soa");

    assertThat(renew(A, terms)).isEmpty();
    assertThat(store().read(terms.keySet())).isEmpty();
    assertThat(led("service-0", A).term()).isGreaterThan(terms.getOrDefault("service-0", 0L));
  }

  @Test
  void aLateRenewalDoesNotHitARecordThatAnotherHasTakenSince() throws Exception {
    LeaseRow row = led(SERVICE, A);
    int version = hand.exists(RECORD, false).getVersion();
    hand.delete(RECORD, -1);
    hand.create(RECORD, B.getBytes(UTF_8), ZooDefs.Ids.OPEN_ACL_UNSAFE, CreateMode.PERSISTENT);
    for (int i = 0; i < version - 1; i++) {
      hand.setData(RECORD, B.getBytes(UTF_8), i);
    }
    assertThat(
            Leases.acquire(another(), SERVICE, seenByAnother(SERVICE), B, LEASE, 0, "DESIGNATED"))
        .isPresent();
    assertThat(hand.exists(RECORD, false).getVersion()).isEqualTo(version);

    assertThat(renew(A, Map.of(SERVICE, row.term()))).isEmpty();
    assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isFalse();
  }

  @Test
  void aRenewalThatArrivesInASecondLifeOfTheRecordIsNotSeenThere() throws Exception {
    try (TcpProxy proxy = TcpProxy.to(server.port(), () -> (packet) -> 1)) {
      Set<Long> others = Set.copyOf(sessions());
      ZookeeperLeaseStore late = builder("127.0.0.1:" + proxy.port(), ROOT).build();
      LeaseRow created = late.create(SERVICE, claim(A)).orElseThrow();
      Map<String, Long> terms = Map.of(SERVICE, created.term());
      assertThat(late.acquire(SERVICE, created, claim(A))).isPresent();
      assertThat(late.renew(A, terms).renewed()).containsExactly(SERVICE);
      List<Long> lates =
          sessions().stream().filter((session) -> !others.contains(session)).toList();
      assertThat(lates).hasSize(1);
      int version = hand.exists(RECORD, false).getVersion();
      proxy.loseRequests();
      assertThatThrownBy(() -> late.renew(A, terms)).isInstanceOf(LeaseStoreException.class);

      hand.delete(RECORD, -1);
      led(SERVICE, B);
      while (hand.exists(RECORD, false).getVersion() < version) {
        store().designate(SERVICE, B, null, null);
      }
      assertThat(hand.exists(RECORD, false).getVersion()).isEqualTo(version);
      LeaseRow before = row(SERVICE);
      proxy.heal();
      // The end of the session follows the renewal on the same connection.
      Awaitility.await("the late requests have arrived")
          .until(() -> sessions().stream().noneMatch(lates::contains));

      assertThat(row(SERVICE)).isEqualTo(before);
      assertThat(late.renew(A, terms).renewed()).isEmpty();
      late.close();
    }
  }

  @Test
  void aNodeOfAnotherToolsSessionHoldsTheElectionUntilItIsGone() throws Exception {
    ZooKeeper seed = server.connect();
    leadBySession(seed);

    LeaseRow held = row(SERVICE);

    assertThat(held.leaderId()).isEqualTo("192.168.99.100:9090");
    assertThat(create(SERVICE, A, LEASE, 0)).isEmpty();
    assertThat(Leases.acquire(store(), SERVICE, held, A, LEASE, 0, "EXPIRED")).isEmpty();
    assertThat(store().touch(SERVICE, held)).isEmpty();
    assertThat(begin(SERVICE, held, LEASE)).isFalse();
    assertThatThrownBy(() -> store().designate(SERVICE, B, null, null))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("belongs to another tool");
    assertThat(hand.getData(RECORD, false, null)).asString().isEqualTo("192.168.99.100:9090");

    seed.close();
    assertThat(store().read(Set.of(SERVICE))).isEmpty();
    assertThat(led(SERVICE, A).leaderId()).isEqualTo(A);
  }

  private void leadBySession(ZooKeeper seed) throws Exception {
    led("other", A);
    seed.create(
        RECORD,
        "192.168.99.100:9090".getBytes(UTF_8),
        ZooDefs.Ids.OPEN_ACL_UNSAFE,
        CreateMode.EPHEMERAL);
  }

  @Test
  void aRestartOfTheServerCostsNoLease() throws Exception {
    LeaseRow row = led(SERVICE, A);

    server.restart();

    assertThat(renew(A, Map.of(SERVICE, row.term()))).containsExactly(SERVICE);
    assertThat(row(SERVICE).own()).isTrue();
  }

  @Test
  void aCallToAPausedServerEndsInTime() throws Exception {
    LeaseRow row = led(SERVICE, A);
    server.pause();
    try {
      long asked = System.nanoTime();
      assertThatThrownBy(() -> store().renew(A, Map.of(SERVICE, row.term())))
          .isInstanceOf(LeaseStoreException.class)
          .hasMessageContaining("it has not answered within 3000 ms. Has it lost its quorum?");
      assertThatThrownBy(() -> store().read(Set.of(SERVICE)))
          .isInstanceOf(LeaseStoreException.class)
          .hasMessageContaining("it was not reached within 3000 ms");
      assertThat(TimeUnit.NANOSECONDS.toMillis(System.nanoTime() - asked)).isLessThan(20_000);
    } finally {
      server.resume();
    }

    assertThat(renew(A, Map.of(SERVICE, row.term()))).containsExactly(SERVICE);
  }

  @Test
  void aSessionThatWasEndedByAnotherClientCostsNoLease() throws Exception {
    LeaseRow row = led(SERVICE, A);
    endSessions();

    // The call during which the client learns of it may fail, as with any lost connection.
    Awaitility.await()
        .ignoreExceptionsInstanceOf(LeaseStoreException.class)
        .untilAsserted(() ->
            assertThat(renew(A, Map.of(SERVICE, row.term()))).containsExactly(SERVICE));
    assertThat(row(SERVICE).own()).isTrue();
  }

  private void endSessions() throws Exception {
    for (long session : sessions()) {
      if (session != hand.getSessionId()) {
        end(session);
      }
    }
  }

  private static List<Long> sessions() {
    Matcher session = Pattern.compile("sid=0x([0-9a-f]+)").matcher(server.command("cons"));
    return session
        .results()
        .map((found) -> Long.parseUnsignedLong(found.group(1), 16))
        .toList();
  }

  /** Ends a session as its owner would, whose password the server derives from the id. */
  private static void end(long session) throws Exception {
    byte[] password = new byte[16];
    new Random(session ^ 0XB3415C00L).nextBytes(password);
    ZooKeeper same =
        new ZooKeeper(server.connectString(), 40_000, Zookeeper::ignore, session, password);
    Awaitility.await("attached").until(() -> same.getState().isConnected());
    same.close();
  }

  @Test
  void nodesThatAreMadeWithCredentialsAreForTheirCreatorAlone() throws Exception {
    ZookeeperLeaseStore mine = builder(server.connectString(), "/soa/mine")
        .credentials("election", "secret")
        .build();
    ZookeeperLeaseStore stranger = builder(server.connectString(), "/soa/mine")
        .credentials("election", "wrong")
        .build();
    try {
      assertThat(mine.create(SERVICE, claim(A))).isPresent();

      hand.addAuthInfo("digest", "election:secret".getBytes(UTF_8));
      String id = DigestAuthenticationProvider.generateDigest("election:secret");
      for (String path : List.of("/soa", "/soa/mine", "/soa/mine/" + SERVICE, "/soa/mine/~terms")) {
        assertThat(hand.getACL(path, null))
            .as(path)
            .containsExactly(new ACL(ZooDefs.Perms.ALL, new Id("digest", id)));
      }
      assertThatThrownBy(() -> stranger.read(Set.of(SERVICE)))
          .isInstanceOf(LeaseStoreException.class)
          .hasMessageContaining("/soa/mine/")
          .hasMessageContaining("NOAUTH. Give the user of this node all rights to it");
    } finally {
      mine.close();
      stranger.close();
      Zookeeper.deleteAll(hand, "/soa");
    }
  }

  private static LeaseStore.Claim claim(String nodeId) {
    return new LeaseStore.Claim(nodeId, LEASE, 0, LeadershipAcquiredEvent.Reason.CREATED);
  }

  @Test
  void aRecordThatMayNotBeReadIsNotAbsent() throws Exception {
    led(SERVICE, A);
    hand.addAuthInfo("digest", "operator:secret".getBytes(UTF_8));
    hand.setACL(RECORD, ZooDefs.Ids.CREATOR_ALL_ACL, -1);

    assertThatThrownBy(() -> store().read(Set.of(SERVICE)))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining(RECORD + ": NOAUTH");
    hand.setACL(RECORD, ZooDefs.Ids.OPEN_ACL_UNSAFE, -1);
  }

  @Test
  void nodesAboveTheRootMayBelongToOthers() throws Exception {
    List<ACL> readable = Arrays.asList(
        new ACL(ZooDefs.Perms.READ | ZooDefs.Perms.ADMIN, ZooDefs.Ids.ANYONE_ID_UNSAFE));
    hand.create("/soa", new byte[0], readable, CreateMode.PERSISTENT);

    assertThatThrownBy(() -> store().create(SERVICE, claim(A)))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("/soa/master: NOAUTH");

    hand.setACL("/soa", ZooDefs.Ids.OPEN_ACL_UNSAFE, -1);
    led(SERVICE, A);
    hand.setACL("/soa", readable, -1);
    hand.delete(ROOT + "/~identity", -1);
    assertThat(row(SERVICE).leaderId()).isEqualTo(A);
    hand.setACL("/soa", ZooDefs.Ids.OPEN_ACL_UNSAFE, -1);
  }

  @Test
  void aConnectStringMayPutANodeAboveTheRoot() throws Exception {
    ZookeeperLeaseStore above =
        builder(server.connectString() + "/soa/above", "/root").build();

    assertThat(above.create(SERVICE, claim(A))).isPresent();
    above.close();

    assertThat(hand.exists("/soa/above/root/" + SERVICE, false)).isNotNull();
  }

  @Test
  void theNextServerIsTriedIfOneDoesNotAnswer() throws Exception {
    led(SERVICE, A);
    try (ServerSocket hangs = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
      ZookeeperLeaseStore two = builder(
              "127.0.0.1:" + hangs.getLocalPort() + "," + server.connectString(), ROOT)
          .build();
      int answers = 0;
      for (int i = 0; i < 2; i++) {
        try {
          answers += two.read(Set.of(SERVICE)).size();
        } catch (LeaseStoreException ex) {
          assertThat(ex).hasMessageContaining("it was not reached");
        }
      }
      assertThat(answers).isPositive();
      two.close();
    }
  }

  @Test
  void tlsToAPlainPortIsToldWithARemedy() {
    ZookeeperLeaseStore secure = builder(server.connectString(), ROOT)
        .tls(null, null, null)
        .property("zookeeper.sasl.client", "false")
        .build();

    assertThatThrownBy(() -> secure.read(Set.of(SERVICE)))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining(server.connectString())
        .hasMessageContaining("do both use TLS or not");
    secure.close();
  }

  @Test
  void changesOfRecordsAreReportedInThisSessionAndTheNext() throws Exception {
    BlockingQueue<String> reported = new LinkedBlockingQueue<>();
    LeaseRow row = led(SERVICE, A);
    LeaseStore.Watch watch = another().watch(B, () -> reported.add("read"));
    try {
      another().read(Set.of(SERVICE));
      for (int sessions = 0; sessions < 2; sessions++) {
        reported.clear();
        assertThat(store().release(SERVICE, A, row.term(), "", RESIGNED)).isTrue();
        assertThat(reported.poll(10, TimeUnit.SECONDS)).isEqualTo("read");

        row = retaken(row(SERVICE));
        endSessions();
        Awaitility.await()
            .ignoreExceptionsInstanceOf(LeaseStoreException.class)
            .until(() -> !another().read(Set.of(SERVICE)).isEmpty());
        Awaitility.await()
            .ignoreExceptionsInstanceOf(LeaseStoreException.class)
            .until(() -> !store().read(Set.of(SERVICE)).isEmpty());
      }
    } finally {
      watch.close();
    }
  }

  @Test
  void oneLargeRecordDoesNotKeepOthersFromBeingRead() throws Exception {
    for (String id : List.of("large", "larger", "largest")) {
      led(id, A);
      hand.setData(ROOT + "/" + id, "x".repeat(1_000_000).getBytes(UTF_8), -1);
    }
    led(SERVICE, A);

    assertThat(store().read(Set.of("large", "larger", "largest", SERVICE))).hasSize(4);
  }
}
