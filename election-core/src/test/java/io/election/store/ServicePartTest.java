package io.election.store;

import static java.time.Duration.ofMillis;
import static java.time.Duration.ofSeconds;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.AuditNote;
import io.election.ElectionService;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.Elector;
import io.election.lease.LeaseElectionService;
import io.election.store.SimulatedDatabase.Store;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.BooleanSupplier;
import org.awaitility.Awaitility;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AutoClose;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Nodes on a list of an election of the application and a store. */
class ServicePartTest {

  private static final String JOBS = "jobs";

  private static final Duration LEASE = ofSeconds(10);

  private static final LeaseSettings SETTINGS =
      new LeaseSettings(LEASE, ofSeconds(2), ofSeconds(1), ofSeconds(5), true);

  private final AtomicLong clock = new AtomicLong();

  private final SimulatedDatabase database = new SimulatedDatabase(() -> this.clock.get() / 1_000);

  @AutoClose("shutdownNow")
  private final ExecutorService threads = Executors.newCachedThreadPool();

  /** The node that leads by the election of the application. */
  private volatile @Nullable String legacyLeader;

  /** An election of the application as one node sees it. */
  private class Legacy implements ElectionService {

    private final String node;

    final List<String> calls = new CopyOnWriteArrayList<>();

    /** What answers; by default whether this node leads. */
    volatile BooleanSupplier answer;

    volatile Runnable onCommand = () -> {};

    Legacy(String node) {
      this.node = node;
      this.answer = () -> node.equals(ServicePartTest.this.legacyLeader);
    }

    @Override
    public boolean isLeader() {
      return this.answer.getAsBoolean();
    }

    @Override
    public void becomeLeader() {
      this.calls.add("become");
      this.onCommand.run();
      if (ServicePartTest.this.legacyLeader == null) {
        ServicePartTest.this.legacyLeader = this.node;
      }
    }

    @Override
    public void lostLeader() {
      this.calls.add("lost");
      this.onCommand.run();
      if (this.node.equals(ServicePartTest.this.legacyLeader)) {
        ServicePartTest.this.legacyLeader = null;
      }
    }
  }

  private final class Node {

    final Legacy legacy;

    final Store link = ServicePartTest.this.database.new Store();

    final StoreList parts;

    final JointLeaseStore list;

    final Elector elector;

    final LeaseElectionService service;

    final List<LeadershipEvent> events = new CopyOnWriteArrayList<>();

    volatile boolean working;

    Node(String id) {
      this.legacy = new Legacy(id);
      this.parts = new StoreList(
          List.of(
              new JointPart.Service("legacy", (serviceId) -> this.legacy),
              new JointPart.Leases("db", this.link)),
          SETTINGS,
          ServicePartTest.this.clock::get,
          Runnable::run);
      this.list = JointLeaseStore.of(this.parts, () -> id);
      this.elector = new Elector(
          this.list,
          SETTINGS,
          () -> id,
          (serviceId) -> this.working,
          this.events::add,
          ServicePartTest.this.clock::get,
          () -> Instant.EPOCH.plusNanos(ServicePartTest.this.clock.get()));
      this.service = new LeaseElectionService(JOBS, this.elector);
    }

    Node join() {
      this.elector.join(List.of(this.service));
      return this;
    }

    void step() {
      // As the thread does that asks every 10 ms.
      this.parts.services().ask();
      this.elector.step();
    }
  }

  private void run(Duration duration, Node... nodes) {
    long end = this.clock.get() + duration.toNanos();
    while (this.clock.get() < end) {
      for (Node node : nodes) {
        node.step();
      }
      assertThat(
              List.of(nodes).stream().filter((node) -> node.service.isLeader()).count())
          .isLessThan(2);
      this.clock.addAndGet(ofMillis(50).toNanos());
    }
  }

  private Node leader(Node... others) {
    Node node = new Node("x").join();
    run(LEASE.plusSeconds(2), node);
    assertThat(node.service.isLeader()).isTrue();
    assertThat(node.service.term()).as("the term that was created").hasValue(1);
    for (Node other : others) {
      other.join();
    }
    return node;
  }

  private LeaseRow row() {
    return this.database.row(JOBS);
  }

