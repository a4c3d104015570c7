package io.election;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Validation of the name and the note that a person gives with a command. */
class AuditNoteTest {

  @Test
  void isToldInOneLine() {
    assertThat(new AuditNote("alice", " a new version\n ")).hasToString("alice: a new version");
    assertThat(new AuditNote("alice", " ")).hasToString("alice");
  }

  @ParameterizedTest
  @ValueSource(chars = {'\n', '\r', '\0', '\u001b', '\u0085', '\u2028', '\u202e', '\ud800'})
  void neitherPartCanSpoilALineOfALog(char spoiling) {
    String text = "a" + spoiling + "b";
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new AuditNote("alice", text))
        .withMessageMatching("the reason 'a\\\\u[0-9a-f]{4}b' must not contain control characters");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new AuditNote(text, ""))
        .withMessageMatching("actor 'a\\\\u[0-9a-f]{4}b' must not contain control characters");
  }

  @Test
  void bothAreBounded() {
    AuditNote longest = new AuditNote("x".repeat(128), "y".repeat(255));
    assertThat(longest.reason()).hasSize(255);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new AuditNote("alice", "y".repeat(10_000)))
        .withMessage("the reason has 10000 characters, but may have at most 255");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> new AuditNote("x".repeat(129), ""))
        .withMessageEndingWith("has 129 characters, but may have at most 128");
    assertThatIllegalArgumentException().isThrownBy(() -> new AuditNote("", "why"));
  }

  @ParameterizedTest
  @ValueSource(strings = {"", "  ", "alice", " al\nice ", "\u202e"})
  void aNameFromOutsideIsMadeUsable(String name) {
    assertThat(Names.problem(Names.usable(name, "somebody"))).isNull();
  }

  @Test
  void aLongNameFromOutsideIsCutWhereItStaysAName() {
    assertThat(Names.usable("x".repeat(127) + " y", "")).isEqualTo("x".repeat(127));
    assertThat(Names.usable("x".repeat(127) + "\ud83d\ude00", "")).isEqualTo("x".repeat(127));
    assertThat(Names.usable("\u0001".repeat(10_000), "")).hasSize(128).startsWith("\\u0001");
  }
}
