package io.election.mysql.failover.agent;

import static io.election.mysql.failover.agent.CandidacyTest.last;
import static io.election.mysql.failover.agent.CandidacyTest.set;
import static io.election.mysql.failover.agent.CandidacyTest.uuid;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.Link.Action;
import io.election.mysql.failover.agent.Link.Step;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.mysql.failover.agent.ServerState.Receiver;
import io.election.mysql.failover.agent.Status.Role;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.Test;

/** What a replica does next, from what was read of it and of its source. */
class LinkTest {

  private static final long SECOND = 1_000_000_000;

  private static final AgentProperties SET = CandidacyTest.properties("b", "a", "b", "c");

  private static final Promotion SOURCE = last(1, "abc");

  private static final Receiver NONE = new Receiver("", false, false, "", GtidSet.EMPTY);

  private static final Link NEW = new Link(null, 0, false, "", null);

  private static Receiver receiver(boolean runs, boolean connected, String error, String received) {
    return new Receiver("a.example:3306", runs, connected, error, set(received));
  }

  private static ServerState state(String executed, boolean applying, Receiver receiver) {
    return new ServerState(
        uuid("b"),
        'b',
        set(executed),
        set(executed).union(receiver.received()),
        true,
        true,
        1,
        receiver,
        applying,
        "",
        3,
        0,
        0,
        Set.of(),
        "",
        CandidacyTest.FIT,
        1,
        1);
  }

  private static Peer peer(String uuid, String executed, boolean open) {
    return new Peer(uuid(uuid), 'a', set(executed), GtidSet.EMPTY, !open, open);
  }

  private static Step look(Link link, ServerState state, long now) {
    return link.look(SET, SOURCE, state, now);
  }

  private static Step answered(Link link, ServerState state, Promotion source, Peer peer) {
    return link.answered(SET, source, state, peer, new Snapshot(Optional.of(source), Map.of(), ""));
  }

  private static void assertShows(Step step, Action action, Role role, String reason) {
    assertThat(step.action()).isEqualTo(action);
    Status status = Objects.requireNonNull(step.status());
    assertThat(status.role()).isEqualTo(role);
    assertThat(status.reason()).contains(reason);
    assertThat(status.lagSeconds()).isEqualTo(3);
  }

  @Test
  void aServerThatIsNotRecordedReceivesNothing() {
    ServerState joined = state("a:1", true, receiver(true, true, "", "a:1"));
    Promotion without = last(1, "ac");
    assertShows(
        NEW.look(SET, without, joined, 0), Action.STOP, Role.WAITING, "has not recorded its");
    assertShows(
        NEW.look(SET, without, state("a:1", true, NONE), 0),
        Action.NOTHING,
        Role.WAITING,
        "has not recorded its");
  }

  @Test
  void aReceiverHasTwoSecondsToConnectAndIsStoppedWhenItWasSeenTwice() {
    ServerState connecting = state("a:1", true, receiver(true, false, "", ""));
    Link started = NEW.started(SOURCE, 0);
    Step early = look(started, connecting, 2 * SECOND - 1);
    assertThat(early.action()).isEqualTo(Action.NOTHING);
    assertThat(early.status()).isNull();
    Step late = look(started, connecting, 2 * SECOND);
    assertThat(late.action()).isEqualTo(Action.ASK);
    assertThat(late.link().connected()).isFalse();
    assertThat(look(late.link(), connecting, 2 * SECOND).action()).isEqualTo(Action.STOP);
    assertThat(started.isUnsettled(true, 0)).isFalse();
    assertThat(started.isUnsettled(false, 10 * SECOND - 1)).isTrue();
    assertThat(started.isUnsettled(false, 10 * SECOND)).isFalse();
    assertThat(late.link().isUnsettled(true, 0)).isTrue();
  }

  @Test
  void aReceiverThatStoppedWithAnErrorIsRestartedAfterTenSeconds() {
    ServerState stopped = state("a:1", true, receiver(false, false, "purged", ""));
    Link started = NEW.started(SOURCE, 0);
    Step refused = look(started, stopped, 10 * SECOND - 1);
    assertShows(refused, Action.NOTHING, Role.REFUSED, "its receiver has stopped: purged");
    assertThat(Objects.requireNonNull(refused.status()).donor()).isEqualTo(SOURCE);
    assertThat(look(refused.link(), stopped, 10 * SECOND).action()).isEqualTo(Action.ASK);
    // The failure is shown until the receiver has connected.
    Step joining = answered(refused.link(), stopped, SOURCE, peer("a", "a:1-5", true));
    assertThat(joining.action()).isEqualTo(Action.JOIN);
    assertThat(joining.status()).isNull();
    Link again = joining.link().started(SOURCE, 10 * SECOND);
    assertThat(again.failure()).isEqualTo("purged");
    ServerState connected = state("a:1", true, receiver(true, true, "", "a:2"));
    assertThat(look(again, connected, 11 * SECOND).link().failure()).isEmpty();
    // What this agent stops has not failed.
    assertThat(look(started.stopped(), stopped, SECOND).action()).isEqualTo(Action.ASK);
  }