  @Test
  void aNodeLeadsByThePartAndTheLease() {
    Node other = new Node("y");
    Node leader = leader(other);
    run(ofSeconds(30), leader, other);

    assertThat(leader.service.isLeader()).isTrue();
    assertThat(this.legacyLeader).isEqualTo("x");
    assertThat(row().leaderId()).isEqualTo("x");
    assertThat(leader.events).hasSize(1);
    assertThat(other.legacy.calls).as("while the lease is held by another node").isEmpty();
    assertThat(leader.list.name()).isEqualTo("legacy, db");
  }

  @Test
  void aNodeWithoutThePartNeitherTakesTheLeaseNorKeepsItFromOthers() throws Exception {
    this.legacyLeader = "old";
    Node node = new Node("x").join();

    run(ofSeconds(30), node);

    assertThat(node.service.isLeader()).isFalse();
    assertThat(node.link.read(Set.of(JOBS))).isEmpty();
    assertThat(node.legacy.calls).as("once in a renew interval").hasSizeBetween(10, 16);
    this.legacyLeader = null;
    run(LEASE.plusSeconds(4), node);
    assertThat(node.service.isLeader()).isTrue();
  }

  @Test
  void aPartThatEndsEndsTheLeadershipAtOnceAndTheLeaseIsHandedBack() {
    Node other = new Node("y");
    Node leader = leader(other);
    run(ofSeconds(4), leader, other);
    leader.working = true;
    this.legacyLeader = "z";

    assertThat(leader.service.isLeader()).isFalse();
    this.legacyLeader = "x";
    assertThat(leader.service.isLeader()).as("once it was over").isFalse();

    run(ofSeconds(1), leader, other);
    assertThat(leader.events)
        .last()
        .isInstanceOfSatisfying(
            LeadershipLostEvent.class,
            (lost) -> assertThat(lost.reason()).isEqualTo(LeadershipLostEvent.Reason.HANDED_OVER));
    assertThat(row().isReleased()).as("while work runs").isFalse();
    leader.working = false;
    this.legacyLeader = null;
    run(ofSeconds(3), leader, other);
    assertThat(leader.service.isLeader() || other.service.isLeader()).isTrue();
    assertThat(row().term()).isEqualTo(2);
  }

  @Test
  void theNextNodeLeadsAtOnceAfterAStop() {
    Node other = new Node("y");
    Node leader = leader(other);
    run(ofSeconds(4), leader, other);

    leader.elector.stop();
    run(ofMillis(100), leader);
    assertThat(row().isReleased()).isTrue();
    assertThat(this.legacyLeader).isNull();
    other.elector.wakeUp();
    run(ofSeconds(2), other);
    assertThat(other.service.isLeader()).isTrue();
  }

  /** What happens while a part is asked. */
  private enum Meanwhile {
    PAUSE {
      @Override
      void happens(Node node, AtomicLong clock) {
        node.service.pause(new AuditNote("ops", "test"));
      }
    },
    RESIGNATION {
      @Override
      void happens(Node node, AtomicLong clock) {
        node.service.lostLeader();
      }
    },
    STOP {
      @Override
      void happens(Node node, AtomicLong clock) {
        node.elector.stop();
      }
    },
    DEADLINE {
      @Override
      void happens(Node node, AtomicLong clock) {
        clock.addAndGet(node.service.leaseRemaining().orElseThrow().toNanos());
      }
    },
    LATE_ANSWER {
      @Override
      void happens(Node node, AtomicLong clock) {
        clock.addAndGet(SETTINGS.operationTimeout().toNanos() + 1);
      }
    };

    abstract void happens(Node node, AtomicLong clock);
  }

  @ParameterizedTest
  @EnumSource
  void aYesCountsOnlyIfItIsInTimeAndEverythingElseStillHolds(Meanwhile meanwhile) {
    Node leader = leader();
    leader.legacy.answer = () -> {
      leader.legacy.answer = () -> true;
      meanwhile.happens(leader, this.clock);
      return true;
    };

    assertThat(leader.service.isLeader()).isFalse();
  }

  @Test
  void aTermThatEndsWhileAPartIsAskedIsNotReported() {
    Node leader = leader();
    leader.legacy.answer = () -> {
      leader.legacy.answer = () -> true;
      leader.service.lostLeader();
      return true;
    };

    assertThat(leader.service.leadership()).isEmpty();
  }

