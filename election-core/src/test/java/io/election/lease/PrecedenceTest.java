package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.lease.Precedence.OpenElection;
import io.election.lease.Precedence.Turn;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;
import org.junit.jupiter.api.Test;

/** Tests who goes first, with nodes that are stepped by a ticked clock. */
class PrecedenceTest extends ElectorFixture {

  private static final Duration HOLD_BACK = Duration.ofSeconds(3);

  private final List<OpenElection> asked = new ArrayList<>();

  private Node node(String id, Function<OpenElection, Turn> answer) {
    this.precedence = (opening) -> {
      this.asked.add(opening);
      return answer.apply(opening);
    };
    return new Node(id).join();
  }

  private Node leader() {
    this.precedence = Precedence.NONE;
    Node leader = new Node("leader").join();
    run(LEASE.multipliedBy(2), leader);
    assertThat(leader.service.isLeader()).isTrue();
    return leader;
  }

  /** Returns how long a node that follows a killed leader takes to lead. */
  private Duration untilLeads(Node... nodes) {
    long killed = this.clock.get();
    Duration most = LEASE.multipliedBy(4);
    while (!nodes[0].service.isLeader() && this.clock.get() - killed < most.toNanos()) {
      step(nodes);
    }
    return Duration.ofNanos(this.clock.get() - killed);
  }

  @Test
  void aNodeHoldsBackForAsLongAsItSaysAfterTheElectionOpened() {
    Node leader = leader();
    this.precedence = Precedence.holdBack(HOLD_BACK);
    Node held = new Node("held").join();
    run(LEASE, leader, held);
    Duration gap = untilLeads(held);
    assertThat(gap)
        .isBetween(LEASE.plus(HOLD_BACK).minusSeconds(2), LEASE.plus(HOLD_BACK).plusSeconds(1));
    assertThat(linesWith("election 'jobs' is open, but node held holds back for 3000 ms"))
        .hasSize(1);
  }

  @Test
  void anotherNodeLeadsMeanwhile() {
    Node leader = leader();
    this.precedence = Precedence.holdBack(HOLD_BACK);
    Node held = new Node("held").join();
    this.precedence = Precedence.NONE;
    Node first = new Node("first").join();
    run(LEASE, leader, held, first);
    assertThat(untilLeads(first, held)).isLessThan(LEASE.plusSeconds(1));
    run(LEASE.multipliedBy(2), held, first);
    assertThat(held.service.isLeader()).isFalse();

    // The next opening counts anew.
    assertThat(untilLeads(held)).isGreaterThan(LEASE.plus(HOLD_BACK).minusSeconds(2));
    assertThat(linesWith("held holds back for")).hasSize(2);
  }

  @Test
  void aNodeThatHoldsBackIsAskedAgainAtTheEndOrAfterAQuarterOfAnIntervalAndReadsMeanwhile() {
    this.precedence = Precedence.holdBack(HOLD_BACK);
    Node held = new Node("held").join();
    assertThat(held.elector.step()).isEqualTo(SETTINGS.renewInterval().toNanos() / 4);
    tick(HOLD_BACK.minusMillis(200));
    assertThat(held.elector.step()).isEqualTo(Duration.ofMillis(200).toNanos());
    assertThat(held.calls("read")).isEqualTo(2);
  }

  @Test
  void aNodeThatIsDesignatedDoesNotHoldBack() throws Exception {
    Node leader = leader();
    this.precedence = Precedence.holdBack(LEASE);
    Node held = new Node("held").join();
    run(LEASE, leader, held);
    leader.service.designate("held");
    run(Duration.ofSeconds(3), leader, held);
    assertThat(held.service.isLeader()).isTrue();
  }

  @Test
  void aNodeStandsAsideUntilItIsAskedAgain() {
    Node leader = leader();
    boolean[] stands = new boolean[1];
    Node aside =
        node("aside", (opening) -> stands[0] ? Turn.atOnce() : Turn.standAside("it is behind"));
    run(LEASE, leader, aside);
    assertThat(this.asked).as("while a leader lives").isEmpty();
    run(LEASE.multipliedBy(3), aside);
    assertThat(aside.service.isLeader()).isFalse();
    assertThat(linesWith("node aside stands aside: it is behind")).hasSize(1);
    assertThat(this.asked.get(0).openFor()).isLessThan(Duration.ofSeconds(1));
    assertThat(this.asked.get(this.asked.size() - 1).openFor()).isGreaterThan(LEASE);

    stands[0] = true;
    run(Duration.ofSeconds(1), aside);
    assertThat(aside.service.isLeader()).isTrue();
    int asked = this.asked.size();
    run(LEASE.multipliedBy(2), aside);
    assertThat(this.asked).as("while it leads").hasSize(asked);
  }

  @Test
  void anAnswerThatFailsCountsAsStandingAside() {
    Node broken = node("broken", (opening) -> {
      throw new IllegalStateException("no idea");
    });
    run(LEASE.multipliedBy(3), broken);
    assertThat(broken.service.isLeader()).isFalse();
    assertThat(linesWith("election 'jobs': the Precedence of this node failed: "
            + "java.lang.IllegalStateException: no idea (this node stands aside until"))
        .hasSize(1);
  }

  /** Otherwise it would begin again and again. */
  @Test
  void aNodeThatHasCreatedTheRecordIsNotAskedAgain() {
    this.precedence = Precedence.holdBack(HOLD_BACK);
    Node first = new Node("first").join();
    run(LEASE.plus(HOLD_BACK).plusSeconds(2), first);
    assertThat(first.service.isLeader()).isTrue();
  }

  @Test
  void aPreviousLeaderHoldsBackToo() {
    Node held = leader();
    held.elector.stop();
    this.precedence = Precedence.holdBack(HOLD_BACK);
    Node again = new Node("leader").join();
    run(Duration.ofSeconds(2), again);
    assertThat(again.service.isLeader()).isFalse();
    run(Duration.ofSeconds(3), again);
    assertThat(again.service.isLeader()).isTrue();
  }
}
