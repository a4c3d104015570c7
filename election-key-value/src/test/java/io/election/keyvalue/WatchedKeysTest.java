package io.election.keyvalue;

import static io.election.LeadershipLostEvent.Reason.RESIGNED;
import static io.election.LeadershipLostEvent.Reason.STOPPED;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.catchThrowable;

import io.election.LeadershipAcquiredEvent.Reason;
import io.election.store.ElectionDirectory.Announcement;
import io.election.store.LeaseRow;
import io.election.store.LeaseStore;
import io.election.store.LeaseStore.Claim;
import io.election.store.LeaseStoreException;
import io.election.store.TermEnd;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedClass;
import org.junit.jupiter.params.provider.ValueSource;

/** Who is woken when, on a server as etcd and on one as ZooKeeper. */
@ParameterizedClass(name = "as ZooKeeper: {0}")
@ValueSource(booleans = {false, true})
class WatchedKeysTest {

  private static final String ID = "billing";
  private static final long LEASE = 10_000;

  private final MemoryKeyValueServer.Cluster cluster = new MemoryKeyValueServer.Cluster();
  private final Node a;
  private final Node b;
  private final Node c;
  private final Node d;
  private final long term;

  WatchedKeysTest(boolean asZookeeper) throws Exception {
    this.cluster.reusesVersions = asZookeeper;
    this.a = new Node("a");
    this.b = new Node("b");
    this.c = new Node("c");
    this.d = new Node("d");
    Claim claim = new Claim("a", LEASE, 0, Reason.CREATED);
    LeaseRow created = this.a.store.create(ID, claim).orElseThrow();
    this.term = this.a.store.acquire(ID, created, claim).orElseThrow();
    for (Node node : List.of(this.b, this.c, this.d)) {
      node.watch();
    }
  }

  /** A node whose elector reads at once if it is woken so, and notes it. */
  private final class Node implements LeaseStore.Wake {

    final String id;
    final KeyValueLeaseStore store = new KeyValueLeaseStore(new MemoryKeyValueServer(
        WatchedKeysTest.this.cluster, WatchedKeysTest.this.cluster::commit, this::read));
    final BlockingQueue<String> woken = new LinkedBlockingQueue<>();
    final CountDownLatch goesOn = new CountDownLatch(1);
    LeaseStore.Watch watch = () -> {};

    /** Whether this node is busy while it is told to wait for its turn. */
    volatile boolean busy;

    /** Is thrown when this node is woken for the first time. */
    @Nullable
    volatile Error failure;

    /** Is done once, while the answer to a reading is on its way. */
    Callable<?> meanwhile = () -> null;

    private KeyValueServer.Snapshot read(KeyValueServer.Query query) {
      KeyValueServer.Snapshot answer = WatchedKeysTest.this.cluster.read(query);
      Callable<?> meanwhile = this.meanwhile;
      this.meanwhile = () -> null;
      try {
        meanwhile.call();
      } catch (Exception ex) {
        throw new AssertionError(ex);
      }
      return answer;
    }

    Node(String id) throws LeaseStoreException {
      this.id = id;
      announce(Set.of(ID));
    }

    void announce(Set<String> serviceIds) throws LeaseStoreException {
      this.store.announce(new Announcement(
          this.id,
          serviceIds,
          Set.of(),
          true,
          Duration.ofMillis(LEASE),
          "1.0",
          "etcd",
          Map.of(),
          ""));
    }

    void watch() throws LeaseStoreException {
      row();
      this.watch = this.store.watch(this.id, this);
      this.store.members(Set.of(ID));
    }

    LeaseRow row() throws LeaseStoreException {
      return reading().row();
    }

    synchronized LeaseStore.Reading reading() throws LeaseStoreException {
      return Objects.requireNonNull(this.store.read(Set.of(ID)).get(ID));
    }

    synchronized OptionalLong take(Reason reason) throws LeaseStoreException {
      OptionalLong term = this.store.acquire(ID, row(), new Claim(this.id, LEASE, 0, reason));
      assertThat(term).isPresent();
      return term;
    }

    @Override
    public void now() {
      Error failure = this.failure;
      if (failure != null) {
        this.failure = null;
        this.woken.add("failed");
        throw failure;
      }
      try {
        this.woken.add("now, " + row().leaderId());
      } catch (LeaseStoreException ex) {
        this.woken.add(ex.toString());
      }
    }