  @Test
  void aNoThatComesLateEndsNoLaterTerm() {
    Node leader = leader();
    leader.legacy.answer = () -> {
      leader.legacy.answer = () -> "x".equals(this.legacyLeader);
      leader.service.lostLeader();
      run(LEASE.plusSeconds(2), leader);
      return false;
    };

    assertThat(leader.service.isLeader()).isFalse();

    assertThat(leader.service.isLeader()).isTrue();
    assertThat(leader.service.term()).hasValue(2);
  }

  @Test
  void aPartThatThrowsMakesNoLeaderAndIsShown() {
    Node leader = leader();
    leader.legacy.answer = () -> {
      throw new NoClassDefFoundError("injected");
    };

    assertThat(leader.service.isLeader()).isFalse();
    run(ofSeconds(20), leader);
    assertThat(leader.list.health().get("legacy"))
        .satisfies((health) -> assertThat(health.failure()).contains("injected"))
        .satisfies((health) -> assertThat(health.silence()).isGreaterThan(LEASE));
    assertThat(leader.list.health().get("db").failure()).isNull();
    leader.legacy.answer = () -> "x".equals(this.legacyLeader);
    run(ofSeconds(20), leader);
    assertThat(leader.service.isLeader()).isTrue();
    assertThat(leader.list.health().get("legacy").failure()).isNull();
  }

  @Test
  void aCommandThatFailsIsShownUntilOneSucceeds() {
    Node node = new Node("x").join();
    node.legacy.onCommand = () -> {
      throw new IllegalStateException("no table");
    };
    run(ofSeconds(20), node);
    assertThat(node.list.health().get("legacy").failure()).contains("no table");
    assertThat(node.list.health().get("legacy").failing()).isGreaterThan(LEASE);
    assertThat(node.list.health().get("legacy").silence()).isLessThan(ofSeconds(1));
    node.legacy.onCommand = () -> {};
    run(ofSeconds(20), node);
    assertThat(node.service.isLeader()).isTrue();
    assertThat(node.list.health().get("legacy").failure()).isNull();
  }

  @Test
  void aCommandThatDoesNotReturnIsSilenceThoughQuestionsAreAnswered() {
    Parts parts = new Parts(Runnable::run);
    List<Duration> silences = new ArrayList<>();
    parts.first.onCommand = () -> {
      this.clock.addAndGet(LEASE.toNanos());
      parts.services.ask();
      silences.add(parts.list.health().get("first").silence());
    };
    parts.services.stand(JOBS);
    assertThat(silences).containsExactly(LEASE);
    parts.services.ask();
    assertThat(parts.list.health().get("first").silence()).isZero();
  }

  @Test
  void aFailureLastsUntilWhatHasFailedSucceeds() {
    Parts parts = new Parts(Runnable::run);
    parts.first.answer = () -> {
      throw new IllegalStateException("injected");
    };
    parts.services.ask();
    this.clock.addAndGet(ofSeconds(3).toNanos());
    parts.services.stand(JOBS);
    assertThat(parts.first.calls).as("a command that succeeds").hasSize(1);
    assertThat(parts.list.health().get("first").failing()).isEqualTo(ofSeconds(3));

    parts.first.onCommand = () -> {
      throw new IllegalStateException("no table");
    };
    this.clock.addAndGet(ofSeconds(3).toNanos());
    parts.services.stand(JOBS);
    parts.services.ask();
    parts.first.answer = () -> false;
    parts.services.ask();
    assertThat(parts.list.health().get("first").failing()).isEqualTo(ofSeconds(6));

    parts.first.onCommand = () -> {};
    this.clock.addAndGet(ofSeconds(3).toNanos());
    parts.services.stand(JOBS);
    assertThat(parts.list.health().get("first").failure()).isNull();
  }

  @Test
  void aPartThatDoesNotLetGoIsReportedUntilItDoes() {
    Node leader = leader();
    leader.legacy.answer = () -> true;
    leader.service.pause(new AuditNote("ops", "test"));
    run(LEASE.minusSeconds(1), leader);
    assertThat(leader.list.health().get("legacy").failure()).isNull();
    run(ofSeconds(2), leader);
    assertThat(leader.list.health().get("legacy").failure()).contains("longer than a lease");
    leader.legacy.answer = () -> false;
    run(ofSeconds(1), leader);
    assertThat(leader.list.health().get("legacy").failure()).isNull();
  }

