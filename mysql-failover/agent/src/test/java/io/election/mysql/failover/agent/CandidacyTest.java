package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import io.election.lease.Precedence.Kind;
import io.election.mysql.failover.GtidSet;
import io.election.mysql.failover.agent.AgentProperties.Rank;
import io.election.mysql.failover.agent.Registry.Snapshot;
import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import tools.jackson.databind.json.JsonMapper;
import tools.jackson.databind.node.ObjectNode;

/**
 * Which of the servers a (the last source), b, c and d stands for election. Server a has the
 * transactions {@code a:…}, and so on; a had {@code a:1} when it was promoted, in election term 7.
 */
class CandidacyTest {

  /** The settings of a server that may lead. */
  static final Preconditions FIT = Preconditions.of("""
      gtid_mode=ON
      enforce_gtid_consistency=ON
      log_replica_updates=ON
      sync_binlog=1
      innodb_flush_log_at_trx_commit=1
      binlog_error_action=ABORT_SERVER
      relay_log_recovery=ON
      skip_replica_start=ON
      persisted_globals_load=ON
      event_scheduler=ON
      thread_handling=one-thread-per-connection
      rpl_semi_sync_replica_enabled=ON
      rpl_semi_sync_source_wait_point=AFTER_SYNC""", "");

  static AgentProperties properties(String server, String... servers) {
    return properties(server, Rank.ALLOWED, servers);
  }

  static AgentProperties properties(String server, Rank rank, String... servers) {
    return new AgentProperties(
        server,
        Arrays.stream(servers)
            .collect(Collectors.toMap((each) -> each, (each) -> each + ".example:3306")),
        "jdbc:mysql://" + server + "/",
        "root",
        "",
        "replica",
        "",
        rank,
        Duration.ofSeconds(2),
        Duration.ofSeconds(2),
        Duration.ofSeconds(60),
        List.of(),
        ReplicationSet.TLS);
  }

  /** Returns a text in JSON with another value, which is in JSON too, or without it. */
  static String edited(String json, String name, @Nullable String value) {
    JsonMapper mapper = new JsonMapper();
    ObjectNode node = (ObjectNode) mapper.readTree(json);
    assertThat(node.remove(name)).as(name).isNotNull();
    if (value != null) {
      node.set(name, mapper.readTree(value));
    }
    return node.toString();
  }

  static String uuid(String server) {
    return "0000000%s-0000-0000-0000-000000000000".formatted(server);
  }

  static GtidSet set(String text) {
    return GtidSet.parse(text.replaceAll("([a-f]):", "0000000$1-0000-0000-0000-000000000000:"));
  }

  /** Returns the last promotion of a set, such as {@code abc}. */
  static Promotion last(int acknowledging, String members) {
    return new Promotion(1, "a", uuid("a"), set("a:1"), 7, acknowledging, uuids(members));
  }

  private static Map<String, String> uuids(String members) {
    return Arrays.stream(members.split(""))
        .collect(Collectors.toMap((each) -> each, CandidacyTest::uuid));
  }

  /** Returns a final position of a server of the set abc; it is whole. */
  static Position position(String server, String received) {
    return position(server, uuid(server), received);
  }

  static Position position(String server, String uuid, String received) {
    return new Position(
        server,
        "agent-" + server,
        uuid,
        server.charAt(0),
        Set.of("a", "b", "c"),
        7,
        1,
        set(received),
        set("a:1"),
        "",
        false);
  }

  private static Position notFinal(Position position) {
    return position.finalIn(Position.MAY_RECEIVE, position.received());
  }

  private static Position with(
      Position position,
      String servers,
      long term,
      GtidSet proof,
      String refusal,
      boolean preferred) {
    return new Position(
        position.server(),
        position.agent(),
        position.uuid(),
        position.id(),
        Set.of(servers.split("")),
        position.finalIn(),
        term,
        position.received(),
        proof,
        refusal,
        preferred);
  }

  private static Position broken(Position position) {
    return with(position, "abc", 1, GtidSet.EMPTY, "", false);
  }

  private static Position preferred(Position position) {
    return with(position, "abc", 1, position.proof(), position.refusal(), true);
  }

  private static Position refused(Position position) {
    return with(position, "abc", 1, position.proof(), "it is unfit", position.preferred());
  }

  private static Snapshot snapshot(Promotion last, Position... positions) {
    Map<String, Position> known = new TreeMap<>();
    List.of(positions).forEach((each) -> known.put(each.server(), each));
    return new Snapshot(Optional.of(last), known, "");
  }

