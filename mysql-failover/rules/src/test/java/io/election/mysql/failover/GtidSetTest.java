package io.election.mysql.failover;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.Locale;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class GtidSetTest {

  private static final String A = "3e11fa47-71ca-11e1-9e33-c80aa9429562";

  private static final String B = "4e11fa47-71ca-11e1-9e33-c80aa9429562";

  private static GtidSet set(String text) {
    return GtidSet.parse(text.replace("A", A).replace("B", B));
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      A:1-5 | A:1-5
      A:5:3-4:1-2 | A:1-5
      A:1:3 | A:1:3
      B:1,A:2 | A:2,B:1
      A:1-3,A:3-9:11 | A:1-9:11
      A:tag:1-5:7:other:2:1 | A:other:1-2:tag:1-5:7
      A:1:tag:1 | A:1:tag:1
      A:TOG_1:9223372036854775806 | A:tog_1:9223372036854775806
      ' A:1 - 5 , B:7' | A:1-5,B:7
      , | ''
      A:1-9:20-30,A:5-25 | A:1-30
      ' A : tag : 1 : 3 ' | A:tag:1:3
      """)
  void isPrintedInItsNormalForm(String text, String normal) {
    assertThat(set(text)).hasToString(set(normal).toString());
    assertThat(set(text).toString()).isEqualTo(normal.replace("A", A).replace("B", B));
    assertThat(set(set(text).toString())).isEqualTo(set(text)).hasSameHashCodeAs(set(text));
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "A",
        "A:0",
        "A:5-3",
        "A:9223372036854775807",
        "A:99999999999999999999",
        "A:1-2-3",
        "A:tag",
        "A:tag:other:1",
        "A::1",
        "A:-1",
        "A:9tag:1",
        "A:1 2",
        "A:1-2 3",
        "A:ta g:1",
        "A:ta\u212a:1",
        "A:x23456789012345678901234567890123:1",
        "A B:1",
        "server:1-5",
        "null"
      })
  void whatIsNoSetIsRefused(String text) {
    assertThatThrownBy(() -> set(text))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("is not a GTID set");
  }

  @Test
  void setsArePartiallyOrdered() {
    assertThat(set("A:1-20").contains(set("A:1-18"))).isTrue();
    assertThat(set("A:1-18").contains(set("A:1-20"))).isFalse();
    assertThat(set("A:1-20").contains(set("A:1-18,B:1"))).isFalse();
    assertThat(set("A:1-18,B:1").contains(set("A:1-20"))).isFalse();
    assertThat(set("A:1").contains(set("A:tag:1"))).isFalse();
    assertThat(set("A:1").contains(GtidSet.EMPTY)).isTrue();
    assertThat(set("A:1-20").subtract(set("A:3-4:18-30"))).isEqualTo(set("A:1-2:5-17"));
    assertThat(set("A:1-20").subtract(set("A:1-20,B:1")).isEmpty()).isTrue();
    assertThat(set("A:1-3:7").union(set("A:4-6:9,B:1"))).isEqualTo(set("A:1-7:9,B:1"));
  }

  @Test
  void isReadAsTheServerPrintsIt() {
    assertThat(GtidSet.parse("%s:1-5:8:tag:3,\n%s:1\n".formatted(A, B)))
        .isEqualTo(set("A:1-5:8,A:tag:3,B:1"));
    assertThat(GtidSet.parse("")).isEqualTo(GtidSet.EMPTY);
  }

  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      A:1-20 | A:1-20 | ''
      A:5-10 | A:1-20 | ''
      A:1-20 | A:5-10 | A:1-4:11-20
      A:1-20 | A:1:20 | A:2-19
      A:1-20 | A:1-3:18-25 | A:4-17
      A:1-5:8-12:20 | A:4-9:12-30 | A:1-3:10-11
      A:1-5:8-12:20 | A:6-7:13-19 | A:1-5:8-12:20
      A:10 | A:1-9:11-20 | A:10
      A:1-9223372036854775806 | A:2-9223372036854775806 | A:1
      A:1-3 | A:tag:1-3,B:1-3 | A:1-3
      """)
  void whatAnotherSetLacksIsLeft(String from, String cut, String left) {
    assertThat(set(from).subtract(set(cut))).isEqualTo(set(left));
  }

  @Test
  void hasTheTransactionsOfOneOrigin() {
    GtidSet all = set("A:1-3:tag:7,B:1");
    assertThat(all.ofOrigin(A.toUpperCase(Locale.ROOT))).isEqualTo(set("A:1-3:tag:7"));
    assertThat(all.ofOrigin(B)).isEqualTo(set("B:1"));
    assertThat(all.ofOrigin("")).isEqualTo(GtidSet.EMPTY);
  }

  @Test
  void givesOneOfItsTransactions() {
    assertThat(set("A:3-9,B:1").any()).isEqualTo(set("A:3"));
    assertThat(GtidSet.EMPTY.any()).isEqualTo(GtidSet.EMPTY);
  }

  /** The laws of sets, on random sets. */
  @Test
  void theLawsOfSetsHold() {
    SplittableRandom random = new SplittableRandom(1);
    for (int i = 0; i < 5_000; i++) {
      GtidSet a = RandomSets.draw(random);
      GtidSet b = RandomSets.draw(random);
      GtidSet union = a.union(b);
      GtidSet both = a.subtract(a.subtract(b));
      assertThat(union).isEqualTo(b.union(a));
      assertThat(union.contains(a) && union.contains(b)).isTrue();
      assertThat(both).isEqualTo(b.subtract(b.subtract(a))).isEqualTo(a.intersect(b));
      assertThat(a.subtract(b).union(both)).isEqualTo(a);
      assertThat(a.subtract(b).subtract(b)).isEqualTo(a.subtract(b));
      assertThat(a.contains(b)).isEqualTo(union.equals(a));
      assertThat(GtidSet.parse(a.toString())).isEqualTo(a);
    }
  }
}