  @Test
  void aNodeThatDoesNotGetTheLeaseForALeaseLetsThePartGo() {
    Node leader = leader();
    leader.link.before((name) -> {
      throw new LeaseStoreException("out of reach");
    });

    run(LEASE.minusSeconds(3), leader);
    assertThat(this.legacyLeader).isEqualTo("x");
    run(ofSeconds(4), leader);
    assertThat(leader.service.isLeader()).isFalse();
    assertThat(this.legacyLeader).isNull();

    Node other = new Node("y").join();
    leader.link.before((name) -> {});
    run(LEASE.plusSeconds(2), leader, other);
    assertThat(other.service.isLeader()).as("once it has waited for the lease").isTrue();
  }

  @Test
  void aPartIsKeptForAsLongAsTheLeaseIsClaimed() {
    this.database.replace(JOBS, "x", LEASE.multipliedBy(3).toMillis(), 0);
    Node node = new Node("x").join();

    run(LEASE.multipliedBy(3).plusSeconds(1), node);

    assertThat(node.service.isLeader()).isTrue();
    assertThat(node.legacy.calls).containsExactly("become");
  }

  @Test
  void aPartIsKeptOnceTheRecordIsCreated() {
    this.legacyLeader = "x";
    Node node = new Node("x").join();
    node.link.before((name) -> {
      throw new LeaseStoreException("out of reach");
    });
    run(LEASE.minusSeconds(1), node);
    node.link.before((name) -> {});

    run(LEASE.plusSeconds(2), node);

    assertThat(node.service.isLeader()).isTrue();
    assertThat(node.legacy.calls).isEmpty();
  }

  @Test
  void aPartIsLetGoAtAStopThoughThisNodeDoesNotLead() {
    this.legacyLeader = "x";
    leader();
    Node other = new Node("y").join();
    other.legacy.answer = () -> true;
    run(ofSeconds(1), other);

    other.elector.stop();
    other.elector.step();

    assertThat(other.legacy.calls).containsExactly("lost");
  }

  @Test
  void aPartThatWasToldToLeadIsToldToLetGoThoughItHasNotYetLed() {
    this.legacyLeader = "old";
    Node node = new Node("x").join();
    run(ofSeconds(1), node);
    assertThat(node.legacy.calls).containsExactly("become");

    node.elector.stop();
    node.elector.step();

    assertThat(node.legacy.calls).containsExactly("become", "lost");
  }

  @Test
  void eachOfSeveralPartsIsAskedAndLetGo() {
    Legacy first = new Legacy("x");
    Legacy second = new Legacy("x");
    StoreList parts = new StoreList(
        List.of(
            new JointPart.Service("first", (serviceId) -> first),
            new JointPart.Service("second", (serviceId) -> second),
            new JointPart.Leases("db", this.database.new Store())),
        SETTINGS,
        this.clock::get,
        Runnable::run);
    parts.services().read(Set.of(JOBS));
    assertThat(parts.services().stand(JOBS)).isEmpty();
    assertThat(parts.services().confirm(JOBS)).isTrue();

    second.answer = () -> false;
    assertThat(parts.services().confirm(JOBS)).isFalse();
    assertThat(parts.services().stand(JOBS)).contains("'second'");
    assertThat(parts.services().areLed(JOBS)).isFalse();

    parts.services().letGo(JOBS);
    assertThat(first.calls).contains("lost");
    assertThat(second.calls).contains("lost");
  }

  @Test
  void aPartThatAnswersAtRandomNeverMakesTwoLeaders() {
    Random random = new Random(7);
    Node a = new Node("a").join();
    Node b = new Node("b").join();
    for (Node node : List.of(a, b)) {
      node.legacy.answer = () -> random.nextInt(20) > 0;
    }
    run(Duration.ofMinutes(20), a, b);
    assertThat(a.events).isNotEmpty();
    assertThat(b.events).isNotEmpty();
  }