  private static Candidacy candidacy(String servers) {
    return new Candidacy(Set.of(servers.split("")), Duration.ofSeconds(2), Duration.ofSeconds(2));
  }

  private static Candidacy.Decision decide(int openFor, Position own, Position... others) {
    return candidacy("abc")
        .decide(snapshot(last(1, "abc"), others), own, Duration.ofSeconds(openFor));
  }

  private static String reason(Position own, Position... others) {
    Candidacy.Decision decision = decide(9, own, others);
    assertThat(decision.stands()).isFalse();
    assertThat(decision.turn().kind()).as(decision.turn().reason()).isEqualTo(Kind.ASIDE);
    return decision.turn().reason();
  }

  private final Position b = position("b", "a:1-10");
  private final Position c = position("c", "a:1-10");

  /**
   * The number of acknowledging replicas, for how long the election has been open, and the
   * positions; the first one decides. Those with a question mark are not whole, those with an
   * exclamation mark not final.
   */
  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      # it waits for positions, and then for enough of them
      1 | 0 | b a:1-10 | HOLD_BACK | 2
      1 | 1 | b a:1-10 | HOLD_BACK | 2
      1 | 2 | b a:1-10 | ASIDE | 0
      1 | 0 | b a:1-10; c! a:1-10 | HOLD_BACK | 2
      1 | 9 | b a:1-10; c! a:1-10 | ASIDE | 0
      1 | 9 | b a:1-10; c? a:1-10 | ASIDE | 0
      1 | 9 | b? a:1-10; c a:1-10 | ASIDE | 0
      2 | 2 | b a:1-10 | AT_ONCE | 0
      # the last source needs no others, and nobody waits
      1 | 0 | b a:1-10; a? a:1-9 | AT_ONCE | 0
      1 | 0 | b? a:1-10; a? a:1-9 | AT_ONCE | 0
      1 | 0 | b a:1-10; a! a:1-9 | HOLD_BACK | 2
      1 | 0 | a? a:1-10 | AT_ONCE | 0
      1 | 0 | b a:1-10; a? a:1-11 | HOLD_BACK | 4
      # the freshest stands at once, and others hold back
      1 | 0 | b a:1-10; c a:1-9 | AT_ONCE | 0
      1 | 0 | b a:1-10; c a:1-10 | AT_ONCE | 0
      1 | 0 | b a:1-10; c a:1-12 | HOLD_BACK | 4
      1 | 3 | b a:1-10; c a:1-12 | HOLD_BACK | 4
      1 | 4 | b a:1-10; c a:1-12 | ASIDE | 0
      2 | 0 | b a:1-10; c a:1-12 | HOLD_BACK | 4
      2 | 4 | b a:1-10; c a:1-12 | AT_ONCE | 0
      1 | 4 | b a:1-10; a? a:1-12; c a:1-9 | AT_ONCE | 0
      2 | 5 | b a:1-9; c a:1-12; a? a:1-12 | HOLD_BACK | 6
      # what a replica has written itself does not count, nor does one that did not follow
      1 | 0 | b a:1-10; c a:1-10,c:1-3 | AT_ONCE | 0
      1 | 0 | b a:1-10; c a:1-10,d:1 | HOLD_BACK | 4
      1 | 0 | b a:1-10; c a:1,d:1 | AT_ONCE | 0
      1 | 9 | b a:1,b:1; c a:1-10 | ASIDE | 0
      1 | 0 | b a:1-10,d:1; c a:1-11 | ASIDE | 0
      # a set without a transaction since the promotion
      1 | 0 | b a:1; c a:1 | AT_ONCE | 0
      """)
  void itStandsByThePositions(
      int acknowledging, int openFor, String positions, Kind kind, int seconds) {
    List<Position> known = Arrays.stream(positions.split("; "))
        .map((text) -> text.split(" "))
        .map((parts) -> {
          Position position = position(parts[0].substring(0, 1), parts[1]);
          return parts[0].endsWith("?")
              ? broken(position)
              : parts[0].endsWith("!") ? notFinal(position) : position;
        })
        .toList();
    Candidacy.Decision decision = candidacy("abc")
        .decide(
            snapshot(last(acknowledging, "abc"), known.toArray(Position[]::new)),
            known.get(0),
            Duration.ofSeconds(openFor));
    assertThat(decision.turn().kind()).as(decision.turn().reason()).isEqualTo(kind);
    assertThat(decision.turn().time()).isEqualTo(Duration.ofSeconds(seconds));
    assertThat(decision.stands()).isEqualTo(kind == Kind.AT_ONCE);
  }

  @Test
  void itNeverPassesOverAServerThatMayHaveMore() {
    String reason = reason(this.b, position("c", "a:1-12"));
    assertThat(reason)
        .contains("missing: [c]")
        .endsWith(
            "without [c], which are fresher but did not stand, acknowledged transactions might be lost");
    assertThat(reason(this.b)).contains("missing: [c]").doesNotContain("without");
  }

  @Test
  void theElectedServerDecidesOnceMore() {
    Promotion two = last(2, "abc");
    Candidacy candidacy = candidacy("abc");
    Position fresher = position("c", "a:1-11");
    Candidacy.Decision alone =
        candidacy.decide(snapshot(two, this.b), this.b, Duration.ofSeconds(2));
    assertThat(candidacy.confirm(snapshot(two, this.b, this.c), this.b, alone).stands())
        .isTrue();
    Candidacy.Decision now = candidacy.confirm(snapshot(two, this.b, fresher), this.b, alone);
    assertThat(now.stands()).isFalse();
    assertThat(now.turn().reason()).startsWith("fresher servers: [c]");
    // It was waited for.
    Candidacy.Decision passed =
        candidacy.decide(snapshot(two, this.b, fresher), this.b, Duration.ofSeconds(4));
    assertThat(passed.passedOver()).containsExactly("c");
    assertThat(candidacy.confirm(snapshot(two, this.b, fresher), this.b, passed).stands())
        .isTrue();
    // It has lost its relay log since.
    assertThat(candidacy
            .confirm(snapshot(two, broken(this.b)), broken(this.b), alone)
            .stands())
        .isFalse();
  }

  @Test
  void aPreferredServerGoesFirstIfItIsAsFresh() {
    Position preferred = preferred(this.c);
    Candidacy.Decision later = decide(0, this.b, preferred);
    assertThat(later.turn().reason()).isEqualTo("c is preferred");
    assertThat(later.turn().time()).isEqualTo(Duration.ofSeconds(4));
    assertThat(decide(4, this.b, preferred).stands()).isTrue();
    assertThat(decide(0, preferred, this.b).stands()).isTrue();
    assertThat(decide(0, preferred(this.b), preferred).stands()).isTrue();
    assertThat(decide(0, this.b, preferred(position("c", "a:1-9"))).stands()).isTrue();
    assertThat(decide(0, this.b, refused(preferred)).stands()).isTrue();
    assertThat(decide(0, this.b, notFinal(preferred), position("a", "a:1-10")).stands())
        .isTrue();
  }

  /** The last source had a:1 when it was promoted, and c may have acknowledged more. */
  @ParameterizedTest
  @CsvSource({
    "d, 'a:1-20', 'the name of the last source, but the server_uuid 0000000d'",
    "a, '', its GTIDs were reset",
    "a, 'a:2-20', its GTIDs were reset"
  })
  void aServerUnderTheNameOfTheLastSourceCountsOnlyIfItHasItsData(
      String uuid, String received, String reason) {
    Position wrong = position("a", uuid(uuid), received);
    assertThat(reason(this.b, wrong)).contains("missing: [c]");
    assertThat(reason(wrong, this.b)).contains(reason);
  }

  @Test
  void aServerThatIsNotRecordedNeitherStandsNorCounts() {
    Position other = position("c", uuid("d"), "a:1-12");
    assertThat(reason(other, this.b))
        .contains("has recorded " + uuid("c") + " under its name", uuid("d"));
    assertThat(reason(this.b, position("c", uuid("d"), "a:1-10"))).contains("not counted", "[c]");
    Snapshot ab = snapshot(last(1, "ab"), this.c);
    assertThat(candidacy("abc").decide(ab, this.b, Duration.ZERO).stands()).isTrue();
    assertThat(candidacy("abc").decide(ab, this.c, Duration.ZERO).turn().reason())
        .contains("has recorded no server under its name");
    // The last source is recorded.
    Position a = position("a", "a:1-9");
    assertThat(candidacy("abc").decide(snapshot(last(1, "b")), a, Duration.ZERO).stands())
        .isTrue();
  }

  @Test
  void aServerThatAnOperatorRemovedIsNotWaitedFor() {
    Position b = with(this.b, "bc", 1, this.b.proof(), "", false);
    Position c = with(this.c, "bc", 1, this.c.proof(), "", false);
    Candidacy two = candidacy("bc");
    assertThat(two.decide(snapshot(last(1, "abcd"), c), b, Duration.ZERO).stands())
        .isTrue();
    assertThat(two.decide(snapshot(last(1, "abcd")), b, Duration.ofSeconds(9)).stands())
        .isFalse();
    // The last source still has all that it acknowledged.
    Position a = position("a", "a:1-9");
    assertThat(two.decide(snapshot(last(1, "abcd"), a), b, Duration.ZERO).stands())
        .isTrue();
    // A position of a server that is not a member says nothing.
    Position d = with(position("d", "a:1-10"), "bc", 1, set("a:1"), "", false);
    assertThat(
            two.decide(snapshot(last(1, "abcd"), d), b, Duration.ofSeconds(9)).stands())
        .isFalse();
  }

  @Test
  void itStandsAsideForEachContradiction() {
    Snapshot paused = new Snapshot(Optional.of(last(1, "abc")), Map.of("c", this.c), "maintenance");
    assertThat(candidacy("abc").decide(paused, this.b, Duration.ZERO).turn())
        .extracting(io.election.lease.Precedence.Turn::reason)
        .isEqualTo("failover is paused: maintenance");
    Snapshot none = new Snapshot(Optional.empty(), Map.of("c", this.c), "");
    assertThat(candidacy("abc").decide(none, this.b, Duration.ZERO).turn().reason())
        .startsWith("no promotion was ever recorded: POST /initialize");
    assertThat(reason(refused(this.b), this.c)).isEqualTo("it is unfit");
    assertThat(reason(this.b, position("c", uuid("b"), "a:1-9")))
        .contains("c has the same server_uuid");
    assertThat(decide(9, this.b, this.c, position("b", uuid("b"), "a:1-9")).stands())
        .as("its own earlier position")
        .isTrue();
    Position sameId = new Position(
        "c", "x", uuid("c"), 'b', Set.of("a", "b", "c"), 7, 1, set("a:1"), set("a:1"), "", false);
    assertThat(reason(this.b, sameId)).contains("c has the same server_id as this server, 98");
    assertThat(reason(this.b, with(this.c, "abc", 2, set("a:1"), "", false)))
        .contains("the data of c are of term 2, but the record of promotions says 1");
    assertThat(reason(with(this.b, "abc", 2, set("a:1"), "", false), this.c))
        .contains("the data of b are of term 2");
    assertThat(reason(this.b, with(this.c, "abx", 1, set("a:1"), "", false)))
        .isEqualTo(
            "the agent of c has as.failover.servers=[a, b, x], and this one [a, b, c]: give all agents the same list");
    Position stranger = with(position("x", "a:1-10"), "abx", 1, set("a:1"), "", false);
    assertThat(decide(0, this.b, this.c, stranger).stands())
        .as("of another set")
        .isTrue();
    Position earlier = with(this.b, "ab", 1, set("a:1"), "", false);
    assertThat(decide(0, this.b, this.c, earlier).stands())
        .as("its earlier list")
        .isTrue();
  }

  /** Nobody counts a position from before the last promotion. */
  @Test
  void aPositionOfAnEarlierTermDoesNotCount() {
    assertThat(reason(this.b, this.c.finalIn(6, this.c.received()))).contains("missing: [c]");
  }

  @Test
  void itSaysWhetherAFailoverWouldWork() {
    Candidacy candidacy = candidacy("abc");
    Snapshot good = snapshot(
        last(1, "abc"), notFinal(position("a", "a:1-20")), notFinal(this.b), notFinal(this.c));
    assertThat(candidacy.wouldFail(good, Set.of("a", "b", "c"))).isEmpty();
    assertThat(candidacy.wouldFail(good, Set.of("a", "b")))
        .startsWith("{b=")
        .contains("missing: [c]");
    assertThat(candidacy.wouldFail(good, Set.of("a")))
        .isEqualTo("no agent of a replica has published a position");
    assertThat(candidacy.wouldFail(new Snapshot(Optional.empty(), Map.of(), ""), Set.of("b")))
        .isEqualTo("no promotion was ever recorded");
    Snapshot behind = snapshot(last(1, "abc"), position("b", "a:1-3"), notFinal(this.c));
    assertThat(candidacy.wouldFail(behind, Set.of("b", "c"))).isEmpty();
    Snapshot refused = snapshot(last(1, "abc"), refused(this.b), broken(this.c));
    assertThat(candidacy.wouldFail(refused, Set.of("b", "c")))
        .contains("b=it is unfit", "c=", "not counted");
    assertThat(candidacy.wouldFail(
            new Snapshot(good.last(), good.positions(), "tests"), Set.of("a", "b", "c")))
        .contains("paused");
  }
}
