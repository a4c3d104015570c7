package io.election.mysql.failover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.election.mysql.failover.Succession.Kind;
import io.election.mysql.failover.Succession.Position;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Which server replaces a source. Server A has the transactions {@code A:…}, and so on. */
class SuccessionTest {

  private final Succession three = new Succession(Set.of("a", "b", "c"), "a", 1);

  static GtidSet set(String text) {
    return GtidSet.parse(text.replaceAll("([A-D]):", "0000000$1-0000-0000-0000-000000000000:"));
  }

  private static List<Position> positions(String... texts) {
    return Stream.of(texts)
        .map((text) -> text.split(" ", 2))
        .map((parts) -> new Position(parts[0], set(parts[1])))
        .toList();
  }

  private static Kind kind(Succession succession, String own, String... others) {
    return succession.decide(positions(own).get(0), positions(others)).kind();
  }

  /** The first table of the design: A is the source, C is the freshest replica. */
  @Test
  void theFreshestReplicaGoesFirst() {
    assertThat(kind(this.three, "c A:1-20", "b A:1-18")).isEqualTo(Kind.FRESHEST);
    assertThat(kind(this.three, "b A:1-18", "c A:1-20")).isEqualTo(Kind.FRESHER_EXIST);
    assertThat(this.three
            .decide(positions("b A:1-18").get(0), positions("c A:1-20"))
            .others())
        .containsExactly("c");
    assertThat(kind(this.three, "b A:1-20", "c A:1-20")).isEqualTo(Kind.FRESHEST);
  }

  /** The second table: C is late, so only B is known. */
  @Test
  void aServerThatIsLateIsWaitedForIfItMayHaveMore() {
    Succession.Verdict verdict = this.three.decide(positions("b A:1-9").get(0), List.of());
    assertThat(verdict.kind()).isEqualTo(Kind.TOO_FEW);
    assertThat(verdict.others()).containsExactly("c");
    assertThat(verdict.reason()).contains("2 replicas are needed", "last source a", "[c]");
    // With two acknowledging replicas, each has every acknowledged transaction.
    assertThat(kind(new Succession(Set.of("a", "b", "c"), "a", 2), "b A:1-9"))
        .isEqualTo(Kind.FRESHEST);
    // The last source has every transaction that it acknowledged.
    assertThat(kind(this.three, "a A:1-10", "a A:1-10")).isEqualTo(Kind.FRESHEST);
    assertThat(kind(this.three, "b A:1-9", "a A:1-10")).isEqualTo(Kind.FRESHER_EXIST);
  }

  @Test
  void asManyPositionsAreNeededAsHoldEachAcknowledgedTransaction() {
    Set<String> five = Set.of("a", "b", "c", "d", "e");
    assertThat(new Succession(five, "a", 0).needed()).isEqualTo(4);
    assertThat(new Succession(five, "a", 1).needed()).isEqualTo(4);
    assertThat(new Succession(five, "a", 2).needed()).isEqualTo(3);
    assertThat(new Succession(five, "a", 4).needed()).isEqualTo(1);
    assertThat(kind(new Succession(five, "a", 2), "b A:1", "c A:1")).isEqualTo(Kind.TOO_FEW);
    assertThat(kind(new Succession(five, "a", 2), "b A:1", "c A:1", "d A:1"))
        .isEqualTo(Kind.FRESHEST);
  }

  /** When it was killed, it lost the transactions that it had received but not applied. */
  @Test
  void aServerThatMayLackWhatItHasAcknowledgedDoesNotCount() {
    Position killed = new Position("b", set("A:1-9"), false);
    Position other = positions("c A:1-9").get(0);
    Succession.Verdict verdict = this.three.decide(other, List.of(killed));
    assertThat(verdict.kind()).isEqualTo(Kind.TOO_FEW);
    assertThat(verdict.others()).containsExactly("b");
    assertThat(verdict.reason()).contains("missing: []", "lacking acknowledged transactions: [b]");
    assertThat(this.three.decide(killed, List.of(other)).kind()).isEqualTo(Kind.TOO_FEW);
    Succession both = new Succession(Set.of("a", "b", "c"), "a", 2);
    assertThat(both.decide(other, List.of(killed)).kind()).isEqualTo(Kind.FRESHEST);
    assertThat(both.decide(killed, List.of()).kind()).isEqualTo(Kind.TOO_FEW);
    // It may still be the freshest server.
    Position fresher = new Position("b", set("A:1-10"), false);
    assertThat(both.decide(fresher, List.of(other)).kind()).isEqualTo(Kind.FRESHEST);
    // The last source has written every transaction that it acknowledged.
    Position source = new Position("a", set("A:1-10"), false);
    assertThat(this.three.decide(source, List.of(killed)).kind()).isEqualTo(Kind.FRESHEST);
    // Replicas acknowledged nothing, or those that acknowledged did not include this one.
    Succession none = new Succession(Set.of("a", "b", "c"), "a", 0);
    assertThat(none.decide(other, List.of(killed)).kind()).isEqualTo(Kind.FRESHEST);
  }