  @Test
  void thePartIsFreeBeforeTheLeaseIs() {
    Node leader = leader();
    List<Boolean> free = new ArrayList<>();
    leader.link.before((name) -> {
      if (name.equals("release")) {
        free.add(this.legacyLeader == null);
      }
    });

    leader.service.lostLeader();
    run(ofSeconds(1), leader);

    assertThat(free).containsExactly(true);
  }

  @Test
  void aNodeThatLosesThePartWhileItClaimsTheLeaseDoesNotTakeIt() {
    Node node = new Node("x").join();
    run(LEASE.dividedBy(2), node);
    assertThat(row().leaderId()).as("the record is claimed").isEqualTo("x");
    List<String> calls = new CopyOnWriteArrayList<>();
    node.link.before(calls::add);
    this.legacyLeader = "old";

    run(LEASE.multipliedBy(2), node);

    assertThat(calls).containsOnly("read", "history");
    assertThat(node.events).isEmpty();
  }

  @Test
  void aNodeThatLosesThePartWhileItClaimsTheLeaseLeavesTheLeaseToOthers() {
    Node claimant = new Node("x").join();
    run(ofSeconds(1), claimant);
    Node other = new Node("y").join();
    run(ofSeconds(4), claimant, other);
    this.legacyLeader = "y";

    run(LEASE, claimant, other);

    assertThat(other.service.isLeader()).isTrue();
  }

  @Test
  void noLeaseIsTouchedOrTakenWithoutThePart() throws Exception {
    this.database.replace(JOBS, "x", LEASE.toMillis(), 0);
    Node node = new Node("x");
    LeaseRow row = node.list.read(Set.of(JOBS)).get(JOBS).row();
    LeaseStore.Claim claim =
        new LeaseStore.Claim("x", LEASE.toMillis(), 0, LeadershipAcquiredEvent.Reason.EXPIRED);

    assertThat(node.list.touch(JOBS, row)).isEmpty();
    assertThat(node.list.acquire(JOBS, row, claim)).isEmpty();

    assertThat(node.list.stand(JOBS)).isEmpty();
    LeaseRow touched = node.list.touch(JOBS, row).orElseThrow();
    assertThat(node.list.acquire(JOBS, touched, claim)).isPresent();
  }

  /** A node with threads of its own, which leads. */
  private final class Running {

    final Legacy legacy = new Legacy("x");

    final List<LeadershipEvent> events = new CopyOnWriteArrayList<>();

    final Elector elector;

    final LeaseElectionService service;

    volatile boolean working;

    Running() {
      this(SETTINGS);
    }

    Running(LeaseSettings settings) {
      List<JointPart> parts = List.of(
          new JointPart.Leases("db", ServicePartTest.this.database.new Store()),
          new JointPart.Service("legacy", (serviceId) -> this.legacy));
      AtomicLong clock = ServicePartTest.this.clock;
      this.elector = new Elector(
          JointLeaseStore.of(parts, settings, () -> "x", clock::get, ServicePartTest.this.threads),
          settings,
          () -> "x",
          (serviceId) -> this.working,
          this.events::add,
          clock::get,
          () -> Instant.EPOCH.plusNanos(clock.get()));
      this.service = new LeaseElectionService(JOBS, this.elector);
      this.elector.start(List.of(this.service));
      Awaitility.await().pollInterval(ofMillis(2)).until(() -> {
        clock.addAndGet(settings.leaseDuration().toNanos() / 100);
        this.elector.wakeUp();
        return this.service.isLeader();
      });
    }
  }

  @Test
  void aLossIsFoundOutThoughNobodyAsks() {
    Running node = new Running();
    this.legacyLeader = "z";
    Awaitility.await().until(() -> node.events.size() == 2 && row().isReleased());
    node.elector.stop();
  }

  @Test
  void aNoThatOnlyTheApplicationHearsIsActedUponAtOnce() {
    Running node = new Running(new LeaseSettings(
        LEASE.multipliedBy(60), ofSeconds(120), ofSeconds(60), ofSeconds(300), true));
    Thread application = Thread.currentThread();
    node.legacy.answer = () -> Thread.currentThread() != application;

    assertThat(node.service.isLeader()).isFalse();

    Awaitility.await().until(() -> row().term() == 2);
    node.elector.stop();
  }

