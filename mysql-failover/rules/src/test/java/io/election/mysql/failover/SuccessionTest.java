package io.election.mysql.failover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.mysql.failover.Succession.Kind;
import io.election.mysql.failover.Succession.Position;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Which server replaces the source a. Server a has the transactions {@code A:…}, and so on. */
class SuccessionTest {

  static GtidSet set(String text) {
    return GtidSet.parse(text.replaceAll("([A-D]):", "0000000$1-0000-0000-0000-000000000000:"));
  }

  /** Returns positions from texts such as {@code b A:1-9}; with {@code b? A:1-9}, it is not whole. */
  private static List<Position> positions(String... texts) {
    return Stream.of(texts)
        .map((text) -> text.split(" ", 2))
        .map((parts) -> new Position(
            parts[0].substring(0, 1), set(parts.length > 1 ? parts[1] : ""), parts[0].length() < 2))
        .toList();
  }

  private static Succession succession(String members, int acknowledging) {
    return new Succession(Set.of(members.split("")), "a", acknowledging);
  }

  /** The set, the number of acknowledging replicas, and the positions; the first one decides. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      # the tables of the design: c is the freshest replica; then c is late, so only b is known
      abc | 1 | c A:1-20; b A:1-18 | FRESHEST | []
      abc | 1 | b A:1-18; c A:1-20 | FRESHER_EXIST | [c]
      abc | 1 | b A:1-20; c A:1-20 | FRESHEST | []
      abc | 1 | b A:1-9 | TOO_FEW | [c]
      abc | 2 | b A:1-9 | FRESHEST | []
      # the last source has every transaction that it acknowledged, whole or not
      abc | 1 | a A:1-10 | FRESHEST | []
      abc | 1 | a? A:1-10; b? A:1-9 | FRESHEST | []
      abc | 1 | b A:1-9; a A:1-10 | FRESHER_EXIST | [a]
      # R - w + 1 replicas are needed
      abcde | 1 | b A:1; c A:1; d A:1 | TOO_FEW | [e]
      abcde | 2 | b A:1; c A:1 | TOO_FEW | [d, e]
      abcde | 2 | b A:1; c A:1; d A:1 | FRESHEST | []
      abcde | 4 | b A:1 | FRESHEST | []
      abcde | 5 | b A:1 | FRESHEST | []
      # those that may lack what they acknowledged do not count
      abc | 1 | c A:1-9; b? A:1-9 | TOO_FEW | [b]
      abc | 1 | b? A:1-9; c A:1-9 | TOO_FEW | [b]
      abc | 2 | c A:1-9; b? A:1-9 | FRESHEST | []
      abc | 2 | b? A:1-9 | TOO_FEW | [b, c]
      abc | 2 | b? A:1-10; c A:1-9 | FRESHEST | []
      abc | 2 | c A:1-9; b? A:1-10 | FRESHER_EXIST | [b]
      # an operator has removed the last source: all other servers were its replicas
      bc | 1 | b A:1-9 | TOO_FEW | [c]
      bc | 1 | b A:1-9; c A:1-9 | FRESHEST | []
      bc | 1 | b A:1-9; c A:1-10 | FRESHER_EXIST | [c]
      # each has more than the other: nobody wins
      abc | 1 | b A:1-9,B:1; c A:1-10 | INCOMPARABLE | [b, c]
      abc | 1 | b B:1-9; c C:1-10 | INCOMPARABLE | [b, c]
      abcd | 1 | b A:1-18; c A:1-20; d A:1-18,B:1 | INCOMPARABLE | [c, d]
      abcd | 1 | b A:1-18; c A:1-20; d A:1-18,B:1; a A:1-20,B:1 | INCOMPARABLE | [c, d]
      abcd | 1 | a A:1-20,B:1; b A:1-18; c A:1-20; d A:1-18,B:1 | FRESHEST | []
      # a new set
      abc | 1 | b; c | FRESHEST | []
      abc | 1 | b; c A:1 | FRESHER_EXIST | [c]
      """)
  void theFreshestGoesFirst(
      String members, int acknowledging, String positions, Kind kind, String others) {
    List<Position> known = positions(positions.split("; "));
    Succession.Verdict verdict =
        succession(members, acknowledging).decide(known.get(0).server(), known);
    assertThat(verdict.kind()).as(verdict.reason()).isEqualTo(kind);
    assertThat(verdict.others())
        .containsExactlyInAnyOrderElementsOf(
            List.of(others.replaceAll("[\\[\\] ]", "").split(",")).stream()
                .filter((each) -> !each.isEmpty())
                .toList());
    assertThat(verdict.reason().isEmpty()).isEqualTo(kind == Kind.FRESHEST);
  }

  @Test
  void theReasonNamesTheServersAndWhatTheyLack() {
    Succession three = succession("abc", 1);
    assertThat(three.decide("b", positions("b A:1-9")).reason())
        .isEqualTo(
            "the positions of 2 replicas are needed, or that of the last source a; missing: [c]");
    assertThat(three.decide("b", positions("b A:1-9", "c? A:1-9")).reason())
        .endsWith("missing: []; not counted, since they may lack acknowledged transactions: [c]");
    assertThat(three.decide("b", positions("b A:1-9,B:1", "c A:1-10")).reason())
        .matches("b has .*B-.*:1, which c lacks, and c has .*A-.*:10, which b lacks; .*"
            .replace("B-", "b-")
            .replace("A-", "a-"));
    assertThat(three.decide("b", positions("b A:1-9", "c A:1-12")).reason())
        .matches("fresher servers: \\[c]; this server lacks .*a-.*:10-12");
  }

  @Test
  void theNumbersFollowFromTheMembers() {
    assertThat(succession("abcde", 1).needed()).isEqualTo(4);
    assertThat(succession("abcde", 4).needed()).isEqualTo(1);
    assertThat(succession("bc", 1).needed()).isEqualTo(2);
    assertThat(succession("ab", 2).needed()).isEqualTo(1);
    assertThat(succession("abc", 1).missing(positions("b A:1"))).containsExactly("c");
    assertThatThrownBy(() -> succession("ab", 0))
        .hasMessage("0 replicas acknowledge, but at least 1 must");
  }

  /**
   * Replicas receive in order, so each has a prefix of what the source wrote. A transaction is
   * acknowledged once enough replicas have it.
   */
  @Test
  void theFreshestHasAllThatWasAcknowledged() {
    SplittableRandom random = new SplittableRandom(1);
    List<String> names = List.of("a", "b", "c", "d", "e", "f");
    int[] kinds = new int[Kind.values().length];
    for (int i = 0; i < 20_000; i++) {
      int replicas = random.nextInt(1, names.size());
      int acknowledging = random.nextInt(1, replicas + 1);
      Succession succession =
          new Succession(Set.copyOf(names.subList(0, replicas + 1)), "a", acknowledging);
      List<Integer> received = new ArrayList<>();
      List<Position> known = new ArrayList<>();
      for (String name : names.subList(1, replicas + 1)) {
        int last = random.nextInt(1, 6);
        received.add(last);
        switch (random.nextInt(5)) {
          case 0 -> {} // its position is not known
          case 1 -> known.add(new Position(name, set("A:1-" + random.nextInt(1, last + 1)), false));
          default -> known.add(new Position(name, set("A:1-" + last), true));
        }
      }
      received.sort(Comparator.reverseOrder());
      GtidSet acknowledged = set("A:1-" + received.get(acknowledging - 1));
      boolean enough =
          known.stream().filter(Position::whole).count() >= replicas - acknowledging + 1;
      for (Position own : known) {
        Kind kind = succession.decide(own.server(), known).kind();
        kinds[kind.ordinal()]++;
        assertThat(kind == Kind.TOO_FEW).isEqualTo(!enough);
        if (kind == Kind.FRESHEST) {
          assertThat(own.received().contains(acknowledged)).isTrue();
        }
      }
      if (enough) {
        assertThat(known)
            .anyMatch((own) -> succession.decide(own.server(), known).kind() == Kind.FRESHEST);
      }
    }
    assertThat(kinds[Kind.FRESHEST.ordinal()]).isGreaterThan(5_000);
    assertThat(kinds[Kind.FRESHER_EXIST.ordinal()]).isGreaterThan(5_000);
    assertThat(kinds[Kind.TOO_FEW.ordinal()]).isGreaterThan(5_000);
    assertThat(kinds[Kind.INCOMPARABLE.ordinal()]).isZero();
  }

  /** Arbitrary positions. */
  @Test
  void onlyWhoHasAllStandsAtOnceAndOthersOnlyBehindAChain() {
    SplittableRandom random = new SplittableRandom(2);
    Succession succession = succession("abcd", 1);
    for (int i = 0; i < 20_000; i++) {
      List<Position> known = new ArrayList<>();
      for (String name : List.of("b", "c", "d")) {
        known.add(new Position(name, RandomSets.draw(random), true));
      }
      boolean chain = known.stream()
          .allMatch((one) -> known.stream()
              .allMatch((other) -> one.received().contains(other.received())
                  || other.received().contains(one.received())));
      for (Position own : known) {
        boolean all = known.stream().allMatch((each) -> own.received().contains(each.received()));
        assertThat(succession.decide(own.server(), known).kind())
            .isEqualTo(all ? Kind.FRESHEST : chain ? Kind.FRESHER_EXIST : Kind.INCOMPARABLE);
      }
    }
  }
}