  /**
   * A is the last source, promoted when it had A:1-8. B was killed, and has lost all that it had
   * acknowledged to A.
   */
  @Test
  void aServerThatHasNothingOfTheLastSourceMayHaveAcknowledgedToIt() {
    Position killed = new Position("b", set("A:1-8"), false);
    for (String other : List.of("c A:1-9", "c A:1-8")) {
      List<Position> followers = this.three.ofFollowers(
          List.of(killed, positions(other).get(0)),
          "0000000A-0000-0000-0000-000000000000",
          set("A:1-8"));
      Succession.Verdict verdict = this.three.decide(followers.get(1), followers);
      assertThat(verdict.kind()).as(other).isEqualTo(Kind.TOO_FEW);
      assertThat(verdict.reason()).contains("lacking acknowledged transactions: [b]");
    }
  }

  /** An operator has removed the last source from the set: all other servers were its replicas. */
  @Test
  void aLastSourceThatWasTakenOutIsNotNeeded() {
    Succession left = new Succession(Set.of("b", "c"), "a", 1);
    assertThat(left.needed()).isEqualTo(2);
    assertThat(left.missing(positions("b A:1-9"))).containsExactly("c");
    assertThat(kind(left, "b A:1-9")).isEqualTo(Kind.TOO_FEW);
    assertThat(kind(left, "b A:1-9", "a A:1-10")).isEqualTo(Kind.TOO_FEW);
    assertThat(kind(left, "b A:1-9", "c A:1-9")).isEqualTo(Kind.FRESHEST);
    assertThat(kind(left, "b A:1-9", "c A:1-10")).isEqualTo(Kind.FRESHER_EXIST);
  }

  @Test
  void serversOfWhichEachHasMoreNeverWinByThemselves() {
    assertThat(kind(this.three, "b A:1-9,B:1", "c A:1-10")).isEqualTo(Kind.INCOMPARABLE);
    assertThat(kind(this.three, "c A:1-10", "b A:1-9,B:1")).isEqualTo(Kind.INCOMPARABLE);
    assertThat(kind(this.three, "b B:1-9", "c C:1-10")).isEqualTo(Kind.INCOMPARABLE);
  }

  @Test
  void nobodyGoesPastTwoFresherServersThatAreIncomparable() {
    Succession four = new Succession(Set.of("a", "b", "c", "d"), "a", 1);
    Succession.Verdict verdict =
        four.decide(positions("b A:1-18").get(0), positions("c A:1-20", "d A:1-18,B:1"));
    assertThat(verdict.kind()).isEqualTo(Kind.INCOMPARABLE);
    assertThat(verdict.others()).containsExactlyInAnyOrder("c", "d");
    assertThat(verdict.reason())
        .matches("c has .*a-.*:19-20, which d lacks, and d has .*b-.*:1, which c lacks; .*");
    // Not even if one server has all transactions, since it may be gone.
    assertThat(kind(four, "b A:1-18", "c A:1-20", "d A:1-18,B:1", "a A:1-20,B:1"))
        .isEqualTo(Kind.INCOMPARABLE);
    assertThat(kind(four, "a A:1-20,B:1", "b A:1-18", "c A:1-20", "d A:1-18,B:1"))
        .isEqualTo(Kind.FRESHEST);
  }

