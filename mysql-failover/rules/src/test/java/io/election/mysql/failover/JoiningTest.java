package io.election.mysql.failover;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class JoiningTest {

  private static String decide(
      long localTerm, String own, long globalTerm, String promotedAt, String source) {
    return Joining.refusal(
        localTerm,
        SuccessionTest.set(own),
        globalTerm,
        SuccessionTest.set(promotedAt),
        SuccessionTest.set(source));
  }

  /** The tables of the design, and each rule. */
  @ParameterizedTest
  @CsvSource(delimiter = '|', textBlock = """
      0 | '' | 3 | A:1-9 | A:1-9,B:1-10 | true |
      0 | A:1-5 | 3 | A:1-9 | A:1-9,B:1-10 | true |
      3 | A:1-9,B:1-4 | 3 | A:1-9 | A:1-9,B:1-10 | true |
      2 | A:1-9 | 3 | A:1-9 | A:1-9,B:1-10 | true |
      1 | A:1-10 | 2 | A:1-9 | A:1-9,B:1-10 | false | A:10
      1 | A:1-10 | 3 | A:1-9,B:1-10 | A:1-9,B:1-10,D:1-10 | false | A:10
      1 | A:1-9 | 3 | A:1-9,B:1-10 | A:1-9,B:1-10,D:1-10 | false |
      1 | A:1-9,B:1-10 | 2 | A:1-9 | A:1-9,B:1-10 | false | B:1-10
      3 | A:1-9,D:1 | 3 | A:1-9 | A:1-9,B:1-10 | false | D:1
      0 | D:1 | 3 | A:1-9 | A:1-9,B:1-10 | false | D:1
      4 | A:1-9 | 3 | A:1-9 | A:1-9,B:1-10 | false |
      0 | A:1-9 | 1 | A:1-9 | A:1-9,B:1-10 | true |
      1 | A:1-9,B:1 | 1 | A:1-9 | A:1-9,B:1-10 | true |
      0 | '' | 0 | A:1-9 | A:1-9,B:1-10 | false |
      -1 | A:1-9 | 0 | A:1-9 | A:1-9,B:1-10 | false |
      -1 | A:1-9 | 3 | A:1-9 | A:1-9,B:1-10 | false |
      0 | '' | 3 | A:1-9 | A:1-8,B:1-10 | false |
      3 | A:1-8 | 3 | A:1-9 | A:1-8 | false |
      3 | '' | 3 | A:1-9 | A:1-9,B:1-10 | false |
      3 | A:2-9,B:1 | 3 | A:1-9 | A:1-9,B:1-10 | false |
      3 | A:1-9 | 3 | A:1-9 | A:1-8 | false | A:9
      """)
  void aServerJoinsOrIsRefused(
      long localTerm,
      String own,
      long globalTerm,
      String promotedAt,
      String source,
      boolean allowed,
      String surplus) {
    String refusal = decide(localTerm, own, globalTerm, promotedAt, source);
    assertThat(refusal.isEmpty()).as(refusal).isEqualTo(allowed);
    assertThat(refusal)
        .contains(SuccessionTest.set(surplus != null ? surplus : "").toString());
  }

  @Test
  void aRefusalSaysWhyAndWhatToDo() {
    assertThat(decide(1, "A:1-10", 2, "A:1-9", "A:1-9,B:1"))
        .contains("transactions that the source lacks", ":10", "rebuild the server");
    assertThat(decide(1, "A:1-9", 3, "A:1-9", "A:1-9,B:1"))
        .contains("of term 1", "in term 3", "missed more than one");
    assertThat(decide(5, "A:1-9", 3, "A:1-9", "A:1-9,B:1"))
        .contains("of term 5", "in term 3", "was changed");
    assertThat(decide(3, "A:5-9", 3, "A:1-9", "A:1-9,B:1"))
        .contains("its GTIDs lack", ":1-4", "the GTIDs were reset", "POST /rebuild");
    assertThat(decide(0, "A:1-9", -2, "A:1-9", "A:1-9,B:1"))
        .contains("of term 0", "in term -2", "terms begin at 1");
    assertThat(decide(2, "A:1-9", 3, "A:1-9", "A:1-9,B:1-10")).isEmpty();
    assertThat(decide(2, "A:1-9", 3, "A:1-5", "A:1-9,B:1-10"))
        .contains("lacked when it was promoted", ":6-9", "Rebuild the server");
  }

  /** The server may hold the only copy of the data that the source has lost. */
  @Test
  void nothingIsRebuiltFromASourceThatHasLostData() {
    assertThat(decide(3, "A:1-9", 3, "A:1-9", "A:1-7"))
        .contains("lacks transactions that it had when it was promoted", ":8-9", "do not rebuild");
  }
}
