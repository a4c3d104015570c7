package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.Member;
import io.election.lease.Precedence.Kind;
import io.election.lease.Precedence.OpenElection;
import io.election.lease.Precedence.Turn;
import io.election.mysql.failover.GtidSet;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/**
 * Which of the servers a (the last source), b and c stands for election. No real servers are used.
 */
class FreshestFirstTest {

  private static final String UUID_A = "00000000-0000-0000-0000-00000000000a";

  private static final String GTIDS = UUID_A + ":1-";

  private static final Status REPLICA = new Status(Status.Role.REPLICA, "", 3);

  private static final Promotion LAST =
      new Promotion(1, "a", UUID_A, "a:3306", GtidSet.parse(GTIDS + 1), 7, 1);

  private final FreshestFirst freshest = new FreshestFirst(properties("b"));

  private boolean asked;

  private static AgentProperties properties(String server) {
    return properties(server, 1, "a", "b", "c");
  }

  private static AgentProperties properties(
      String server, int acknowledgingReplicas, String... servers) {
    return properties(server, acknowledgingReplicas, Duration.ofSeconds(2), servers);
  }

  static AgentProperties properties(
      String server, int acknowledgingReplicas, Duration hookTimeout, String... servers) {
    return new AgentProperties(
        server,
        Stream.of(servers).collect(Collectors.toMap((name) -> name, (name) -> name + ":3306")),
        "a",
        "jdbc:mysql://b/",
        "root",
        "",
        "replica",
        "",
        acknowledgingReplicas,
        Duration.ofSeconds(2),
        Duration.ofSeconds(2),
        Duration.ofSeconds(60),
        List.of(),
        List.of(),
        List.of(),
        hookTimeout,
        ReplicationSet.TLS);
  }

  private static Position position(String server, long last) {
    return position(server, uuid(server), LAST.electionTerm(), last);
  }

  private static String uuid(String server) {
    return server.equals("a") ? UUID_A : "uuid-" + server;
  }

  private static Position position(String server, String uuid, long finalIn, long last) {
    return position(server, uuid, finalIn, 1, GTIDS + last);
  }

  private static Position position(
      String server, String uuid, long finalIn, long term, String received) {
    return new Position(
        server,
        server + ":3306",
        uuid,
        server.charAt(0),
        Set.of("a", "b", "c"),
        finalIn,
        0,
        term,
        GtidSet.parse(received),
        true,
        true,
        REPLICA);
  }

  /** Returns the position as published by an agent with a different list of servers. */
  private static Position knowing(String servers, Position position) {
    return new Position(
        position.server(),
        position.address(),
        position.uuid(),
        position.id(),
        Set.of(servers.split("")),
        position.finalIn(),
        position.changes(),
        position.term(),
        position.received(),
        position.whole(),
        position.wholeOfLast(),
        position.status());
  }

  private static void publish(FreshestFirst freshest, Position position) {
    publish(freshest, position, "", true);
  }

  /**
   * Publishes the position of a server.
   *
   * @param source the address of the source that it is set to replicate from
   * @param marked whether it is marked as whole
   */
  private static void publish(
      FreshestFirst freshest, Position position, String source, boolean marked) {
    freshest.publish(
        new ServerState(
            position.uuid(),
            position.received(),
            position.received(),
            true,
            true,
            position.term(),
            source,
            false,
            false,
            true,
            0,
            0,
            position.id(),
            "",
            "",
            marked),
        position.finalIn(),
        position.status());
  }

  @BeforeEach
  void begin() {
    this.freshest.onAsked(() -> this.asked = true);
    this.freshest.know(Optional.of(LAST));
    publish(this.freshest, position("b", 10));
  }

  private Turn turn(Duration openFor, boolean designated, Position... positions) {
    return turn(this.freshest, openFor, designated, positions);
  }

  private static Turn turn(
      FreshestFirst freshest, Duration openFor, boolean designated, Position... positions) {
    return freshest.turn(
        new OpenElection("set", openFor, designated, Optional.of(members(positions))));
  }

  private static List<Member> members(Position... positions) {
    return Stream.of(positions)
        .map((each) -> member(each.server(), each.print()))
        .toList();
  }

