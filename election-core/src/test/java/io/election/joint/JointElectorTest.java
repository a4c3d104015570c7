package io.election.joint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.AppenderBase;
import io.election.AuditNote;
import io.election.ElectionService;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.LeaderWork;
import io.election.lease.LeaseSettings;
import io.election.lease.LeaseStore;
import io.election.lease.LeaseStore.Claim;
import io.election.lease.LeaseStoreException;
import io.election.lease.MemoryLeaseStore;
import io.election.lease.Precedence;
import io.election.lease.TermEnd;
import io.election.lease.Ticker;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import java.util.function.Consumer;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.slf4j.LoggerFactory;

/** Tests elections by a list with their threads, over stores in memory. */
@Timeout(60)
class JointElectorTest {

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofMillis(900),
      Duration.ofMillis(150),
      Duration.ofMillis(200),
      Duration.ofMillis(250),
      true);

  private static final AuditNote ALICE = new AuditNote("alice", "a test");

  private final List<String> calls = new CopyOnWriteArrayList<>();

  private final Store first = new Store("first").handedBack();

  private final Store second = new Store("second").handedBack();

  private final List<Node> nodes = new ArrayList<>();

  private final Log log = new Log();

  /** What other tests have left. */
  private final Set<Thread> earlierThreads = Thread.getAllStackTraces().keySet();

  @BeforeEach
  void listen() {
    this.log.start();
    Log.logger().addAppender(this.log);
    Log.logger().setLevel(Level.INFO);
  }

  @AfterEach
  void stop() {
    this.log.tooLong = "nothing";
    this.nodes.forEach((node) -> {
      node.starves = false;
      node.working = false;
      node.elector.stop();
    });
    Log.logger().setLevel(null);
    Log.logger().detachAppender(this.log);
  }

  /** Keeps the lines, but has no memory for some of them. */
  private static final class Log extends AppenderBase<ILoggingEvent> {

    private final List<String> lines = new CopyOnWriteArrayList<>();

    private volatile String tooLong = "nothing";

    static Logger logger() {
      return (Logger) LoggerFactory.getLogger(JointElector.class);
    }

    @Override
    protected void append(ILoggingEvent event) {
      String line = event.getFormattedMessage();
      if (line.contains(this.tooLong)) {
        throw new OutOfMemoryError("injected");
      }
      this.lines.add(line);
    }
  }

  private final class Store extends MemoryLeaseStore {

    private final String name;

    private volatile boolean unwatched;

    private volatile Watch watch = () -> {};

    Store(String name) {
      this.name = name;
    }

    /** Leaves a record that was handed back, so that the first node need not wait for a lease. */
    Store handedBack() {
      long lease = SETTINGS.leaseDuration().toMillis();
      Claim claim = new Claim("earlier", lease, 0, LeadershipAcquiredEvent.Reason.CREATED);
      try {
        acquire("jobs", create("jobs", claim).orElseThrow(), claim);
      } catch (LeaseStoreException ex) {
        throw new IllegalStateException(ex);
      }
      TermEnd stopped = new TermEnd(LeadershipLostEvent.Reason.STOPPED, null);
      assertThat(super.release("jobs", "earlier", 1, "", stopped)).isTrue();
      return this;
    }

    @Override
    public Watch watch(String nodeId, Wake wake) {
      if (this.unwatched) {
        throw new IllegalStateException("cannot be watched");
      }
      return () -> this.watch.close();
    }

    @Override
    public String name() {
      return this.name;
    }

    @Override
    public boolean release(
        String serviceId, String nodeId, long term, @Nullable String successor, TermEnd ending) {
      JointElectorTest.this.calls.add("release " + this.name);
      return super.release(serviceId, nodeId, term, successor, ending);
    }
  }

  private final class Node {

    final List<LeadershipEvent> events = new CopyOnWriteArrayList<>();

    final List<Long> uncovered = new CopyOnWriteArrayList<>();

    volatile boolean working;

    volatile BooleanSupplier isWorking = () -> this.working;

    volatile Consumer<LeadershipEvent> listener = this.events::add;

    /** Whether the thread of the elector has no memory. */
    volatile boolean starves;

    final AtomicInteger starved = new AtomicInteger();

    volatile String id;

    private final Ticker ticker;

    final JointElector elector;

    final JointElectionService service;

    Node(String id, PartSource... parts) {
      this(id, System::nanoTime, parts);
    }

    Node(String id, Ticker ticker, PartSource... parts) {
      this.id = id;
      this.ticker = ticker;
      LeaderWork work = new LeaderWork() {
        @Override
        public boolean isRunning(String serviceId) {
          return Node.this.isWorking.getAsBoolean();
        }

        @Override
        public void onLeaseOver(String serviceId, long term) {
          Node.this.uncovered.add(term);
        }
      };
      this.elector = new JointElector(
          List.of(parts),
          SETTINGS,
          () -> this.id,
          work,
          (event) -> this.listener.accept(event),
          this::now,
          () -> Instant.EPOCH.plusNanos(ticker.read()),
          Precedence.NONE);
      this.service = this.elector.create("jobs");
      JointElectorTest.this.nodes.add(this);
    }

    private long now() {
      if (this.starves && Thread.currentThread().getName().equals("election-joint")) {
        this.starved.incrementAndGet();
        throw new OutOfMemoryError("injected");
      }
      return this.ticker.read();
    }

    Node start() {
      this.elector.start(List.of(this.service));
      return this;
    }

    /** Lets the thread of the elector starve for a while. */
    void starve() {
      this.starves = true;
      await().until(() -> {
        this.elector.wakeUp();
        return this.starved.get() > 1 || threads("election-joint") == 0;
      });
      this.starves = false;
    }

    void awaitLeader() {
      await().until(this.service::isLeader);
    }

    void awaitLoss() {
      await().until(() -> this.events.stream().anyMatch(LeadershipLostEvent.class::isInstance));
    }

    void endWork() {
      this.working = false;
      this.elector.wakeUp();
    }

    Stream<Object> reasons() {
      return this.events.stream()
          .map((event) -> event instanceof LeadershipAcquiredEvent acquired
              ? acquired.reason()
              : ((LeadershipLostEvent) event).reason());
    }
  }

  private Node node(String id) {
    return new Node(id, PartSource.of(this.first), PartSource.of(this.second)).start();
  }

  /** A node with a part of the application before the second store. */
  private Node node(ElectionService legacy) {
    return new Node("x", part("legacy", legacy), PartSource.of(this.second)).start();
  }

  private long threads(String prefix) {
    return Thread.getAllStackTraces().keySet().stream()
        .filter((thread) ->
            thread.getName().startsWith(prefix) && !this.earlierThreads.contains(thread))
        .count();
  }

  private static PartSource part(String name, ElectionService service) {
    return new PartSource(name, null, (serviceId) -> service);
  }

  /** A service with the three methods that it must have. */
  private static ElectionService service(BooleanSupplier leads) {
    return new ElectionService() {
      @Override
      public boolean isLeader() {
        return leads.getAsBoolean();
      }

      @Override
      public void becomeLeader() {}

      @Override
      public void lostLeader() {}
    };
  }

  @Test
  void aPartThatDoesNotLetGoIsReportedUntilItDoes() {
    AtomicBoolean leads = new AtomicBoolean(true);
    AtomicLong now = new AtomicLong();
    ServicePart part = new ServicePart("legacy", service(leads::get), SETTINGS, now::get);
    part.handBack(Duration.ZERO);
    part.call();
    now.addAndGet(SETTINGS.leaseDuration().toNanos());
    part.handBack(Duration.ZERO);
    part.call();
    assertThat(part.health().failure()).isNull();
    now.incrementAndGet();
    for (int i = 0; i < 2; i++) {
      part.call();
      assertThat(part.health().failure()).contains("a lease after lostLeader()");
      part.handBack(Duration.ZERO);
    }
    leads.set(false);
    part.call();
    assertThat(part.health().failure()).isNull();
    leads.set(true);
    part.call();
    assertThat(part.health().failure()).isNull();
  }

  @Test
  void aLeaderHasOneTermAcquiresOnceAndIsLostOnce() {
    Node node =
        new Node("x", PartSource.of(new Store("first")), PartSource.of(new Store("second")));
    node.start().awaitLeader();
    assertThat(node.service.leadership().orElseThrow().term())
        .isEqualTo(node.service.election().parts().get(0).view().term())
        .isEqualTo(node.service.election().parts().get(1).view().term());
    assertThat(node.service.leaderId()).contains("x");
    node.elector.stop();
    assertThat(node.service.isLeader()).isFalse();
    assertThat(node.reasons())
        .containsExactly(
            LeadershipAcquiredEvent.Reason.CREATED, LeadershipLostEvent.Reason.STOPPED);
    assertThat(this.calls).containsExactly("release second", "release first");
  }

  @Test
  void aStopKeepsAllPartsWhileWorkRunsEvenAfterItHasReturned() {
    Node node = node("x");
    node.awaitLeader();
    node.working = true;
    node.elector.stop();
    assertThat(node.service.isLeader()).isFalse();
    assertThat(this.calls).isEmpty();
    node.endWork();
    await()
        .untilAsserted(
            () -> assertThat(this.calls).containsExactly("release second", "release first"));
  }

  @Test
  void theNextNodeLeadsOnceThisOneResignsAndInAHigherTerm() {
    Node x = node("x");
    x.awaitLeader();
    Node y = node("y");
    await().until(() -> y.service.leaderId().equals(Optional.of("x")));
    assertThat(List.of(x, y))
        .extracting((node) -> node.service.leaderLease())
        .containsOnly(Optional.of(SETTINGS.leaseDuration()));
    x.service.lostLeader();
    assertThat(x.service.isLeader()).isFalse();
    y.awaitLeader();
    assertThat(y.service.term().orElseThrow()).isGreaterThan(1);
    await()
        .untilAsserted(() -> assertThat(x.reasons()).endsWith(LeadershipLostEvent.Reason.RESIGNED));
  }

  @Test
  void operatorsDesignateForcePauseAndResumeAsOnOneStore() throws Exception {
    Node x = node("x");
    x.awaitLeader();
    Node y = node("y");
    await().until(() -> y.service.leaderId().equals(Optional.of("x")));
    x.service.designate("y", ALICE);
    y.awaitLeader();
    x.service.designate("x", ALICE);
    x.awaitLeader();
    x.service.pause(ALICE);
    assertThat(x.service.isLeader()).isFalse();
    assertThat(x.service.paused()).contains(ALICE);
    y.awaitLeader();
    x.service.resume(ALICE);
    y.service.forceElection(ALICE);
    x.awaitLeader();
    await()
        .untilAsserted(() -> assertThat(x.reasons())
            .contains(LeadershipLostEvent.Reason.HANDED_OVER, LeadershipLostEvent.Reason.PAUSED));
    assertThat(x.service.history()).hasSizeGreaterThan(2);
    assertThat(x.service.currentMembers().orElseThrow())
        .allSatisfy((member) -> assertThat(member.algorithm()).isEqualTo("first, second"))
        .hasSize(2);
  }

  @Test
  void aPartOfTheApplicationThatEndsEndsTheLeadershipAtOnce() {
    boolean[] leads = {true};
    Node node = node(service(() -> leads[0]));
    node.awaitLeader();
    leads[0] = false;
    assertThat(node.service.isLeader()).isFalse();
    await().until(() -> this.calls.contains("release second"));
    await().untilAsserted(() -> assertThat(node.uncovered).isNotEmpty());
    leads[0] = true;
    node.awaitLeader();
  }

  @Test
  void aPartThatThrowsOrBlocksMakesNoLeaderAndDelaysNoStop() {
    CountDownLatch blocks = new CountDownLatch(1);
    Node throwing = node(service(() -> {
      throw new IllegalStateException("not started");
    }));
    Node blocking = new Node("y", PartSource.of(this.second), part("legacy", service(() -> {
          try {
            blocks.await();
          } catch (InterruptedException ex) {
            Thread.currentThread().interrupt();
          }
          return true;
        })))
        .start();
    await().during(SETTINGS.leaseDuration()).until(() -> !throwing.service.isLeader());
    assertThat(throwing.service.leaderId()).isNotEqualTo(Optional.of("x"));
    assertThat(throwing.service.leadership()).isEmpty();
    assertThat(blocking.service.election().state()).isNotInstanceOf(JointState.Leading.class);
    blocking.elector.stop();
    blocks.countDown();
    throwing.elector.stop();
  }

  @Test
  void aPartThatAnswersAtRandomNeverMakesTwoLeaders() {
    Node x = node(service(() -> Math.random() < 0.9));
    LeaseStore shared = this.second;
    Node y = new Node("y", PartSource.of(shared)).start();
    await()
        .pollInterval(Duration.ofMillis(1))
        .during(SETTINGS.leaseDuration().multipliedBy(3))
        .atMost(Duration.ofSeconds(20))
        .until(() -> {
          boolean first = x.service.isLeader();
          return !(y.service.isLeader() && first && x.service.isLeader());
        });
  }

  @Test
  void anElectorThatRunsIsNotStartedAgain() {
    Node node = node("x");
    assertThatThrownBy(() -> node.elector.start(List.of(node.service)))
        .isInstanceOf(IllegalStateException.class);
    node.elector.stop();
    node.elector.start(List.of(node.service));
    node.awaitLeader();
  }

  /** A part of the application that this node leads until it hands it back, or the test says so. */
  private static final class Legacy implements ElectionService {

    private volatile boolean leads;

    /** What happens once when it is asked. */
    private volatile Runnable whenAsked = () -> {};

    /** What it throws when a thread of the elector asks it. */
    private volatile @Nullable Error failure;

    private final AtomicInteger failed = new AtomicInteger();

    @Override
    public boolean isLeader() {
      Runnable happens = this.whenAsked;
      this.whenAsked = () -> {};
      happens.run();
      Error failure = this.failure;
      if (failure != null) {
        if (Thread.currentThread().getName().startsWith("election-part-")) {
          this.failed.incrementAndGet();
        }
        throw failure;
      }
      return this.leads;
    }

    @Override
    public void becomeLeader() {
      this.leads = true;
    }

    @Override
    public void lostLeader() {
      this.leads = false;
    }
  }

  @Test
  void aFailureThatCannotBeLoggedEndsNothing() {
    Legacy legacy = new Legacy();
    Node node = node(legacy);
    node.awaitLeader();
    this.log.tooLong = "has failed unexpectedly";
    node.starve();
    legacy.leads = false;
    node.awaitLoss();
    node.awaitLeader();
  }

  @Test
  void aFailureAfterAStopKeepsNoPart() {
    Legacy legacy = new Legacy();
    Node node = node(legacy);
    node.awaitLeader();
    node.working = true;
    node.elector.stop();
    assertThat(legacy.leads).isTrue();
    this.log.tooLong = "has failed unexpectedly";
    node.starve();
    node.endWork();
    await().until(() -> !legacy.leads);
    await().until(() -> threads("election-") == 0);
  }

  @Test
  void workThatCannotSayWhetherItRunsIsWaitedForInAStop() {
    Legacy legacy = new Legacy();
    Node node = node(legacy);
    node.awaitLeader();
    node.isWorking = () -> {
      throw new NoClassDefFoundError("injected");
    };
    node.elector.stop();
    assertThat(node.service.isLeader()).isFalse();
    assertThat(legacy.leads).isTrue();
    assertThat(this.calls).isEmpty();
    assertThat(this.log.lines.stream().filter((line) -> line.contains("it counts as running")))
        .hasSize(1);
    node.isWorking = () -> false;
    node.elector.wakeUp();
    await().until(() -> !legacy.leads);
    assertThat(this.calls).containsExactly("release second");
  }

  @Test
  void aStoreThatCannotBeLeftKeepsNoOtherPart() {
    Node node = node("x");
    node.awaitLeader();
    this.second.watch = () -> {
      throw new IllegalStateException("cannot be closed");
    };
    node.elector.stop();
    assertThat(node.service.isLeader()).isFalse();
    await().until(() -> this.calls.size() == 2);
    assertThat(this.calls).containsExactly("release second", "release first");
    assertThat(this.log.lines).anyMatch((line) -> line.contains("has failed unexpectedly"));
  }

  @Test
  void aPartThatThrowsAnErrorIsAskedAgain() {
    Legacy legacy = new Legacy();
    Node node = node(legacy);
    node.awaitLeader();
    legacy.failure = new NoClassDefFoundError("injected");
    assertThat(node.service.isLeader()).isFalse();
    await().until(() -> legacy.failed.get() > 0);
    await()
        .untilAsserted(() -> assertThat(node.elector.storeHealth().get("legacy").failure())
            .contains("NoClassDefFoundError"));
    legacy.failure = null;
    node.awaitLeader();
  }

  @Test
  void eventsNeedNoThreadThatMightNotStart() {
    Node node = node("x");
    assertThat(threads("election-joint-events")).isEqualTo(1);
    node.elector.stop();
    await().until(() -> threads("election-joint-events") == 0);
  }

  @Test
  void aLossThatCannotBeLoggedIsStillAnnounced() {
    Legacy legacy = new Legacy();
    Node node = new Node("x", part("legacy", legacy)).start();
    node.awaitLeader();
    this.log.tooLong = "lost leader by";
    legacy.leads = false;
    await().until(() -> node.uncovered.contains(0L));
    node.awaitLoss();
  }

  @Test
  void aListenerThatThrowsAnErrorIsNotifiedOfTheNextEvent() {
    Node node = node("x");
    node.listener = (event) -> {
      node.events.add(event);
      throw new NoClassDefFoundError("injected");
    };
    node.awaitLeader();
    node.elector.stop();
    assertThat(node.events).hasSize(2);
    assertThat(this.log.lines.stream()
            .filter((line) -> line.contains("A listener of leadership events has failed")))
        .hasSize(2);
  }

  @Test
  void aStartThatFailsLeavesNoThreadAndMayBeTriedAgain() {
    Node node = new Node("x", PartSource.of(this.first), PartSource.of(this.second));
    this.second.unwatched = true;
    assertThatThrownBy(node::start).hasMessage("cannot be watched");
    await().until(() -> threads("election-") == 0);
    assertThat(node.elector.storeHealth()).isEmpty();
    this.second.unwatched = false;
    node.start().awaitLeader();
  }

  @Test
  void aNodeIdThatIsRefusedOnceKeepsNoLaterStartFromStanding() {
    Node node = new Node("x", PartSource.of(this.first), PartSource.of(this.second));
    node.id = "";
    assertThatThrownBy(node::start).isInstanceOf(IllegalArgumentException.class);
    await().until(() -> threads("election-") == 0);
    node.id = "x";
    node.start().awaitLeader();
  }

  @Test
  void whatCannotBeJoinedMayBeTriedAgain() {
    Node node = new Node("x", PartSource.of(this.first), PartSource.of(this.second));
    node.id = "";
    assertThatThrownBy(() -> node.elector.join(List.of(node.service)))
        .isInstanceOf(IllegalArgumentException.class);
    node.id = "x";
    node.start().awaitLeader();
  }

  /** What happens while a part of the application is asked, before it answers yes. */
  private enum Meanwhile {
    THE_LEASE_ENDS {
      @Override
      void happens(Node node, AtomicLong clock) {
        clock.addAndGet(SETTINGS.leaseDuration().toNanos());
      }
    },
    THE_OPERATION_TIMEOUT_PASSES {
      @Override
      void happens(Node node, AtomicLong clock) {
        clock.addAndGet(SETTINGS.operationTimeout().toNanos() + 1);
      }
    },
    THE_NODE_IS_PAUSED {
      @Override
      void happens(Node node, AtomicLong clock) {
        node.service.pause(ALICE);
      }
    },
    THE_NODE_IS_STOPPED {
      @Override
      void happens(Node node, AtomicLong clock) {
        node.elector.stop();
      }
    },
    THE_NODE_RESIGNS {
      @Override
      void happens(Node node, AtomicLong clock) {
        node.service.lostLeader();
      }
    },
    IT_THROWS_AN_ERROR {
      @Override
      void happens(Node node, AtomicLong clock) {
        throw new NoClassDefFoundError("injected");
      }
    };

    abstract void happens(Node node, AtomicLong clock);
  }

  @ParameterizedTest
  @EnumSource
  void aYesOfAPartCountsOnlyWhileEverythingElseStillHolds(Meanwhile meanwhile) {
    for (boolean asksForTheTerm : new boolean[] {false, true}) {
      AtomicLong clock = new AtomicLong();
      Legacy legacy = new Legacy();
      Node node = ticked(clock, legacy);

      legacy.whenAsked = () -> meanwhile.happens(node, clock);
      assertThat(asksForTheTerm ? node.service.leadership().isPresent() : node.service.isLeader())
          .isFalse();
    }
  }

  @Test
  void aTermThatEndsWhileAPartIsAskedIsNotReported() {
    AtomicLong clock = new AtomicLong();
    Legacy legacy = new Legacy();
    Node node = ticked(clock, legacy);
    long term = node.service.term().orElseThrow();

    legacy.whenAsked = () -> {
      legacy.leads = false;
      stepUntil(node, clock, Duration.ofMillis(1), false);
      stepUntil(node, clock, Duration.ofMillis(1), true);
    };
    assertThat(node.service.leadership().orElseThrow().term()).isGreaterThan(term);
  }

  @Test
  void anAnswerThatComesLateIsOldWhenItComes() {
    AtomicLong clock = new AtomicLong();
    boolean[] hangs = {true};
    Node node = new Node("x", clock::get, PartSource.of(this.second), part("legacy", service(() -> {
      if (hangs[0]) {
        clock.addAndGet(SETTINGS.operationTimeout().toNanos() + 1);
      }
      return true;
    })));
    node.elector.join(List.of(node.service));
    for (int i = 0; i < 30; i++) {
      node.elector.step();
      assertThat(node.service.election().parts().get(1).glance().leads()).isFalse();
    }
    hangs[0] = false;
    stepUntil(node, clock, SETTINGS.renewInterval().dividedBy(4), true);
  }

  /** A node that leads by a part of the application and a lease, without threads. */
  private Node ticked(AtomicLong clock, Legacy legacy) {
    Node node =
        new Node("x", clock::get, part("legacy", legacy), PartSource.of(new Store("lease")));
    node.elector.join(List.of(node.service));
    stepUntil(node, clock, SETTINGS.renewInterval().dividedBy(4), true);
    return node;
  }

  private static void stepUntil(Node node, AtomicLong clock, Duration step, boolean leads) {
    for (int i = 0; i < 100 && node.service.isLeader() != leads; i++) {
      clock.addAndGet(step.toNanos());
      node.elector.step();
    }
    assertThat(node.service.isLeader()).isEqualTo(leads);
  }
}