  @Test
  void aSilentPartEndsTheLeadershipThoughNobodyAsksAndTheLeaseStaysWhileWorkRuns()
      throws Exception {
    Running node = new Running();
    node.working = true;
    CountDownLatch blocked = new CountDownLatch(1);
    CountDownLatch released = new CountDownLatch(1);
    node.legacy.answer = () -> {
      blocked.countDown();
      await(released);
      return true;
    };
    blocked.await();
    Awaitility.await().pollInterval(ofMillis(2)).until(() -> {
      this.clock.addAndGet(ofMillis(100).toNanos());
      node.elector.wakeUp();
      return node.events.size() > 1;
    });

    assertThat(node.events)
        .last()
        .isInstanceOfSatisfying(
            LeadershipLostEvent.class,
            (lost) -> assertThat(lost.reason()).isEqualTo(LeadershipLostEvent.Reason.HANDED_OVER));
    assertThat(row().isReleased()).isFalse();
    node.working = false;
    node.elector.wakeUp();
    Awaitility.await().until(() -> row().isReleased());
    released.countDown();
    node.elector.stop();
  }

  @Test
  void aPartThatBlocksMakesNoLeaderAndDelaysNoStop() throws Exception {
    Running node = new Running();
    CountDownLatch blocked = new CountDownLatch(1);
    CountDownLatch released = new CountDownLatch(1);
    node.legacy.answer = () -> {
      blocked.countDown();
      try {
        released.await();
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
      }
      return true;
    };
    blocked.await();
    this.clock.addAndGet(SETTINGS.operationTimeout().toNanos() + 1);

    assertThat(node.service.isLeader()).as("without waiting").isFalse();
    node.elector.stop();
    assertThat(row().isReleased()).isTrue();
    released.countDown();
  }

  /** The list of one node whose threads a test runs itself. */
  private final class Parts {

    final Legacy first = new Legacy("x");

    final Legacy second = new Legacy("x");

    final ServiceList services;

    final StoreList list;

    Parts(Executor executor) {
      this.list = new StoreList(
          List.of(
              new JointPart.Service("first", (serviceId) -> this.first),
              new JointPart.Service("second", (serviceId) -> this.second),
              new JointPart.Leases("db", ServicePartTest.this.database.new Store())),
          SETTINGS,
          ServicePartTest.this.clock::get,
          executor);
      this.services = this.list.services();
      this.services.read(Set.of(JOBS));
    }

    /** Lets the parts go without waiting for them. */
    void letGo() {
      Thread.currentThread().interrupt();
      this.services.letGo(JOBS);
      assertThat(Thread.interrupted()).isTrue();
    }
  }

  /** Counts how often the elector is woken. */
  private static class Wakes implements LeaseStore.Wake {

    final AtomicInteger count = new AtomicInteger();

    @Override
    public void now() {
      this.count.incrementAndGet();
    }

    @Override
    public void inTurn(int ahead) {
      now();
    }
  }

  private static void await(CountDownLatch latch) {
    boolean interrupted = false;
    while (latch.getCount() > 0) {
      try {
        latch.await();
      } catch (InterruptedException ex) {
        interrupted = true;
      }
    }
    if (interrupted) {
      Thread.currentThread().interrupt();
    }
  }

  @Test
  void aPartIsSilentWhileAQuestionWaitsForItsAnswer() {
    List<Runnable> tasks = new ArrayList<>();
    Parts parts = new Parts(tasks::add);
    parts.second.answer = () -> true;
    parts.first.answer = () -> true;
    parts.services.ask();
    assertThat(parts.services.areLed(JOBS)).isTrue();
    Wakes wakes = new Wakes();
    LeaseStore.Watch watch = parts.services.watch(wakes);
    tasks.clear();
    parts.first.answer = () -> {
      parts.first.answer = () -> true;
      this.clock.addAndGet(SETTINGS.operationTimeout().toNanos() + 1);
      assertThat(parts.services.areLed(JOBS)).isFalse();
      assertThat(parts.services.confirm(JOBS)).isFalse();
      parts.services.used(Set.of(JOBS));
      return true;
    };

    parts.services.ask();

    watch.close();
    tasks.remove(0).run();
    assertThat(wakes.count).as("only the caller can find out").hasValue(1);
    this.clock.addAndGet(SETTINGS.operationTimeout().toNanos() + 1);
    assertThat(parts.services.confirm(JOBS)).as("no question waits").isTrue();
  }