  static Member member(String server, String position) {
    return new Member(
        server, Instant.EPOCH, Instant.EPOCH, true, false, "", "etcd", position, Duration.ZERO, "");
  }

  private Turn turn(Duration openFor, Position... positions) {
    return turn(openFor, false, positions);
  }

  @Test
  void itsOwnPositionMustBeFinalFirst() {
    publish(this.freshest, position("b", "uuid-b", -1, 10));
    assertThat(turn(Duration.ZERO, position("c", 10)).kind()).isEqualTo(Kind.ASIDE);
    assertThat(this.asked).isTrue();
    this.freshest.withdraw();
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
    assertThat(aside.reason()).contains("missing: [c]");
  }

  /**
   * The server may have received more since then; the last source does publish such a position
   * before its promotion.
   */
  @Test
  void aPositionFromBeforeTheLastPromotionDoesNotCount() {
    assertThat(
            turn(Duration.ZERO, position("b", 10), position("a", UUID_A, 0, 9)).kind())
        .isEqualTo(Kind.HOLD_BACK);
    assertThat(turn(Duration.ofSeconds(9), position("b", 10), position("c", "uuid-c", 0, 9))
            .kind())
        .isEqualTo(Kind.ASIDE);
    assertThat(turn(Duration.ZERO, position("b", 10), position("a", UUID_A, LAST.electionTerm(), 9))
            .kind())
        .isEqualTo(Kind.AT_ONCE);
  }

  @Test
  void theFreshestStandsAtOnceAndOthersHoldBack() {
    assertThat(turn(Duration.ZERO, position("b", 10), position("c", 9)).kind())
        .isEqualTo(Kind.AT_ONCE);
    assertThat(this.freshest.decidedAfter()).contains(LAST);
    Turn later = turn(Duration.ZERO, position("b", 10), position("c", 12));
    assertThat(later.kind()).isEqualTo(Kind.HOLD_BACK);
    assertThat(later.time()).isEqualTo(Duration.ofSeconds(4));
    // c did not stand. Transactions that only c has may have been acknowledged.
    Turn aside = turn(Duration.ofSeconds(4), position("b", 10), position("c", 12));
    assertThat(aside.kind()).isEqualTo(Kind.ASIDE);
    assertThat(aside.reason()).contains("missing: [c]", "[c], which are fresher");
  }

  /**
   * Two replicas acknowledged each transaction, so the others together have all of them without the
   * freshest.
   */
  @Test
  void theNextStandsIfTheFreshestDoesNotComeAndNothingAcknowledgedIsLost() {
    FreshestFirst b = new FreshestFirst(properties("b", 2, "a", "b", "c", "d"));
    b.know(Optional.of(lastAcknowledgedBy(2)));
    publish(b, position("b", 10));
    Position[] all = {
      knowing("abcd", position("b", 10)),
      knowing("abcd", position("c", 12)),
      knowing("abcd", position("d", 9))
    };
    assertThat(turn(b, Duration.ofMillis(3_999), false, all).kind()).isEqualTo(Kind.HOLD_BACK);
    assertThat(turn(b, Duration.ofSeconds(4), false, all).kind()).isEqualTo(Kind.AT_ONCE);
    assertThat(b.fresher(members(all), GtidSet.parse(GTIDS + 10))).isEmpty();

    FreshestFirst d = new FreshestFirst(properties("d", 2, "a", "b", "c", "d"));
    d.know(Optional.of(lastAcknowledgedBy(2)));
    publish(d, position("d", 9));
    assertThat(turn(d, Duration.ofSeconds(5), false, all).time()).isEqualTo(Duration.ofSeconds(6));
  }

  /** The agent of the last source was the first one to get another setting, or the last one. */
  @ParameterizedTest
  @CsvSource({"2, 2, AT_ONCE", "2, 1, ASIDE", "1, 2, ASIDE"})
  void theSmallerNumberOfAcknowledgingReplicasCounts(int own, int last, Kind kind) {
    FreshestFirst b = new FreshestFirst(properties("b", own, "a", "b", "c"));
    b.know(Optional.of(lastAcknowledgedBy(last)));
    publish(b, position("b", 10));
    assertThat(turn(b, Duration.ofSeconds(9), false, position("b", 10)).kind()).isEqualTo(kind);
  }

