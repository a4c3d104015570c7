package io.election.mysql.failover.agent;

import static io.election.mysql.failover.agent.CandidacyTest.last;
import static io.election.mysql.failover.agent.CandidacyTest.set;
import static io.election.mysql.failover.agent.CandidacyTest.uuid;
import static org.assertj.core.api.Assertions.assertThat;

import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.Succession;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class PositionTest {

  /** A set with 4,000 gaps. */
  static GtidSet gaps() {
    return set("a"
        + IntStream.rangeClosed(1, 4_001)
            .mapToObj((each) -> ":" + 3 * each + "-" + (3 * each + 1))
            .collect(Collectors.joining()));
  }

  private static final Position POSITION = new Position(
      "b",
      "agent",
      uuid("b"),
      98,
      Set.of("a", "b"),
      7,
      3,
      gaps(),
      set("a:3"),
      "it has reason=other, and\na second line",
      true);

  @Test
  void itsTextSaysAll() {
    assertThat(POSITION.received().toString()).hasSizeGreaterThan(40_000);
    assertThat(Position.parse(POSITION.print())).contains(POSITION);
    Position other = CandidacyTest.position("c", "");
    assertThat(Position.parse(other.print())).contains(other);
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "server",
        "agent",
        "uuid",
        "id",
        "servers",
        "finalIn",
        "term",
        "received",
        "proof",
        "refusal",
        "preferred"
      })
  void aTextThatLacksSomethingIsNoPosition(String name) {
    assertThat(Position.parse(CandidacyTest.edited(POSITION.print(), name, null)))
        .isEmpty();
    assertThat(Position.parse(CandidacyTest.edited(POSITION.print(), name, "null")))
        .isEmpty();
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      id       | "7"
      finalIn  | ""
      term     | 1.5
      received | "x:1"
      proof    | 1
      servers  | "a"
      """)
  void garbageIsNoPosition(String name, String value) {
    assertThat(Position.parse(CandidacyTest.edited(POSITION.print(), name, value)))
        .isEmpty();
    assertThat(Position.parse("")).isEmpty();
    assertThat(Position.parse("null")).isEmpty();
    assertThat(Position.parse("term=1")).isEmpty();
  }

  @Test
  void twoPositionsSayTheSameButForTheTransactions() {
    Position position = CandidacyTest.position("b", "a:1");
    assertThat(position.saysTheSameAs(CandidacyTest.position("b", "a:1-9"))).isTrue();
    assertThat(position.saysTheSameAs(CandidacyTest.position("c", "a:1"))).isFalse();
    assertThat(position.saysTheSameAs(position.finalIn(8, set("a:1")))).isFalse();
    assertThat(position.isFinal(7)).isTrue();
    assertThat(position.isFinal(8)).isFalse();
  }

  /** The last source, a, had {@code a:1} when it was promoted. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      b | b | a:1-5         | a:1-5
      b | b | a:1-5,b:1-2   | a:1-5
      b | b | a:1-5,c:1     | a:1-5,c:1
      b | b | a:1,c:1       | a:1
      b | b | a:1           | a:1
      b | b | b:1           | ''
      a | a | a:1-5         | a:1-5
      a | a | a:1,c:1       | a:1,c:1
      """)
  void whatCannotHaveBeenAcknowledgedDoesNotCount(
      String server, String uuid, String received, String counting) {
    Succession.Position position =
        last(1, "abc").counting(CandidacyTest.position(server, uuid(uuid), received));
    assertThat(position.received()).isEqualTo(set(counting));
    assertThat(position.server()).isEqualTo(server);
    assertThat(position.whole()).isTrue();
  }

  @Test
  void aServerThatIsNotRecordedOrProvenIsNotWhole() {
    assertThat(last(1, "abc")
            .counting(CandidacyTest.position("b", uuid("d"), "a:1"))
            .whole())
        .isFalse();
    assertThat(last(1, "ac").counting(CandidacyTest.position("b", "a:1")).whole())
        .isFalse();
    Position unproven = new Position(
        "b", "x", uuid("b"), 1, Set.of("a"), 7, 1, set("a:1"), GtidSet.EMPTY, "", false);
    assertThat(last(1, "abc").counting(unproven).whole()).isFalse();
  }
}
