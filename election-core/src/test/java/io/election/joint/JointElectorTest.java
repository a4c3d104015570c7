package io.election.joint;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.awaitility.Awaitility.await;

import io.election.AuditNote;
import io.election.ElectionService;
import io.election.LeadershipAcquiredEvent;
import io.election.LeadershipEvent;
import io.election.LeadershipLostEvent;
import io.election.lease.LeaderWork;
import io.election.lease.LeaseSettings;
import io.election.lease.LeaseStore;
import io.election.lease.MemoryLeaseStore;
import io.election.lease.Precedence;
import io.election.lease.TermEnd;
import java.time.Duration;
import java.time.InstantSource;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Tests elections by a list with their threads, over stores in memory. */
@Timeout(60)
class JointElectorTest {

  private static final LeaseSettings SETTINGS = new LeaseSettings(
      Duration.ofMillis(900),
      Duration.ofMillis(150),
      Duration.ofMillis(200),
      Duration.ofSeconds(1),
      true);

  private static final AuditNote ALICE = new AuditNote("alice", "a test");

  private final List<String> calls = new CopyOnWriteArrayList<>();

  private final Store first = new Store("first");

  private final Store second = new Store("second");

  private final List<Node> nodes = new ArrayList<>();

  @AfterEach
  void stop() {
    this.nodes.forEach((node) -> {
      node.working = false;
      node.elector.stop();
    });
  }

  private final class Store extends MemoryLeaseStore {

    private final String name;

    Store(String name) {
      this.name = name;
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

    final JointElector elector;

    final JointElectionService service;

    Node(String id, PartSource... parts) {
      LeaderWork work = new LeaderWork() {
        @Override
        public boolean isRunning(String serviceId) {
          return Node.this.working;
        }

        @Override
        public void onLeaseOver(String serviceId, long term) {
          Node.this.uncovered.add(term);
        }
      };
      this.elector = new JointElector(
          List.of(parts),
          SETTINGS,
          () -> id,
          work,
          this.events::add,
          System::nanoTime,
          InstantSource.system(),
          Precedence.NONE);
      this.service = this.elector.create("jobs");
      this.elector.start(List.of(this.service));
      JointElectorTest.this.nodes.add(this);
    }

    void awaitLeader() {
      await().until(this.service::isLeader);
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
    return new Node(id, PartSource.of(this.first), PartSource.of(this.second));
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
  void aLeaderHasOneTermAcquiresOnceAndIsLostOnce() {
    Node node = node("x");
    node.awaitLeader();
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
    Node node = new Node("x", part("legacy", service(() -> leads[0])), PartSource.of(this.second));
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
    Node throwing = new Node(
        "x",
        part("legacy", service(() -> {
          throw new IllegalStateException("not started");
        })),
        PartSource.of(this.second));
    Node blocking = new Node("y", PartSource.of(this.second), part("legacy", service(() -> {
      try {
        blocks.await();
      } catch (InterruptedException ex) {
        Thread.currentThread().interrupt();
      }
      return true;
    })));
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
    Node x = new Node(
        "x", part("legacy", service(() -> Math.random() < 0.9)), PartSource.of(this.second));
    LeaseStore shared = this.second;
    Node y = new Node("y", PartSource.of(shared));
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
}