  /** What one replica had acknowledged may be on the next source only, until the others have it. */
  @ParameterizedTest
  @CsvSource({"2, 1, 9, 1", "2, 1, 10, 2", "2, 2, 9, 2", "1, 2, 9, 1", "2, 0, 9, 0"})
  void aLargerNumberCountsOnceEnoughServersHaveEverything(
      int own, int last, long others, int recorded) {
    FreshestFirst b = new FreshestFirst(properties("b", own, "a", "b", "c", "d"));
    b.know(Optional.of(lastAcknowledgedBy(last)));
    publish(b, position("b", 10));
    Position[] all = {
      knowing("abcd", position("b", 10)),
      knowing("abcd", position("c", others)),
      knowing("abcd", position("d", others))
    };
    assertThat(turn(b, Duration.ZERO, false, all).kind()).isEqualTo(Kind.AT_ONCE);
    assertThat(b.acknowledging(GtidSet.parse(GTIDS + 10))).isEqualTo(recorded);
  }

  private static Promotion lastAcknowledgedBy(int replicas) {
    return new Promotion(1, "a", UUID_A, "a:3306", GtidSet.parse(GTIDS + 1), 7, replicas);
  }

  @Test
  void theElectedReplicaSeesAFresherOne() {
    assertThat(turn(Duration.ZERO, position("b", 10), position("c", 10)).kind())
        .isEqualTo(Kind.AT_ONCE);
    List<Member> members = members(position("b", 10), position("c", 11));
    assertThat(this.freshest.fresher(members, GtidSet.parse(GTIDS + 10)))
        .map(Member::nodeId)
        .contains("c");
    assertThat(this.freshest.fresher(members, GtidSet.parse(GTIDS + 11))).isEmpty();
  }

  /**
   * Written by root, for instance: the source never had the transaction, so no client got an answer
   * to it.
   */
  @Test
  void whatAReplicaHasWrittenItselfDoesNotCount() {
    String uuid = "00000000-0000-0000-0000-00000000000c";
    Position c = position("c", uuid, LAST.electionTerm(), 1, GTIDS + 10 + "," + uuid + ":1-3");
    assertThat(turn(Duration.ZERO, position("b", 10), c).kind()).isEqualTo(Kind.AT_ONCE);
    assertThat(this.freshest.fresher(members(c), GtidSet.parse(GTIDS + 10))).isEmpty();
    // A transaction of another server may have come from the source.
    Position other =
        position("c", "uuid-c", LAST.electionTerm(), 1, c.received().toString());
    assertThat(turn(Duration.ZERO, position("b", 10), other).reason()).contains("servers: [c]");
  }

  /**
   * The server was refused or down, so it has acknowledged nothing, and its own transactions block
   * no other server.
   */
  @Test
  void aServerThatDidNotFollowTheLastSourceIsKnownAndNeverFresher() {
    Position refused = position(
        "c",
        "uuid-c",
        LAST.electionTerm(),
        0,
        GTIDS + 1 + ",00000000-0000-0000-0000-00000000000c:1");
    assertThat(turn(Duration.ZERO, position("b", 10), refused).kind()).isEqualTo(Kind.AT_ONCE);
    assertThat(this.freshest.fresher(members(refused), GtidSet.parse(GTIDS + 10)))
        .isEmpty();

    publish(this.freshest, position("b", 1));
    Turn aside = turn(Duration.ofSeconds(9), position("b", 1), position("c", 10));
    assertThat(aside.kind()).isEqualTo(Kind.ASIDE);
    assertThat(aside.reason()).contains("did not follow the last source a");
    // If no server has followed, all count.
    assertThat(turn(Duration.ZERO, position("b", 1), position("c", 1)).kind())
        .isEqualTo(Kind.AT_ONCE);
  }