  @Test
  void theReasonNamesBothServersAndWhatEachLacks() {
    Succession.Verdict verdict =
        this.three.decide(positions("b A:1-9,B:1").get(0), positions("c A:1-10"));
    assertThat(verdict.others()).containsExactly("c");
    assertThat(verdict.reason())
        .matches("b has .*b-.*:1, which c lacks, and c has .*a-.*:10, which b lacks; .*");
    assertThat(this.three
            .decide(positions("b A:1-9").get(0), positions("c A:1-12"))
            .reason())
        .matches("fresher servers: \\[c]; this server lacks .*a-.*:10-12");
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
        received.add(random.nextInt(1, 6));
        if (random.nextInt(4) > 0) {
          known.addAll(positions(name + " A:1-" + received.get(received.size() - 1)));
        }
      }
      received.sort(Comparator.reverseOrder());
      GtidSet acknowledged = set("A:1-" + received.get(acknowledging - 1));
      boolean enough = known.size() >= replicas - acknowledging + 1;
      for (Position own : known) {
        Kind kind = succession.decide(own, known).kind();
        kinds[kind.ordinal()]++;
        assertThat(kind == Kind.TOO_FEW).isEqualTo(!enough);
        if (kind == Kind.FRESHEST) {
          assertThat(own.received().contains(acknowledged)).isTrue();
        }
      }
      if (enough) {
        assertThat(known).anyMatch((own) -> succession.decide(own, known).kind() == Kind.FRESHEST);
      }
    }
    assertThat(kinds[Kind.FRESHEST.ordinal()]).isGreaterThan(10_000);
    assertThat(kinds[Kind.FRESHER_EXIST.ordinal()]).isGreaterThan(10_000);
    assertThat(kinds[Kind.TOO_FEW.ordinal()]).isGreaterThan(5_000);
    assertThat(kinds[Kind.INCOMPARABLE.ordinal()]).isZero();
  }

  /** Arbitrary positions, in any order. */
  @Test
  void onlyWhoHasAllStandsAtOnceAndOthersOnlyBehindAChain() {
    SplittableRandom random = new SplittableRandom(2);
    for (int i = 0; i < 20_000; i++) {
      List<Position> known = new ArrayList<>();
      for (String name : List.of("b", "c", "d")) {
        known.add(new Position(name, RandomSets.draw(random)));
      }
      Succession succession = new Succession(Set.of("a", "b", "c", "d"), "a", 1);
      boolean chain = known.stream()
          .allMatch((one) -> known.stream()
              .allMatch((other) -> one.received().contains(other.received())
                  || other.received().contains(one.received())));
      for (Position own : known) {
        boolean all = known.stream().allMatch((each) -> own.received().contains(each.received()));
        Kind expected = own.received().isEmpty()
            ? Kind.INCOMPARABLE
            : all ? Kind.FRESHEST : chain ? Kind.FRESHER_EXIST : Kind.INCOMPARABLE;
        assertThat(succession.decide(own, known).kind()).isEqualTo(expected);
        Collections.reverse(known);
      }
    }
  }

  @Test
  void nobodyIsPromotedWithoutTransactionsOrByStrangers() {
    assertThat(kind(this.three, "b ", "c ")).isEqualTo(Kind.INCOMPARABLE);
    assertThat(kind(this.three, "b ", "c A:1")).isEqualTo(Kind.INCOMPARABLE);
    assertThat(this.three.decide(positions("b ").get(0), positions("c A:1")).reason())
        .startsWith("this server has no transaction that counts");
    assertThat(kind(this.three, "a ", "b ")).isEqualTo(Kind.FRESHEST);
    assertThat(kind(this.three, "a ", "b A:1")).isEqualTo(Kind.FRESHER_EXIST);
    assertThat(kind(this.three, "b A:1", "c A:1", "x A:1-9")).isEqualTo(Kind.FRESHEST);
    assertThatThrownBy(() -> kind(this.three, "x A:1-9", "b A:1", "c A:1"))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("x is not one of the servers");
    assertThat(kind(this.three, "b A:1", "x A:1")).isEqualTo(Kind.TOO_FEW);
    assertThatThrownBy(() -> new Succession(Set.of("a", "b"), "a", 2))
        .hasMessageContaining("2 replicas acknowledge");
  }

  /** A is the last source, promoted when it had A:1-5; only B has received from it since. */
  @Test
  void aReplicaThatDidNotFollowTheLastSourceCountsForNothing() {
    String a = "0000000A-0000-0000-0000-000000000000";
    List<Position> all = positions("b A:1-9", "c A:1-5,C:1", "d A:1-4,A:8");
    assertThat(this.three.ofFollowers(all, a, set("A:1-5")))
        .isEqualTo(positions("b A:1-9", "c ", "d A:1-4,A:8"));
    // If no server has followed, all count, but for what the last source lacks, if it is known.
    List<Position> nobody = positions("b A:1-5", "c A:1-5,C:1");
    assertThat(this.three.ofFollowers(nobody, a, set("A:1-5"))).isEqualTo(nobody);
    assertThat(
            this.three.ofFollowers(positions("a A:1-6", "b A:1-3,B:1", "c C:1"), a, set("A:1-5")))
        .isEqualTo(positions("a A:1-6", "b A:1-3", "c "));
    assertThat(this.three.ofFollowers(positions("a A:1-5", "b A:1-9"), a, set("A:1-5")))
        .isEqualTo(positions("a A:1-5", "b A:1-9"));
    assertThat(this.three.ofFollowers(positions("a A:1-9", "b A:1-5"), a, set("A:1-5")))
        .isEqualTo(positions("a A:1-9", "b A:1-5"));
  }
}
