package io.election.mysql.failover.agent;

import static io.election.mysql.failover.agent.CandidacyTest.last;
import static io.election.mysql.failover.agent.CandidacyTest.set;
import static io.election.mysql.failover.agent.CandidacyTest.uuid;
import static org.assertj.core.api.Assertions.assertThat;
import static org.mockito.ArgumentMatchers.any;
import static org.mockito.Mockito.doAnswer;
import static org.mockito.Mockito.mock;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.AgentProperties.Rank;
import io.election.mysql.failover.agent.Announcer.Facts;
import io.election.mysql.failover.agent.Registry.Snapshot;
import io.election.mysql.failover.agent.ServerState.Receiver;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** What is proven of a server, and when it is published. */
class AnnouncerTest {

  private static final long SECOND = 1_000_000_000;

  private final Map<String, Position> published = new HashMap<>();
  private final Registry registry = mock();
  private int writes;
  private long now;
  private final Announcer announcer = announcer("b");

  private Announcer announcer(String server) {
    return new Announcer(
        CandidacyTest.properties(server, "a", "b", "c"),
        this.registry,
        new AgentState.Reference(0),
        () -> this.now);
  }

  @BeforeEach
  void publish() throws Exception {
    doAnswer((call) -> {
          this.writes++;
          Position position = call.getArgument(0);
          return this.published.put(position.server(), position);
        })
        .when(this.registry)
        .publish(any());
  }

  private Snapshot read() {
    return new Snapshot(Optional.of(last(1, "abc")), Map.copyOf(this.published), "");
  }

  private static ServerState state(String uuid, String executed, String received) {
    return state(uuid, executed, received, 0, CandidacyTest.FIT);
  }

  private static ServerState state(
      String uuid, String executed, String received, long delay, Preconditions settings) {
    return new ServerState(
        uuid(uuid),
        7,
        set(executed),
        set(executed).union(set(received)),
        true,
        true,
        1,
        new Receiver("a.example:3306", false, false, "", set(received)),
        true,
        "",
        delay,
        delay,
        0,
        Set.of(),
        "",
        settings,
        1,
        1);
  }

  private static Facts facts(
      Rank rank, GtidSet proven, boolean hasPublished, ServerState state, Position earlier) {
    Map<String, Position> positions = new HashMap<>();
    if (earlier != null) {
      positions.put(earlier.server(), earlier);
    }
    String server = earlier != null ? earlier.server() : "b";
    return Announcer.facts(
        CandidacyTest.properties(server, rank, "a", "b", "c"),
        "agent-" + server,
        proven,
        hasPublished,
        state,
        7,
        new Snapshot(Optional.of(last(1, "abc")), positions, ""));
  }