  /** At start-up, MySQL discards transactions that were received but not applied. */
  @Test
  void aServerThatRestartedCountsOnlyIfItDidNotJoinTheLastSource() {
    assertThat(published("a:3306", true)).isEqualTo("whole=true whole-of-last=true");
    assertThat(published("a:3306", false)).isEqualTo("whole=false whole-of-last=false");
    assertThat(published("c:3306", false)).isEqualTo("whole=false whole-of-last=true");
    // A former source, or a new server.
    assertThat(published("", false)).isEqualTo("whole=true whole-of-last=true");
    // A clone into it has failed.
    this.freshest.unfit("its data may be gone", true);
    for (String source : List.of("a:3306", "c:3306", "")) {
      assertThat(published(source, true)).isEqualTo("whole=false whole-of-last=false");
    }
  }

  /**
   * B was killed. It has nothing of the last source, a, and may have lost what it had acknowledged.
   */
  @Test
  void whatAServerMayHaveLostKeepsOthersFromThePromotion() {
    FreshestFirst c = new FreshestFirst(properties("c"));
    c.know(Optional.of(LAST));
    for (long last : List.of(1, 10)) {
      publish(c, position("c", last));
      assertThat(turn(c, Duration.ofSeconds(9), false, restarted("a:3306")).reason())
          .contains("lacking acknowledged transactions: [b]");
      // b joined an earlier source, and c has all that was acknowledged to that one.
      assertThat(turn(c, Duration.ofSeconds(9), false, restarted("x:3306")).kind())
          .isEqualTo(Kind.AT_ONCE);
    }
    // Nobody known has all that was acknowledged to the earlier source.
    Promotion later = new Promotion(2, "a", UUID_A, "a:3306", GtidSet.parse(GTIDS + 12), 7, 1);
    c.know(Optional.of(later));
    assertThat(turn(c, Duration.ofSeconds(9), false, restarted("x:3306")).reason())
        .contains("lacking acknowledged transactions: [b]");
  }

  /** Returns the position of b after a restart. */
  private Position restarted(String source) {
    publish(this.freshest, position("b", 1), source, false);
    return Position.parse(this.freshest.position("set")).orElseThrow();
  }

  private String published(String source, boolean marked) {
    publish(this.freshest, position("b", 10), source, marked);
    return this.freshest.position("set").replaceAll(".*(whole=.*) reason=", "$1");
  }

  @Test
  void aReceiverStartsAgainOnlyWhenNobodySeesAFinalPosition() {
    Position dead = position("b", 5);
    assertThat(this.freshest.isWithdrawn(Optional.empty())).isFalse();
    publish(this.freshest, position("b", "uuid-b", Position.MAY_RECEIVE, 10));
    String present = this.freshest.position("set");
    // A position published earlier, and one of an earlier process.
    assertThat(this.freshest.isWithdrawn(Optional.of(members(position("b", 10)))))
        .isFalse();
    Position own = Position.parse(present).orElseThrow();
    assertThat(this.freshest.isWithdrawn(Optional.of(members(own, dead)))).isFalse();
    assertThat(this.freshest.isWithdrawn(Optional.of(members()))).isFalse();
    assertThat(this.freshest.isWithdrawn(Optional.of(members(own)))).isTrue();
    // After a later promotion, the position is no longer final.
    this.freshest.know(Optional.of(new Promotion(2, "c", "uuid-c", "c:3306", GtidSet.EMPTY, 8, 1)));
    assertThat(this.freshest.isWithdrawn(Optional.of(members(position("b", 10)))))
        .isTrue();
  }

  @Test
  void theLastSourceThatHandsOverIsEnough() {
    assertThat(turn(Duration.ZERO, true, position("b", 10)).kind()).isEqualTo(Kind.HOLD_BACK);
    this.freshest.handedOverAt(LAST, GtidSet.parse(GTIDS + 10));
    assertThat(turn(Duration.ZERO, true, position("b", 10)).kind()).isEqualTo(Kind.AT_ONCE);
    this.freshest.handedOverAt(LAST, GtidSet.parse(GTIDS + 11));
    assertThat(turn(Duration.ZERO, true, position("b", 10)).kind()).isEqualTo(Kind.HOLD_BACK);
  }

