package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import io.election.LeadershipAcquiredEvent;
import io.election.Member;
import io.election.PastTerm;
import io.election.lease.Precedence.OpenElection;
import io.election.lease.Precedence.Turn;
import io.election.store.LeaseRow;
import io.election.store.LeaseStoreException;
import io.election.store.SimulatedDatabase;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.BiConsumer;
import org.jspecify.annotations.NullUnmarked;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;
import org.junit.jupiter.params.provider.EnumSource.Mode;

/**
 * Lets the application answer in every wrong way about election {@code jobs}, while the same node
 * stands for election {@code others} too.
 */
@NullUnmarked
class AnswersTest extends ElectorFixture {

  private static final Duration A_WHILE = LEASE.multipliedBy(4);

  /** A wrong answer. */
  private enum Wrong {
    NULL,
    HUGE,
    NEGATIVE,
    EXCEPTION,
    ERROR;

    <T> T answer() {
      switch (this) {
        case EXCEPTION -> throw new IllegalStateException("injected");
        case ERROR -> throw new NoClassDefFoundError("injected");
        default -> {
          return null;
        }
      }
    }

    Turn turn() {
      return switch (this) {
        case HUGE -> Turn.holdBack(Duration.ofSeconds(Long.MAX_VALUE));
        case NEGATIVE -> Turn.holdBack(Duration.ofSeconds(Long.MIN_VALUE));
        default -> answer();
      };
    }
  }

  /** What is asked. */
  private enum Asked {
    TURN(false),
    POSITION(true),
    WORK(true),
    LISTENER(true),
    RENEWAL_LISTENER(true),
    READ(false),
    CREATE(false),
    ACQUIRE(false),
    HISTORY(true),
    MEMBERS(true);

    /** Whether the node leads all the same. */
    private final boolean leads;

    Asked(boolean leads) {
      this.leads = leads;
    }
  }

  private @Nullable Asked asked;

  private Wrong wrong = Wrong.NULL;

  /** Runs before an answer. */
  private volatile BiConsumer<Asked, String> delay = (asked, serviceId) -> {};

  private boolean isWrong(Asked asked, String serviceId) {
    return this.asked == asked && serviceId.equals("jobs");
  }

  private final class Application implements Precedence {

    @Override
    public Turn turn(OpenElection opening) {
      AnswersTest.this.delay.accept(Asked.TURN, opening.serviceId());
      return isWrong(Asked.TURN, opening.serviceId())
          ? AnswersTest.this.wrong.turn()
          : Turn.atOnce();
    }

    @Override
    public String position(String serviceId) {
      AnswersTest.this.delay.accept(Asked.POSITION, serviceId);
      return isWrong(Asked.POSITION, serviceId) ? AnswersTest.this.wrong.answer() : "here";
    }
  }

  private final class Store extends SimulatedDatabase.Store {

    Store() {
      AnswersTest.this.database.super();
    }

    @Override
    public Map<String, Reading> read(Set<String> serviceIds) throws LeaseStoreException {
      Map<String, Reading> readings = super.read(serviceIds);
      if (readings.containsKey("jobs") && isWrong(Asked.READ, "jobs")) {
        LeaseRow row = readings.get("jobs").row();
        Object version = new Object() {
          @Override
          public boolean equals(Object other) {
            return AnswersTest.this.wrong.<Boolean>answer();
          }

          @Override
          public int hashCode() {
            return 1;
          }
        };
        readings = new HashMap<>(readings);
        readings.put(
            "jobs",
            new Reading(
                new LeaseRow(row.leaderId(), row.term(), row.leaseMillis(), version, row.own()),
                Duration.ZERO));
      }
      return readings;
    }

    @Override
    public Optional<LeaseRow> create(String serviceId, Claim claim) throws LeaseStoreException {
      return isWrong(Asked.CREATE, serviceId)
          ? AnswersTest.this.wrong.answer()
          : super.create(serviceId, claim);
    }