  @Test
  void aQuestionThatFailsCountsAsNo() {
    Parts parts = new Parts(Runnable::run);
    parts.first.answer = () -> true;
    parts.second.answer = () -> true;
    parts.services.ask();
    parts.first.answer = () -> {
      throw new IllegalStateException("injected");
    };

    parts.services.ask();

    assertThat(parts.services.areLed(JOBS)).isFalse();
  }

  @ParameterizedTest
  @ValueSource(booleans = {true, false})
  void aPartThatHasLetGoMayNameTheNodeAgain(boolean toldToLead) {
    Parts parts = new Parts(Runnable::run);
    parts.first.answer = () -> true;
    parts.services.ask();
    parts.services.letGo(JOBS);
    parts.first.answer = () -> parts.first.calls.contains("become");
    if (toldToLead) {
      parts.services.stand(JOBS);
    } else {
      parts.services.ask();
    }
    this.clock.addAndGet(LEASE.toNanos() + 1);
    parts.first.answer = () -> true;

    parts.services.ask();

    assertThat(parts.list.health().get("first").failure()).isNull();
  }

  @Test
  void aPartThatDoesNotLetGoIsToldOnceInALease() {
    Parts parts = new Parts(Runnable::run);
    parts.first.answer = () -> true;

    for (int second = 0; second < 30; second++) {
      parts.services.ask();
      this.clock.addAndGet(ofSeconds(1).toNanos());
    }

    assertThat(parts.first.calls).containsExactly("lost", "lost");
  }

  @Test
  void aPartThatBlocksWhenItIsToLetGoIsStillAsked() {
    Parts parts = new Parts(this.threads);
    CountDownLatch released = new CountDownLatch(1);
    parts.first.answer = () -> true;
    parts.first.onCommand = () -> await(released);
    parts.services.ask();
    this.clock.addAndGet(LEASE.toNanos() + 1);
    Wakes wakes = new Wakes();
    LeaseStore.Watch watch = parts.services.watch(wakes);
    Awaitility.await().until(() -> parts.first.calls.contains("lost"));
    parts.first.answer = () -> false;
    Awaitility.await().until(() -> wakes.count.get() > 0);
    watch.close();
    released.countDown();
  }

  @Test
  void aPartIsNotToldAgainToLetGoWhileItIsBeingTold() {
    List<Runnable> tasks = new ArrayList<>();
    Parts parts = new Parts(tasks::add);
    parts.first.answer = () -> true;
    parts.services.ask();

    parts.letGo();
    parts.letGo();
    assertThat(tasks).hasSize(1);

    tasks.remove(0).run();
    assertThat(parts.first.calls).containsExactly("lost");
    parts.letGo();
    assertThat(tasks).hasSize(1);
  }

  @Test
  void noPartIsToldToLeadOnceTheListIsClosed() {
    Parts parts = new Parts(Runnable::run);
    parts.first.onCommand = () -> {
      parts.first.onCommand = () -> {};
      parts.list.close();
    };
    parts.first.answer = () -> parts.first.calls.contains("become");

    assertThat(parts.services.stand(JOBS)).isNotEmpty();
    assertThat(parts.first.calls).last().isEqualTo("lost");
    assertThat(parts.second.calls).isEmpty();

    parts.first.calls.clear();
    this.clock.addAndGet(LEASE.toNanos());
    assertThat(parts.services.stand(JOBS)).isNotEmpty();
    assertThat(parts.first.calls).isEmpty();

    parts.services.read(Set.of(JOBS));
    parts.services.stand(JOBS);
    assertThat(parts.first.calls).as("after a restart").containsExactly("become");
  }

  @Test
  void aPartThatIsBeingAskedWhenTheListIsClosedIsLetGo() {
    Parts parts = new Parts(Runnable::run);
    parts.first.answer = () -> {
      parts.first.answer = () -> true;
      parts.list.close();
      return false;
    };

    assertThat(parts.services.stand(JOBS)).isNotEmpty();

    assertThat(parts.first.calls).endsWith("lost");
  }