  /** The source was lost right after the first promotion of a new set. */
  @Test
  void theLastSourceIsElectedAgainThoughNoServerHasATransaction() {
    Promotion first = new Promotion(1, "a", UUID_A, "a:3306", GtidSet.EMPTY, 7, 1);
    Position[] all = Stream.of("a", "b", "c")
        .map((each) -> position(each, uuid(each), LAST.electionTerm(), 0, ""))
        .toArray(Position[]::new);
    FreshestFirst a = new FreshestFirst(properties("a"));
    a.know(Optional.of(first));
    publish(a, all[0]);
    assertThat(turn(a, Duration.ZERO, false, all).kind()).isEqualTo(Kind.AT_ONCE);
    this.freshest.know(Optional.of(first));
    publish(this.freshest, all[1]);
    assertThat(turn(Duration.ofSeconds(9), all).reason())
        .contains("this server has no transaction that counts");
  }

  /** The last source had GTIDS:1 when it was promoted, and c may have acknowledged more. */
  @Test
  void aServerUnderTheNameOfTheLastSourceCountsOnlyIfItHasItsData() {
    FreshestFirst a = new FreshestFirst(properties("a"));
    a.know(Optional.of(LAST));
    for (Position wrong : List.of(
        position("a", "uuid-x", LAST.electionTerm(), 20),
        position("a", UUID_A, LAST.electionTerm(), 1, ""),
        position("a", UUID_A, LAST.electionTerm(), 1, GTIDS.replace("1-", "2-") + 20))) {
      assertThat(turn(Duration.ofSeconds(9), position("b", 10), wrong).reason())
          .contains("missing: [c]");
      publish(a, wrong);
      Turn aside = turn(a, Duration.ofSeconds(9), false, wrong, position("b", 10));
      assertThat(aside.kind()).isEqualTo(Kind.ASIDE);
      assertThat(aside.reason())
          .containsAnyOf("uuid-x instead of " + UUID_A, "its GTIDs were reset")
          .endsWith("(mysql-failover/README.md, \"When the election itself fails\")");
    }
    a.know(Optional.of(new Promotion(1, "a", UUID_A, "a:3306", GtidSet.EMPTY, 7, 1)));
    Position reset = position("a", UUID_A, LAST.electionTerm(), 1, "");
    publish(a, reset);
    assertThat(turn(a, Duration.ofSeconds(9), false, reset, position("b", 10)).reason())
        .contains("its GTIDs were reset: they lack that promotion");
  }

  /** Such a server says nothing of what it, or an earlier one of its name, has acknowledged. */
  @Test
  void aNewServerOrOneWhoseGtidsWereResetDoesNotCount() {
    FreshestFirst c = new FreshestFirst(properties("c"));
    c.know(Optional.of(LAST));
    Position reset = position("c", "uuid-c", LAST.electionTerm(), 1, "");
    publish(c, reset);
    assertThat(turn(c, Duration.ofSeconds(9), false, reset, position("b", 10)).reason())
        .contains("its GTIDs were reset: they lack " + UUID_A + ":1", "POST /rebuild");
    assertThat(turn(Duration.ofSeconds(9), position("b", 10), reset).reason())
        .contains("missing: [c]");

    publish(c, position("c", "uuid-c", LAST.electionTerm(), 0, ""), "", false);
    Position isNew = Position.parse(c.position("set")).orElseThrow();
    assertThat(turn(Duration.ofSeconds(9), position("b", 10), isNew).reason())
        .contains("missing: []", "lacking acknowledged transactions: [c]");
    // An operator accepts the loss, or the server was set up with the data of the set.
    publish(c, position("c", "uuid-c", LAST.electionTerm(), 0, ""), "", true);
    assertThat(c.position("set")).contains("whole=true whole-of-last=true");
    publish(c, position("c", "uuid-c", LAST.electionTerm(), 0, GTIDS + 1), "", false);
    assertThat(c.position("set")).contains("whole=true whole-of-last=true");
  }