    @Override
    public void inTurn(int ahead) {
      this.woken.add("after " + ahead);
      if (this.busy) {
        try {
          this.goesOn.await();
        } catch (InterruptedException ex) {
          Thread.currentThread().interrupt();
        }
      }
    }

    void assertWoken(String how) throws InterruptedException {
      int seconds = Integer.getInteger("await.seconds", 10);
      assertThat(this.woken.poll(seconds, TimeUnit.SECONDS)).as(this.id).isEqualTo(how);
    }
  }

  @AfterEach
  void close() {
    List.of(this.a, this.b, this.c, this.d).forEach((node) -> node.watch.close());
    assertThat(this.cluster.watches).isEmpty();
  }

  private void handBack() throws LeaseStoreException {
    assertThat(this.a.store.release(ID, "a", this.term, "", new TermEnd(RESIGNED, null)))
        .isTrue();
  }

  @Test
  void aHandBackIsForTheFirstAndTheNextLeaderIsForAll() throws Exception {
    int reads = this.cluster.queries.size();
    handBack();

    this.b.assertWoken("after 0");
    this.c.assertWoken("after 1");
    this.d.assertWoken("after 2");
    assertThat(this.cluster.queries).as("the leader's own").hasSize(reads + leadersOwn());
    this.b.take(Reason.RELEASED);
    this.c.assertWoken("now, b");
    this.d.assertWoken("now, b");
  }

  /** Where versions come back, a release is preceded by a reading. */
  private int leadersOwn() {
    return this.cluster.reusesVersions ? 1 : 0;
  }

  @Test
  void aHandBackIsAWriteAReadingAndAWriteInARow() throws Exception {
    List.of(this.c, this.d).forEach((node) -> node.watch.close());
    int reads = this.cluster.queries.size();
    int writes = this.cluster.commits.size();
    handBack();
    assertThat(this.cluster.queries).hasSize(reads + leadersOwn());
    this.b.assertWoken("after 0");
    this.b.watch.close();
    int asked = this.cluster.logsAsked;

    this.b.take(Reason.RELEASED);

    assertThat(this.cluster.queries).hasSize(reads + leadersOwn() + 1).last().satisfies((query) -> {
      assertThat(query.fresh()).isTrue();
      assertThat(query.folders()).as("the newest terms").hasSize(1);
    });
    assertThat(this.cluster.logsAsked).isEqualTo(asked + 1);
    assertThat(this.cluster.commits).hasSize(writes + 2);
  }

  /** Where versions come back, and where it does not know the versions, it reads before it writes. */
  @Test
  void aLeaderThatStopsLeavesByTheRequestThatHandsBack() throws Exception {
    int requests = this.cluster.requests();

    this.a.store.release(ID, "a", this.term, "", new TermEnd(STOPPED, null));
    this.a.announce(Set.of());

    this.b.assertWoken("after 0");
    assertThat(this.cluster.requests() - requests).isEqualTo(this.cluster.reusesVersions ? 4 : 1);
    assertThat(this.cluster.below(Keys.MEMBERS)).hasSize(3);
    assertThat(this.cluster.below(Keys.SEEN)).hasSize(3);
  }

  /** Another client has written to the record, so that the request that does both is refused. */
  @Test
  void aLeaderThatStopsLeavesThoughItHandsBackByAnotherRequest() throws Exception {
    this.cluster.put(ID, this.cluster.get(ID));

    assertThat(this.a.store.release(ID, "a", this.term, "", new TermEnd(STOPPED, null)))
        .isTrue();
    this.a.announce(Set.of());

    assertThat(this.cluster.below(Keys.MEMBERS)).hasSize(3);
    assertThat(this.cluster.below(Keys.SEEN)).hasSize(3);
  }

  @Test
  void aNodeThatHandsBackIsAMemberUntilItStops() throws Exception {
    handBack();
    assertThat(this.cluster.below(Keys.MEMBERS)).hasSize(4);

    this.a.announce(Set.of());

    assertThat(this.cluster.below(Keys.MEMBERS)).hasSize(3);
    assertThat(this.cluster.below(Keys.SEEN)).hasSize(3);
  }

