package io.election.zookeeper;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.election.keyvalue.NoThreads;
import io.election.store.LeaseStoreException;
import io.election.zookeeper.ScriptedServer.Answer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicLong;
import org.apache.zookeeper.KeeperException.Code;
import org.apache.zookeeper.Op;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;

class ZookeeperSessionTest {

  /** Bounds a call that is answered. */
  private static final Duration PATIENCE = Duration.ofSeconds(20);

  private static final Duration SHORT = Duration.ofMillis(300);

  private static final List<Op> SMALL = List.of(Op.getData("/elections"));

  private final NoThreads noThreads = new NoThreads();

  private final List<ZooKeeper> clients = new ArrayList<>();

  private final AtomicLong nanos = new AtomicLong();

  @AutoClose
  private final ScriptedServer server = new ScriptedServer();

  @AutoClose
  private final ScriptedServer another = new ScriptedServer();

  ZookeeperSessionTest() throws Exception {}

  private ZookeeperSession session(Duration timeout, String... servers) {
    return session(timeout, null, Map.of(), servers);
  }

  private ZookeeperSession session(
      Duration timeout, String digest, Map<String, String> properties, String... servers) {
    return new ZookeeperSession(
        new ZookeeperConnection(
            List.of(servers),
            "/elections",
            digest,
            ZooDefs.Ids.OPEN_ACL_UNSAFE,
            properties,
            timeout),
        this.clients::add,
        this.nanos::get);
  }

  private static void read(ZookeeperSession session) throws LeaseStoreException {
    session.begin();
    assertThat(session.multi("Reading", SMALL)).hasSize(1);
  }

  private static void fails(ZookeeperSession session, List<Op> operations, String problem) {
    session.begin();
    assertThatThrownBy(() -> session.multi("Reading", operations))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageStartingWith("Reading by the ZooKeeper server 127.0.0.1:")
        .hasMessageContaining(" failed: " + problem);
    assertThat(session.client()).isNull();
  }

  private void assertIsTold(Answer answer, List<Op> operations, String problem) {
    this.server.answer(answer);
    fails(
        session(answer == SILENCE ? SHORT : PATIENCE, this.server.address()), operations, problem);
  }

  private static final Answer SILENCE = ScriptedServer::silence;

  @Test
  void aFailureIsToldWithWhatHelps() {
    List<Op> large = List.of(Op.setData("/elections", new byte[1_000_000], -1));
    assertIsTold(
        ScriptedServer.error(Code.UNIMPLEMENTED), SMALL, "it is older than 3.6 and cannot read");
    assertIsTold(ScriptedServer.error(Code.MARSHALLINGERROR), SMALL, "MARSHALLINGERROR");
    assertIsTold(SILENCE, SMALL, "it has not answered within 300 ms. Has it lost its quorum?");
    assertIsTold(
        ScriptedServer::hangUp, large, "the connection was lost on a request of 1000040 bytes.");
    this.server.answer(ScriptedServer::hangUp);
    ZookeeperSession session = session(PATIENCE, this.server.address());
    session.begin();
    assertThatThrownBy(() -> session.multi("Reading", SMALL))
        .hasMessageEndingWith(" failed: the connection was lost");
  }

  @Test
  void aServerThatIsNotReachedIsToldWithWhatToCheck() {
    fails(session(SHORT, "127.0.0.1:1"), SMALL, "it was not reached within 300 ms. Does it run");
  }

  @Test
  void aSessionThatHasExpiredEndsNoLeadership() throws Exception {
    ZookeeperSession session = session(PATIENCE, this.server.address());
    read(session);
    session.client().close();

    assertThatThrownBy(() -> session.multi("Reading", SMALL))
        .hasMessageContaining("the session has expired, which ends no leadership");
    read(session);
  }

  @Test
  void aSessionIsUsedUntilItFailsAndThenOneWithTheNextServer() throws Exception {
    ZookeeperSession session = session(PATIENCE, this.server.address(), this.another.address());
    for (int sessions = 1; sessions <= 2; sessions++) {
      for (ScriptedServer used : List.of(this.server, this.another)) {
        used.answer(ScriptedServer.result(Code.NONODE));
        read(session);
        read(session);
        assertThat(used.sessions()).isEqualTo(sessions);
        used.answer(ScriptedServer::hangUp);
        fails(session, SMALL, "the connection was lost");
      }
    }
    assertThat(this.clients).hasSize(4);
  }

