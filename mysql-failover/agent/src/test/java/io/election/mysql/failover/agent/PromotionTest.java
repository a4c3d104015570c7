package io.election.mysql.failover.agent;

import static io.election.mysql.failover.agent.CandidacyTest.last;
import static io.election.mysql.failover.agent.CandidacyTest.set;
import static io.election.mysql.failover.agent.CandidacyTest.uuid;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.ServerState.Receiver;
import java.util.Map;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PromotionTest {

  private static final Promotion PROMOTION = new Promotion(
      3, "b", uuid("b"), PositionTest.gaps(), 9, 2, Map.of("b", uuid("b"), "c", uuid("c")));

  private static ServerState applied(String uuid) {
    return new ServerState(
        uuid(uuid),
        7,
        set("a:1-9"),
        set("a:1-10"),
        true,
        true,
        1,
        new Receiver("", false, false, "", GtidSet.EMPTY),
        true,
        "",
        0,
        0,
        0,
        Set.of(),
        "",
        CandidacyTest.FIT,
        1,
        1);
  }

  @Test
  void itsTextSaysAll() {
    assertThat(Promotion.parse(PROMOTION.print())).isEqualTo(PROMOTION);
    assertThat(PROMOTION.names()).containsExactly("b", "c");
  }

  @ParameterizedTest
  @ValueSource(
      strings = {"term", "server", "uuid", "position", "electionTerm", "acknowledging", "members"})
  void aRecordThatLacksSomethingIsRefused(String name) {
    String without = CandidacyTest.edited(PROMOTION.print(), name, null);
    assertThatThrownBy(() -> Promotion.parse(without))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("Missing creator property '" + name + "'")
        .hasMessageEndingWith(
            "Write it again (mysql-failover/README.md, \"When the election itself fails\")");
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      term          | "x"
      position      | "nonsense"
      acknowledging | 0
      members       | "b"
      members       | {"b": null}
      """)
  void garbageIsRefused(String name, String value) {
    String text = CandidacyTest.edited(last(1, "abc").print(), name, value);
    assertThatThrownBy(() -> Promotion.parse(text))
        .hasMessageStartingWith("The record of the last promotion cannot be read");
  }

  @Test
  void whatIsNotKnownIsIgnored() {
    String more = PROMOTION.print().replaceFirst("\\{", "{\"address\":\"10.0.0.1:3306\",");
    assertThat(Promotion.parse(more)).isEqualTo(PROMOTION);
  }

  /** The last promotion is of term 1, in election term 7, at {@code a:1}. */
  @ParameterizedTest
  @CsvSource({
    "b, 1, 2, a:1-9",
    "b, 0, 1, a:1-9", // it was recorded, but no data have it
    "a, 1, 1, a:1", // it continues
    "a, 0, 1, a:1-9"
  })
  void theNextPromotionCountsOn(String server, long newest, long term, String position) {
    Promotion next = last(2, "abc")
        .next(
            CandidacyTest.position(server, "a:1-10"),
            applied(server),
            newest,
            11,
            Map.of("b", uuid("b")));
    assertThat(next)
        .isEqualTo(new Promotion(
            term, server, uuid(server), set(position), 11, 2, Map.of("b", uuid("b"))));
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, 2})
  void aRecordThatContradictsTheDataIsNotContinued(long newest) {
    assertThatThrownBy(() ->
            last(1, "abc").next(CandidacyTest.position("b", ""), applied("b"), newest, 8, Map.of()))
        .isInstanceOf(IllegalStateException.class)
        .hasMessageStartingWith(
            "the record of promotions says term 1, and the newest known data are of term "
                + newest);
  }

  @Test
  void membersAreThoseThatHaveAnnouncedThemselvesOrWereRecorded() {
    Promotion last = last(1, "abd");
    Map<String, Position> announced = Map.of(
        "b", CandidacyTest.position("b", uuid("e"), ""), "c", CandidacyTest.position("c", ""));
    Map<String, String> members =
        last.membersAmong(CandidacyTest.properties("c", "a", "b", "c", "f"), announced, uuid("d"));
    assertThat(members)
        .containsExactlyInAnyOrderEntriesOf(Map.of("a", uuid("a"), "b", uuid("e"), "c", uuid("d")));
    Promotion with = last.with(members);
    assertThat(with.members()).isEqualTo(members);
    assertThat(with.with(last.members())).isEqualTo(last);
  }

  @Test
  void dataOfTheLastSourceAreDoubtedIfTheyCannotBeThose() {
    Promotion last = last(1, "abc");
    assertThat(last.doubt(CandidacyTest.position("a", "a:1-5"))).isEmpty();
    assertThat(last.doubt(CandidacyTest.position("b", uuid("e"), ""))).isEmpty();
    assertThat(last.doubt(CandidacyTest.position("a", uuid("e"), "a:1")))
        .contains("the server_uuid " + uuid("e") + " instead of " + uuid("a"))
        .contains("Write it again");
    assertThat(last.doubt(CandidacyTest.position("a", "a:2-5")))
        .startsWith("its GTIDs were reset, or its data are older")
        .contains("they lack " + set("a:1"));
  }
}