  @Test
  void aPartThatIsBeingToldToLeadWhenTheListIsClosedIsLetGo() {
    Parts parts = new Parts(this.threads);
    CountDownLatch released = new CountDownLatch(1);
    parts.first.onCommand = () -> await(released);
    Thread standing = new Thread(() -> parts.services.stand(JOBS));
    standing.start();
    Awaitility.await().until(() -> parts.first.calls.contains("become"));

    Thread.currentThread().interrupt();
    parts.list.close();
    assertThat(Thread.interrupted()).isTrue();
    released.countDown();

    Awaitility.await().until(() -> !standing.isAlive() && parts.first.calls.contains("lost"));
    assertThat(parts.first.calls).startsWith("become").endsWith("lost");
  }

  @Test
  void aPartThatIsToldToLeadWhileItIsBeingLetGoIsLetGoLater() {
    Parts parts = new Parts(this.threads);
    parts.first.answer = () -> true;
    parts.services.ask();
    CountDownLatch released = new CountDownLatch(1);
    parts.first.onCommand = () -> await(released);
    parts.letGo();
    Awaitility.await().until(() -> parts.first.calls.contains("lost"));
    parts.first.answer = () -> false;
    Thread standing = new Thread(() -> parts.services.stand(JOBS));
    standing.start();
    Awaitility.await().until(() -> standing.getState() == Thread.State.BLOCKED);

    released.countDown();
    Awaitility.await().until(() -> !standing.isAlive());
    parts.services.letGo(JOBS);

    assertThat(parts.first.calls).containsExactly("lost", "become", "lost");
  }

  @Test
  void anAnswerFromBeforeAPartWasToldToLeadDoesNotCount() {
    Node node = new Node("x");
    ServiceList services = node.parts.services();
    services.read(Set.of(JOBS));
    node.legacy.answer = () -> {
      node.legacy.answer = () -> "x".equals(this.legacyLeader);
      assertThat(services.stand(JOBS)).isEmpty();
      return false;
    };

    services.ask();

    assertThat(services.areLed(JOBS)).isTrue();
  }

  @Test
  void aPartThatCannotBeCreatedMakesNoLeaderAndIsShownUntilItCan() {
    Legacy legacy = new Legacy("x");
    AtomicInteger attempts = new AtomicInteger();
    StoreList list = new StoreList(
        List.of(
            new JointPart.Service("legacy", (serviceId) -> {
              if (attempts.incrementAndGet() <= 2) {
                throw new IllegalStateException("no such host");
              }
              return legacy;
            }),
            new JointPart.Leases("db", this.database.new Store())),
        SETTINGS,
        this.clock::get,
        Runnable::run);
    list.services().read(Set.of(JOBS));

    list.services().ask();
    assertThat(list.health().get("legacy").failure()).contains("no such host");
    assertThat(list.services().confirm(JOBS)).isFalse();

    assertThat(list.services().stand(JOBS)).isEmpty();
    assertThat(list.services().confirm(JOBS)).isTrue();
    list.services().ask();
    assertThat(list.health().get("legacy").failure()).isNull();
    assertThat(attempts).hasValue(3);
  }

  @Test
  void aPartThatAlwaysNamesTheNodeIsNotReportedOnceItLeadsAgain() {
    Node leader = leader();
    leader.legacy.answer = () -> true;
    leader.service.lostLeader();
    run(LEASE.plusSeconds(3), leader);
    assertThat(leader.service.isLeader()).isTrue();

    run(LEASE.multipliedBy(2), leader);

    assertThat(leader.service.isLeader()).isTrue();
    assertThat(leader.list.health().get("legacy").failure()).isNull();
  }

  @Test
  void whateverAPartDoesToTheThreadThatAsksItIsAskedAgain() {
    Parts parts = new Parts(this.threads);
    List<Boolean> interrupted = new CopyOnWriteArrayList<>();
    parts.first.answer = () -> {
      interrupted.add(Thread.currentThread().isInterrupted());
      Thread.currentThread().interrupt();
      return interrupted.size() % 2 == 1;
    };
    Wakes wakes = new Wakes() {
      @Override
      public void now() {
        super.now();
        throw new IllegalStateException("injected");
      }
    };
    LeaseStore.Watch watch = parts.services.watch(wakes);
    Awaitility.await().until(() -> wakes.count.get() > 1);
    watch.close();
    assertThat(interrupted).doesNotContain(true);
  }
}