  @Test
  void onlyTheInitialSourceBeginsASetOfWhichNoServerKnowsASource() {
    this.freshest.know(Optional.empty());
    publish(this.freshest, first("b", 0, 10));
    Position[] all = {first("a", 0, 10), first("b", 0, 10), first("c", 0, 9)};
    assertThat(turn(Duration.ofSeconds(9), all).reason())
        .contains("as.failover.initial-source is a");

    FreshestFirst initial = new FreshestFirst(properties("a"));
    initial.know(Optional.empty());
    publish(initial, first("a", 0, 10));
    assertThat(turn(initial, Duration.ofSeconds(9), false, all).kind()).isEqualTo(Kind.AT_ONCE);
    assertThat(initial.decidedAfter()).isEmpty();
    assertThat(turn(initial, Duration.ofSeconds(9), false, all[0], all[1]).reason())
        .contains("needs the positions of all servers; missing: [c]");
    assertThat(turn(initial, Duration.ofSeconds(9), false, all[0], all[1], first("c", 3, 10))
            .reason())
        .contains("the record of promotions is gone", "the data of c are of term 3");
    assertThat(turn(initial, Duration.ofSeconds(9), false, all[0], all[1], first("c", 0, 12))
            .reason())
        .contains("c has transactions that this server lacks");
  }

  private static Position first(String server, long term, long last) {
    return position(server, uuid(server), 0, term, GTIDS + last);
  }

  @Test
  void twoAgentsOfOneServerAndTwoServersOfOneUuidStandAside() {
    assertThat(turn(Duration.ZERO, position("b", 10), position("b", 10)).reason())
        .contains("two agents have as.failover.server=b");
    assertThat(
            turn(Duration.ZERO, position("b", 10), position("c", "uuid-b", LAST.electionTerm(), 9))
                .reason())
        .contains("c has the same server_uuid");
  }

  @Test
  void twoServersOfOneServerIdAndTheUuidOfTheLastSourceStandAside() {
    Position c = position("c", 9);
    Position same = new Position(
        "c",
        "c:3306",
        "uuid-c",
        'b',
        c.servers(),
        c.finalIn(),
        0,
        1,
        c.received(),
        true,
        true,
        REPLICA);
    assertThat(turn(Duration.ZERO, position("b", 10), same).reason())
        .contains(
            "c has the same server_id as this server, 98", "change it on one of them, and restart");
    publish(this.freshest, position("b", UUID_A, LAST.electionTerm(), 10));
    assertThat(turn(Duration.ZERO, position("b", UUID_A, LAST.electionTerm(), 10), c)
            .reason())
        .contains("it has the server_uuid of a, the last source", "remove auto.cnf");
  }

  /** A transaction may exist only on servers that this agent does not know. */
  @Test
  void agentsThatKnowOtherServersKeepEachOtherFromThePromotion() {
    Position c = position("c", 10);
    assertThat(
            turn(Duration.ofSeconds(9), position("b", 10), knowing("abcx", c)).reason())
        .isEqualTo(
            "the agent of c has as.failover.servers=a,b,c,x, and this one a,b,c: give all agents the same list, or stop the one that is not a member");
    assertThat(turn(Duration.ofSeconds(9), position("b", 10), c, knowing("abcx", position("x", 10)))
            .reason())
        .contains("the agent of x has as.failover.servers=a,b,c,x");
    assertThat(turn(Duration.ofSeconds(9), position("b", 10), knowing("ac", c)).reason())
        .contains("the agent of c has as.failover.servers=a,c");
    // The other agent has removed a server that is not needed.
    assertThat(turn(Duration.ofSeconds(9), position("b", 10), knowing("bc", c)).kind())
        .isEqualTo(Kind.AT_ONCE);
  }

  @Test
  void theLastSourceCanBeTakenOutOfTheSet() {
    FreshestFirst b = new FreshestFirst(properties("b", 1, "b", "c"));
    b.know(Optional.of(LAST));
    publish(b, position("b", 10));
    Position c = knowing("bc", position("c", 10));
    assertThat(turn(b, Duration.ofSeconds(9), false, position("b", 10), knowing("abc", c))
            .reason())
        .contains("the agent of c has as.failover.servers=a,b,c");
    Position own = knowing("bc", position("b", 10));
    assertThat(turn(b, Duration.ofSeconds(9), false, own).kind()).isEqualTo(Kind.ASIDE);
    assertThat(turn(b, Duration.ZERO, false, own, c).kind()).isEqualTo(Kind.AT_ONCE);
  }

