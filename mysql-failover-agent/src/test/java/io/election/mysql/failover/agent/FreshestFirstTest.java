package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.Member;
import io.election.lease.Precedence.Kind;
import io.election.lease.Precedence.Opening;
import io.election.lease.Precedence.Turn;
import io.election.mysql.failover.GtidSet;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Who stands, of the servers a (the last source), b and c; without servers. */
class FreshestFirstTest {

  private static final String GTIDS = "00000000-0000-0000-0000-00000000000a:1-";

  private final FreshestFirst freshest = new FreshestFirst(properties("b"));

  private boolean asked;

  private static AgentProperties properties(String server) {
    return new AgentProperties(
        server,
        List.of("a", "b", "c"),
        "a",
        "b.example",
        3306,
        "jdbc:mysql://b/",
        "root",
        "",
        "replica",
        "",
        1,
        Duration.ofSeconds(2),
        Duration.ofSeconds(2),
        Duration.ofSeconds(60),
        List.of(),
        List.of(),
        Duration.ofSeconds(2));
  }

  private static Position position(String server, long last) {
    return position(server, "uuid-" + server, 1, last);
  }

  private static Position position(String server, String uuid, long finalIn, long last) {
    return new Position(server, server + ":3306", uuid, finalIn, 1, GtidSet.parse(GTIDS + last));
  }

  @BeforeEach
  void begin() {
    this.freshest.onAsked(() -> this.asked = true);
    this.freshest.know(Optional.of(new Promotion(1, "a", "a", 3306, GtidSet.parse(GTIDS + 1))));
    this.freshest.publish(position("b", 10));
  }

  private Turn turn(Duration openFor, boolean designated, Position... positions) {
    return turn(this.freshest, openFor, designated, positions);
  }

  private static Turn turn(
      FreshestFirst freshest, Duration openFor, boolean designated, Position... positions) {
    List<Member> members = Stream.of(positions)
        .map((each) -> new Member(
            each.server(), Instant.EPOCH, Instant.EPOCH, true, false, "", "etcd", each.print()))
        .toList();
    return freshest.turn(new Opening("set", openFor, designated, Optional.of(members)));
  }

  private Turn turn(Duration openFor, Position... positions) {
    return turn(openFor, false, positions);
  }

  @Test
  void itsOwnPositionMustBeFinalFirst() {
    this.freshest.publish(position("b", "uuid-b", -1, 10));
    assertThat(turn(Duration.ZERO, position("c", 10)).kind()).isEqualTo(Kind.ASIDE);
    assertThat(this.asked).isTrue();
    this.freshest.publish(null);
    assertThat(turn(Duration.ZERO, position("c", 10)).kind()).isEqualTo(Kind.ASIDE);
    assertThat(this.freshest.position("set")).isEmpty();
  }

  @Test
  void itWaitsForPositionsAndThenForEnoughOfThem() {
    Turn waits = turn(Duration.ZERO, position("b", 10));
    assertThat(waits.kind()).isEqualTo(Kind.HOLD_BACK);
    assertThat(waits.time()).isEqualTo(Duration.ofSeconds(2));
    assertThat(waits.reason()).contains("[c]");
    // A position that is not final does not count.
    Turn aside = turn(Duration.ofSeconds(3), position("b", 10), position("c", "uuid-c", -1, 10));
    assertThat(aside.kind()).isEqualTo(Kind.ASIDE);
    assertThat(aside.reason()).contains("missing are [c]");
  }

  /** It may have received more since, and the last source does publish one before its reign. */
  @Test
  void aPositionFromBeforeTheLastPromotionDoesNotCount() {
    assertThat(turn(Duration.ZERO, position("b", 10), position("a", "uuid-a", 0, 9))
            .kind())
        .isEqualTo(Kind.HOLD_BACK);
    assertThat(turn(Duration.ofSeconds(9), position("b", 10), position("c", "uuid-c", 0, 9))
            .kind())
        .isEqualTo(Kind.ASIDE);
    assertThat(turn(Duration.ZERO, position("b", 10), position("a", "uuid-a", 1, 9))
            .kind())
        .isEqualTo(Kind.AT_ONCE);
  }

  @Test
  void theFreshestStandsAtOnceAndOthersHoldBack() {
    assertThat(turn(Duration.ZERO, position("b", 10), position("c", 9)).kind())
        .isEqualTo(Kind.AT_ONCE);
    assertThat(this.freshest.passedOver()).isEmpty();
    Turn later = turn(Duration.ZERO, position("b", 10), position("c", 12));
    assertThat(later.kind()).isEqualTo(Kind.HOLD_BACK);
    assertThat(later.time()).isEqualTo(Duration.ofSeconds(4));
    assertThat(this.freshest.passedOver()).containsExactly("c");
  }

  @Test
  void theLastSourceThatHandsOverIsEnough() {
    assertThat(turn(Duration.ZERO, true, position("b", 10)).kind()).isEqualTo(Kind.HOLD_BACK);
    this.freshest.handedOverAt(position("a", 10));
    assertThat(turn(Duration.ZERO, true, position("b", 10)).kind()).isEqualTo(Kind.AT_ONCE);
    this.freshest.handedOverAt(position("a", 11));
    assertThat(turn(Duration.ZERO, true, position("b", 10)).kind()).isEqualTo(Kind.HOLD_BACK);
  }

  @Test
  void onlyTheInitialSourceBeginsASetOfWhichNoServerKnowsASource() {
    this.freshest.know(Optional.empty());
    this.freshest.publish(first("b", 0, 10));
    Position[] all = {first("a", 0, 10), first("b", 0, 10), first("c", 0, 9)};
    assertThat(turn(Duration.ofSeconds(9), all).reason())
        .contains("as.failover.initial-source is a");

    FreshestFirst initial = new FreshestFirst(properties("a"));
    initial.know(Optional.empty());
    initial.publish(first("a", 0, 10));
    assertThat(turn(initial, Duration.ofSeconds(9), false, all).kind()).isEqualTo(Kind.AT_ONCE);
    assertThat(turn(initial, Duration.ofSeconds(9), false, all[0], all[1]).reason())
        .contains("needs the positions of all servers; missing are [c]");
    assertThat(turn(initial, Duration.ofSeconds(9), false, all[0], all[1], first("c", 3, 10))
            .reason())
        .contains("the record of promotions is gone", "the data of c are of term 3");
    assertThat(turn(initial, Duration.ofSeconds(9), false, all[0], all[1], first("c", 0, 12))
            .reason())
        .contains("c has transactions that this server lacks");
  }

  private static Position first(String server, long term, long last) {
    return new Position(
        server, server + ":3306", "uuid-" + server, 0, term, GtidSet.parse(GTIDS + last));
  }

  @Test
  void twoAgentsOfOneServerAndTwoServersOfOneUuidStandAside() {
    assertThat(turn(Duration.ZERO, position("b", 10), position("b", 10)).reason())
        .contains("two agents have as.failover.server=b");
    assertThat(turn(Duration.ZERO, position("b", 10), position("c", "uuid-b", 1, 9))
            .reason())
        .contains("c has the same server_uuid");
  }

  @Test
  void whatIsNoPositionIsNotCounted() {
    assertThat(Position.parse("")).isEmpty();
    assertThat(Position.parse("a b c 1 x y")).isEmpty();
    assertThat(Position.parse("a b c 1 1 nonsense")).isEmpty();
    Position own = position("b", 10);
    assertThat(Position.parse(own.print())).contains(own);
  }
}