  /** The earlier position of b has {@code a:1-5} with the proof {@code a:1}. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      the relay log is the same             | b | a:1-5   | a:1-5 | ''  | a:1
      it has received more since            | b | a:1-5   | a:1-9 | ''  | a:1
      a restart has emptied the relay log   | b | a:1-5   | ''    | ''  | ''
      and it was filled again               | b | a:1-5   | a:6-9 | ''  | ''
      restored, and received once more      | b | ''      | a:1-5 | ''  | ''
      it lacks what it had                  | b | a:1-3   | a:1-3 | ''  | ''
      it has caught up once more            | b | a:1-6   | a:6-9 | a:6 | a:6
      it has caught up, and lost all since  | b | a:1-6   | ''    | a:6 | ''
      it has caught up, but lacks something | b | a:1-2   | a:6-9 | a:6 | ''
      another server under the name         | d | a:1-5   | a:1-5 | ''  | ''
      it has caught up                      | d | a:1     | a:1   | a:1 | a:1
      """)
  void aProofLastsAsLongAsItsRelayLog(
      String what, String uuid, String executed, String received, String proven, String proof) {
    Position earlier = CandidacyTest.position("b", "a:1-5");
    Facts facts = facts(Rank.ALLOWED, set(proven), true, state(uuid, executed, received), earlier);
    assertThat(facts.position().proof()).as(what).isEqualTo(set(proof));
    assertThat(facts.position().finalIn()).isEqualTo(7);
    assertThat(facts.unfit()).isEmpty();
    assertThat(facts.mayCount()).isTrue();
  }

  @Test
  void aNewServerIsNotProven() {
    Facts facts = facts(Rank.ALLOWED, GtidSet.EMPTY, false, state("b", "a:1-5", "a:1-5"), null);
    assertThat(facts.position().proof()).isEqualTo(GtidSet.EMPTY);
    assertThat(facts.position().received()).isEqualTo(set("a:1-5"));
    assertThat(facts.position().refusal()).isEmpty();
  }

  @Test
  void aLastSourceThatLacksWhatItHadIsUnfitAndItsEarlierPositionStays() {
    Position earlier = CandidacyTest.position("a", "a:1-5");
    Facts facts = facts(Rank.ALLOWED, GtidSet.EMPTY, true, state("a", "a:1-3", ""), earlier);
    assertThat(facts.unfit())
        .startsWith("it is the last source, but lacks transactions that it had: " + set("a:4-5"));
    assertThat(facts.position().refusal()).isEqualTo(facts.unfit());
    assertThat(facts.mayCount()).isFalse();
    assertThat(facts.position().finalIn()).isEqualTo(Position.MAY_RECEIVE);
    assertThat(facts(Rank.ALLOWED, GtidSet.EMPTY, true, state("a", "a:1-6", ""), earlier)
            .unfit())
        .isEmpty();
    // Another server under its name has lost nothing.
    assertThat(facts(Rank.ALLOWED, GtidSet.EMPTY, true, state("d", "a:1-3", ""), earlier)
            .mayCount())
        .isTrue();
  }

  @Test
  void aServerMayNotStandForOneReason() {
    ServerState fit = state("b", "a:1", "a:1");
    assertThat(facts(Rank.NEVER, GtidSet.EMPTY, false, fit, null).position().refusal())
        .isEqualTo("as.failover.promotion is never");
    assertThat(facts(Rank.NEVER, GtidSet.EMPTY, false, fit, null).unfit()).isEmpty();
    Position preferred = facts(Rank.PREFERRED, GtidSet.EMPTY, false, fit, null).position();
    assertThat(preferred.preferred()).isTrue();
    assertThat(preferred.refusal()).isEmpty();
    ServerState delayed = state("b", "a:1", "a:1", 300, CandidacyTest.FIT);
    assertThat(
            facts(Rank.ALLOWED, GtidSet.EMPTY, false, delayed, null).position().refusal())
        .startsWith("its replication is delayed by 300 s");
    ServerState unfit = state("b", "a:1", "a:1", 300, Preconditions.of("", "a problem"));
    Facts facts = facts(Rank.NEVER, GtidSet.EMPTY, false, unfit, null);
    assertThat(facts.unfit()).contains("a problem");
    assertThat(facts.position().refusal()).isEqualTo(facts.unfit());
  }

  @Test
  void twoAgentsOfOneNameSeeEachOther() {
    Position earlier = CandidacyTest.position("b", "a:1-5");
    ServerState state = state("b", "a:1-5", "a:1-5");
    assertThat(Announcer.facts(
                CandidacyTest.properties("b", "a", "b"),
                "another",
                GtidSet.EMPTY,
                true,
                state,
                7,
                new Snapshot(Optional.empty(), Map.of("b", earlier), ""))
            .unfit())
        .isEqualTo("two agents have as.failover.server=b: stop one of them");
    // A new agent takes over.
    assertThat(Announcer.facts(
                CandidacyTest.properties("b", "a", "b"),
                "another",
                GtidSet.EMPTY,
                false,
                state,
                7,
                new Snapshot(Optional.empty(), Map.of("b", earlier), ""))
            .unfit())
        .isEmpty();
  }

  private Facts announce(String received, long finalIn) throws Exception {
    return this.announcer.announce(state("b", "a:1", received), finalIn, read());
  }

  @Test
  void onlyWhatOthersDoNotKnowIsPublished() throws Exception {
    announce("a:1-2", Position.MAY_RECEIVE);
    announce("a:1-2", Position.MAY_RECEIVE);
    this.now += 5 * SECOND - 1;
    announce("a:1-3", Position.MAY_RECEIVE);
    assertThat(this.writes).isEqualTo(1);
    this.now++;
    announce("a:1-2", Position.MAY_RECEIVE);
    assertThat(this.writes).as("nothing has changed").isEqualTo(1);
    announce("a:1-3", Position.MAY_RECEIVE);
    assertThat(this.writes).isEqualTo(2);
    announce("a:1-4", 7);
    assertThat(this.writes).as("a final position").isEqualTo(3);
    announce("a:1-5", 7);
    assertThat(this.published.get("b").received()).isEqualTo(set("a:1-5"));
    announce("a:1-5", 7);
    assertThat(this.writes).isEqualTo(4);
    this.published.remove("b");
    announce("a:1-5", 7);
    assertThat(this.writes).as("it was gone").isEqualTo(5);
  }

  @Test
  void aProofIsPublishedAtOnceAndUsedOnce() throws Exception {
    announce("a:1-2", Position.MAY_RECEIVE);
    this.announcer.announce(state("b", "a:1", "a:1-2"), Position.MAY_RECEIVE, read(), set("a:1"));
    assertThat(this.announcer.isWhole()).isTrue();
    assertThat(this.published.get("b").proof()).isEqualTo(set("a:1"));
    announce("", Position.MAY_RECEIVE);
    assertThat(this.published.get("b").proof()).isEqualTo(GtidSet.EMPTY);
    assertThat(this.announcer.isWhole()).isFalse();
    announce("a:1-3", Position.MAY_RECEIVE);
    assertThat(this.published.get("b").proof()).isEqualTo(GtidSet.EMPTY);
  }

  @Test
  void thePositionOfADamagedSourceIsNotReplaced() throws Exception {
    Announcer source = announcer("a");
    source.announce(state("a", "a:1-5", ""), Position.MAY_RECEIVE, read());
    source.announce(state("a", "a:1-3", ""), 7, read());
    assertThat(this.published.get("a").received()).isEqualTo(set("a:1-5"));
    assertThat(this.writes).isEqualTo(1);
  }
}