  @Test
  void dataOfALaterTermThanTheRecordKeepAllFromThePromotion() {
    Position c = position("c", "uuid-c", LAST.electionTerm(), 2, GTIDS + 9);
    assertThat(turn(Duration.ofSeconds(9), position("b", 10), c).reason())
        .contains("the data of c are of term 2, but the record of promotions says 1", "restore");
  }

  @Test
  void aServerThatIsUnfitStandsAside() {
    this.freshest.unfit("gtid_mode is OFF: set it to ON", false);
    assertThat(turn(Duration.ofSeconds(9), position("b", 10), position("c", 10)).reason())
        .isEqualTo("gtid_mode is OFF: set it to ON");
    this.freshest.unfit("", false);
    assertThat(turn(Duration.ofSeconds(9), position("b", 10), position("c", 10)).kind())
        .isEqualTo(Kind.AT_ONCE);
  }

  @Test
  void aServerDoesNotJoinBesideOneOfItsUuidNorASourceThatDoesNotKnowIt() {
    Position a = position("a", 10);
    assertThat(this.freshest.contradictionOfReplica(members(a, position("b", 10)), LAST))
        .isEmpty();
    assertThat(this.freshest.contradictionOfReplica(
            members(a, position("c", "uuid-b", Position.MAY_RECEIVE, 10)), LAST))
        .contains("c has the same server_uuid");
    assertThat(this.freshest.contradictionOfReplica(members(knowing("ac", a)), LAST))
        .contains("it is not a member: the agent of the source a has as.failover.servers=a,c");
    // An agent that has stopped remains announced for a while.
    Position before = position("b", "uuid-b", Position.MAY_RECEIVE, 9);
    assertThat(this.freshest.contradictionOfReplica(members(a, before, position("b", 10)), LAST))
        .isEmpty();
    assertThat(this.freshest.contradictionOfReplica(
            members(a, position("b", "uuid-x", Position.MAY_RECEIVE, 9)), LAST))
        .contains("two agents have as.failover.server=b");
  }

  @Test
  void serversWithoutAPositionAreCounted() {
    assertThat(this.freshest.missing(members(position("a", 1), position("x", 1))))
        .isEqualTo(2);
    assertThat(this.freshest.missing(
            members(position("a", 1), position("b", 1), position("c", "uuid-c", -1, 1))))
        .isZero();
  }

  @Test
  void theInitialSourceOfASetIsNoReplica() {
    FreshestFirst initial = new FreshestFirst(properties("a"));
    initial.know(Optional.empty());
    initial.publish(
        new ServerState(
            UUID_A,
            GtidSet.EMPTY,
            GtidSet.EMPTY,
            true,
            true,
            0,
            "elsewhere:3306",
            false,
            false,
            true,
            0,
            0,
            'a',
            "",
            "",
            false),
        0,
        REPLICA);
    Position[] all = {first("a", 0, 1), first("b", 0, 1), first("c", 0, 1)};
    assertThat(turn(initial, Duration.ofSeconds(9), false, all).reason())
        .contains("replicates from elsewhere:3306", "STOP REPLICA; RESET REPLICA ALL");
  }

  @Test
  void whatIsNoPositionOrCutOffIsNotCounted() {
    assertThat(Position.parse("")).isEmpty();
    Position own = new Position(
        "b",
        "b:3306",
        "uuid-b",
        7,
        Set.of("a", "b", "c"),
        1,
        2,
        3,
        GtidSet.parse(GTIDS + 10),
        false,
        true,
        new Status(Status.Role.REFUSED, "it has reason=other", 3));
    String text = own.print();
    assertThat(Position.parse(text)).contains(own);
    int reason = text.indexOf(" reason=");
    for (int length = 0; length < reason; length++) {
      assertThat(Position.parse(text.substring(0, length))).isEmpty();
    }
    assertThat(Position.parse(text.replace("lag=3s", "lag=long"))).isEmpty();
    assertThat(Position.parse(text.replace(GTIDS, "nonsense"))).isEmpty();
  }
}