    @Override
    public OptionalLong acquire(String serviceId, LeaseRow seen, Claim claim)
        throws LeaseStoreException {
      return isWrong(Asked.ACQUIRE, serviceId)
          ? AnswersTest.this.wrong.answer()
          : super.acquire(serviceId, seen, claim);
    }

    @Override
    public Map<String, List<PastTerm>> history(Set<String> serviceIds) throws LeaseStoreException {
      return isWrong(Asked.HISTORY, "jobs")
          ? AnswersTest.this.wrong.answer()
          : super.history(serviceIds);
    }

    @Override
    public Map<String, List<Member>> members(Set<String> serviceIds) throws LeaseStoreException {
      return isWrong(Asked.MEMBERS, "jobs")
          ? AnswersTest.this.wrong.answer()
          : super.members(serviceIds);
    }
  }

  private Node node() {
    this.precedence = new Application();
    Node node = new Node("a", SETTINGS, new Store(), "jobs", "others");
    node.isWorking = () -> this.asked == Asked.WORK && this.wrong.<Boolean>answer();
    node.listener = (event) -> {
      node.events.add(event);
      if (isWrong(Asked.LISTENER, event.serviceId())) {
        this.wrong.answer();
      }
    };
    node.elector.onRenewal((serviceId, outcome, duration) -> {
      if (isWrong(Asked.RENEWAL_LISTENER, serviceId)) {
        this.wrong.answer();
      }
    });
    return node;
  }

  /** Every answer in every wrong way. */
  @ParameterizedTest
  @EnumSource
  void fault_62_answer_of_the_application_is_wrong(Asked asked) {
    for (Wrong wrong : Wrong.values()) {
      this.database.emptyTables();
      this.logged.list.clear();
      this.asked = asked;
      this.wrong = wrong;
      if (asked == Asked.READ) {
        this.database.replace("jobs", "b");
      }
      Node node = node().join();

      run(A_WHILE, node);

      assertThat(node.services.get(0).isLeader())
          .as("leads jobs: %s", wrong)
          .isEqualTo(asked.leads);
      assertThat(node.services.get(1).isLeader()).as("leads others: %s", wrong).isTrue();
      assertThat(node.events.stream().filter((event) -> event.serviceId().equals("others")))
          .as("%s", wrong)
          .hasSize(1)
          .allMatch(LeadershipAcquiredEvent.class::isInstance);
      synchronized (this.logged) {
        assertThat(this.logged.list)
            .as("%s", wrong)
            .filteredOn((line) -> line.getLevel().isGreaterOrEqual(Level.WARN))
            .hasSizeLessThan(3);
      }

      this.asked = null;
      run(A_WHILE, node);
      assertThat(node.services).as("mended: %s", wrong).allMatch(LeaseElectionService::isLeader);
      node.elector.stop();
    }
  }

  @ParameterizedTest
  @EnumSource(
      mode = Mode.INCLUDE,
      names = {"TURN", "POSITION"})
  void fault_62_answer_of_the_application_is_late_by_minutes(Asked asked) {
    Gate gate = new Gate();
    this.delay = (each, serviceId) -> {
      if (each == asked && serviceId.equals("jobs")) {
        gate.pass();
      }
    };
    Node node = node().start();
    LeaseElectionService others = node.services.get(1);
    advanceUntil(() -> others.isLeader() && gate.isReached());

    // Two minutes, in which each renewal is awaited before more time passes.
    for (int i = 0; i < 60; i++) {
      long renewals = node.calls("renew");
      tick(SETTINGS.renewInterval());
      node.elector.wakeUp();
      await().until(() -> node.calls("renew") > renewals);
    }
    assertThat(others.isLeader()).isTrue();
    assertThat(others.term()).hasValue(1);
    assertThat(node.service.isLeader()).isEqualTo(asked.leads);
    assertThat(linesWith("has not answered yet")).hasSizeBetween(1, 6);

    gate.open();
    advanceUntil(node.service::isLeader);
  }
}