  @Test
  void aServerIsWholeWhenItHasWhatItsSourceHadInOneLifeOfItsRelayLog() {
    Link started = NEW.started(SOURCE, 0);
    ServerState behind = state("a:1-2", true, receiver(true, true, "", "a:2"));
    Step asked = answered(started, behind, SOURCE, peer("a", "a:1-5", true));
    assertShows(asked, Action.NOTHING, Role.REPLICA, "");
    assertThat(asked.proof()).isEqualTo(GtidSet.EMPTY);
    ServerState whole = state("a:1-2", true, receiver(true, true, "", "a:2-5"));
    Step caughtUp = look(asked.link(), whole, SECOND);
    assertShows(caughtUp, Action.NOTHING, Role.REPLICA, "");
    assertThat(caughtUp.proof()).isEqualTo(set("a:2"));
    ServerState another = state("a:1-2", true, receiver(true, true, "", "a:3-5"));
    assertThat(look(asked.link(), another, SECOND).action()).isEqualTo(Action.ASK);
    ServerState wrote = state("a:1-2,b:1", true, receiver(true, true, "", "a:2-5"));
    assertThat(look(asked.link(), wrote, SECOND).action()).isEqualTo(Action.ASK);
    ServerState halted = state("a:1-2", false, receiver(true, true, "", "a:2-5"));
    Step stuck = look(asked.link(), halted, SECOND);
    assertShows(stuck, Action.NOTHING, Role.REFUSED, "its applier has stopped: no error");
    assertThat(Objects.requireNonNull(stuck.status()).donor()).isEqualTo(SOURCE);
    assertThat(stuck.proof()).isEqualTo(set("a:2"));
    // Nothing that it executed is in its relay log.
    ServerState fresh = state("a:1", true, receiver(true, true, "", "a:2-5"));
    Step unproven = answered(started, fresh, SOURCE, peer("a", "a:1-5", true));
    assertThat(unproven.proof()).isEqualTo(GtidSet.EMPTY);
    assertThat(look(unproven.link(), whole, SECOND).action()).isEqualTo(Action.ASK);
  }

  @Test
  void aServerJoinsTheSourceThatWasPromotedWhenItAsksForAcknowledgements() {
    ServerState state = state("a:1", true, NONE);
    assertShows(
        answered(NEW, state, SOURCE, peer("d", "a:1", true)),
        Action.NOTHING,
        Role.WAITING,
        "is another server, with the server_uuid " + uuid("d"));
    assertShows(
        answered(NEW, state, SOURCE, peer("a", "a:1", false)),
        Action.NOTHING,
        Role.WAITING,
        "the source does not accept writes yet");
    assertShows(
        answered(NEW, state, SOURCE, peer("a", "a:1", true)),
        Action.JOIN,
        Role.WAITING,
        "it is connecting to the source a");
    assertShows(
        NEW.unanswered(SOURCE, state, "timeout"),
        Action.NOTHING,
        Role.WAITING,
        "the source a does not answer: timeout");
    Peer sameId = new Peer(uuid("a"), 'b', set("a:1"), GtidSet.EMPTY, false, true);
    assertShows(
        answered(NEW, state, SOURCE, sameId), Action.NOTHING, Role.REFUSED, "same server_id");
  }

  @Test
  void aServerThatMayNotJoinReceivesNothingAndMayBeRebuiltIfTheSourceIsSound() {
    ServerState surplus = state("a:1,b:1", true, receiver(true, true, "", ""));
    Step refused = answered(NEW, surplus, SOURCE, peer("a", "a:1", true));
    assertShows(refused, Action.STOP, Role.REFUSED, "transactions that the source lacks");
    assertThat(Objects.requireNonNull(refused.status()).donor()).isEqualTo(SOURCE);
    Step unsound = answered(NEW, surplus, SOURCE, peer("a", "", true));
    assertShows(unsound, Action.STOP, Role.REFUSED, "it was promoted");
    assertThat(Objects.requireNonNull(unsound.status()).donor()).isNull();
  }

  /** The newer term may be among what it still applies, but not among what it goes on to receive. */
  @Test
  void aServerThatStillAppliesWaitsAndReceivesNothingFromAnotherServer() {
    Promotion next = new Promotion(3, "a", uuid("a"), set("a:1"), 8, 1, SOURCE.members());
    Receiver other = new Receiver("c.example:3306", true, true, "", set("a:2"));
    Peer peer = peer("a", "a:1-5", true);
    String applying = "it is applying the received transactions";
    assertShows(
        answered(NEW, state("a:1", true, other), next, peer), Action.STOP, Role.WAITING, applying);
    assertShows(
        answered(NEW, state("a:1", true, receiver(true, true, "", "a:2")), next, peer),
        Action.NOTHING,
        Role.WAITING,
        applying);
    assertShows(
        answered(NEW, state("a:1", false, other), next, peer),
        Action.STOP,
        Role.REFUSED,
        "it was set to replicate from c.example:3306, which is not the source, and its data are of term 1");
  }
}