  /** What a node has read to take the record is not what it writes on if anything has changed. */
  @Test
  void aRecordThatChangesAfterTheOnlyReadingIsNotTaken() throws Exception {
    handBack();
    this.b.assertWoken("after 0");
    LeaseRow free = this.b.row();
    assertThat(free.leaseMillis()).isZero();

    this.cluster.interruption = () -> this.cluster.put(ID, "c");

    assertThat(this.b.store.acquire(ID, free, new Claim("b", LEASE, 0, Reason.RELEASED)))
        .isEmpty();
    assertThat(this.cluster.get(ID)).isEqualTo("c");
  }

  @Test
  void onlyTheHandBackIsReadFromTheQuorum() throws Exception {
    handBack();
    this.b.assertWoken("after 0");
    this.b.row();
    this.b.row();
    assertThat(this.cluster.queries.get(this.cluster.queries.size() - 1).fresh())
        .isFalse();
    this.c.row();
    assertThat(this.cluster.queries.get(this.cluster.queries.size() - 1).fresh())
        .isFalse();
  }

  @Test
  void aChangeThatComesWhileTheRecordIsReadIsNotLost() throws Exception {
    this.c.busy = true;
    handBack();
    this.c.assertWoken("after 1");

    this.c.meanwhile = () -> this.b.take(Reason.RELEASED);
    assertThat(this.c.row().leaderId()).isEmpty();
    this.c.goesOn.countDown();

    this.c.assertWoken("now, b");
  }

  @Test
  void aCandidateThatLeavesIsNotWaitedFor() throws Exception {
    this.b.announce(Set.of());
    int reads = this.cluster.queries.size();
    handBack();

    this.c.assertWoken("after 0");
    this.d.assertWoken("after 1");
    assertThat(this.cluster.queries).as("the leader's own").hasSize(reads + leadersOwn());
  }

  @Test
  void aLeaderWhoseLeaseHasExpiredIsNotWaitedFor() throws Exception {
    this.b.watch.close();
    this.b.take(Reason.EXPIRED);
    this.c.assertWoken("now, b");
    this.d.assertWoken("now, b");
    long next = this.term + 1;

    assertThat(this.b.store.release(ID, "b", next, "", new TermEnd(RESIGNED, null)))
        .isTrue();

    this.c.assertWoken("after 0");
    this.d.assertWoken("after 1");
  }

  @Test
  void aLeaderThatHasHandedBackComesFirstAgain() throws Exception {
    handBack();
    this.c.assertWoken("after 1");
    this.b.take(Reason.RELEASED);
    this.c.assertWoken("now, b");

    this.b.store.release(ID, "b", this.term + 1, "", new TermEnd(RESIGNED, null));

    this.c.assertWoken("after 1");
  }

  @Test
  void aWakeUpThatFailsEndsNoWatch() throws Exception {
    handBack();
    this.c.assertWoken("after 1");
    this.c.failure = new OutOfMemoryError("injected");

    this.b.take(Reason.RELEASED);
    this.c.assertWoken("failed");
    this.b.store.release(ID, "b", this.term + 1, "", new TermEnd(RESIGNED, null));

    this.c.assertWoken("after 1");
  }

  @Test
  void aWatchWithoutAThreadIsClosed() {
    NoThreads noThreads = new NoThreads();
    int watches = this.cluster.watches.size();
    noThreads.set("");
    Throwable failure = catchThrowable(() -> this.a.store.watch("a", this.a));
    noThreads.remove();

    assertThat(failure).isInstanceOf(OutOfMemoryError.class);
    assertThat(this.cluster.watches).hasSize(watches);
  }

  /** A node that was not woken in its turn waits all the same. */
  @Test
  void aReadingSaysHowManyCandidatesAreAheadIfTheRecordIsFree() throws Exception {
    assertThat(this.d.reading().ahead()).isZero();
    handBack();
    assertThat(this.d.reading().ahead()).isEqualTo(2);
  }

  @Test
  void aRecordThatIsDeletedIsForTheFirst() throws Exception {
    this.cluster.delete(ID);

    this.b.assertWoken("after 0");
    this.d.assertWoken("after 2");
  }
}