  @Test
  void aConnectionThatWasLostBetweenTwoOperationsFailsNone() throws Exception {
    ZookeeperSession session = session(PATIENCE, this.server.address(), this.another.address());
    read(session);
    session.client().close();

    read(session);
    assertThat(this.another.sessions()).isEqualTo(1);
  }

  @Test
  void aRefusedLoginIsRepeatedAfterAPauseAndAtOnceAfterAnotherFailure() throws Exception {
    ZookeeperSession session = session(SHORT, "election:wrong", Map.of(), this.server.address());
    this.server.login(Code.AUTHFAILED);
    fails(session, SMALL, "the client could not authenticate. Check the credentials");
    fails(session, SMALL, "the client could not authenticate. Check the credentials");
    assertThat(this.server.sessions()).isEqualTo(1);

    this.server.login(Code.OK);
    pass();
    this.server.answer(ScriptedServer::hangUp);
    fails(session, SMALL, "the connection was lost");
    this.server.answer(SILENCE);
    fails(session, SMALL, "it has not answered");
    fails(session, SMALL, "the client could not authenticate");
    assertThat(this.server.sessions()).isEqualTo(3);

    pass();
    this.server.answer(ScriptedServer.result(Code.NONODE));
    read(session);
    session.drop();
    read(session);
  }

  private void pass() {
    this.nanos.addAndGet(Duration.ofSeconds(45).toNanos());
  }

  @Test
  void aPropertyThatTheClientDoesNotAcceptIsTold() {
    ZookeeperSession session =
        session(SHORT, null, Map.of("zookeeper.clientCnxnSocket", "none"), "127.0.0.1:1");
    session.begin();
    assertThatThrownBy(() -> session.multi("Reading", SMALL))
        .isInstanceOf(LeaseStoreException.class)
        .hasMessageContaining("Opening a session by the ZooKeeper server 127.0.0.1:1 failed")
        .hasMessageContaining("none");
  }

  @Test
  void anInterruptEndsACallAndIsKept() {
    ZookeeperSession session = session(PATIENCE, this.server.answer(SILENCE).address());
    session.begin();
    Thread.currentThread().interrupt();
    Throwable failure = catchThrowable(() -> session.multi("Reading", SMALL));

    assertThat(Thread.interrupted()).isTrue();
    assertThat(failure).hasMessageContaining("the thread was interrupted");
  }

  @Test
  void closingWaitsForTheServerButNotIfItIsInterrupted() throws Exception {
    ZookeeperSession session = session(PATIENCE, this.server.address());
    read(session);
    session.close();
    assertThat(this.clients).allMatch((client) -> !client.getState().isAlive(), "closed");

    read(session);
    Thread.currentThread().interrupt();
    session.close();
    assertThat(Thread.interrupted()).isTrue();

    read(session);
    assertThat(session.drop()).as("keeps no JVM from its end").matches(Thread::isDaemon);
    assertThat(session.drop()).as("nothing is open").isNull();
    session.close();
  }

  @Test
  void aSessionIsClosedThoughThereIsNoThreadThatCouldWaitForTheServer() {
    ZookeeperSession session = new ZookeeperSession(
        new ZookeeperConnection(
            List.of("127.0.0.1:1"),
            "/elections",
            null,
            ZooDefs.Ids.OPEN_ACL_UNSAFE,
            Map.of(),
            Duration.ofMillis(100)),
        (client) -> {
          this.clients.add(client);
          this.noThreads.set("");
        },
        System::nanoTime);
    session.begin();
    Throwable failure =
        catchThrowable(() -> session.multi("Reading", List.of(Op.getData("/elections"))));
    this.noThreads.remove();

    assertThat(failure).isInstanceOf(LeaseStoreException.class);
    assertThat(this.clients)
        .singleElement()
        .matches((client) -> !client.getState().isAlive(), "closed");
  }
}
