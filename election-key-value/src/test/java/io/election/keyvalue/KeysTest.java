package io.election.keyvalue;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.HashSet;
import java.util.List;
import java.util.Locale;
import java.util.Set;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class KeysTest {

  @Test
  void aUsualNameStaysAsItIs() {
    assertThat(Keys.record("AccountService:1.0.0")).isEqualTo("AccountService:1.0.0");
    assertThat(Keys.record("order-book_2.x")).isEqualTo("order-book_2.x");
    assertThat(Keys.record("账户")).isEqualTo("账户");
  }

  @Test
  void twoNamesNeverMeanOneKey() {
    List<String> names = List.of(
        "a/b",
        "a%2Fb",
        "a%2fb",
        "a b",
        "a+b",
        ".",
        "..",
        "...",
        "%2E",
        "~terms",
        "%7Eterms",
        "~terms/a",
        "a\u0000",
        "a\u0001",
        "\uD83D\uDE00",
        "%F0%9F%98%80",
        "cafe",
        "café",
        "A",
        "a");
    Set<String> keys = new HashSet<>();
    for (String name : names) {
      String key = Keys.record(name);
      assertThat(keys.add(key)).as(name).isTrue();
      assertThat(key).doesNotContain("/", "~", "\u0000").isNotIn(".", "..", "");
    }
  }

  @Test
  void termsSortAsNumbers() {
    assertThat(Keys.term("a", 9)).isLessThan(Keys.term("a", 10));
    assertThat(Keys.term("a", Long.MAX_VALUE)).isGreaterThan(Keys.term("a", Long.MAX_VALUE - 1));
  }

  /** Nodes of several locales find the newest term among the keys of all of them. */
  @ParameterizedTest
  @ValueSource(strings = {"fa-IR", "ar-EG", "mr-IN", "th-TH-u-nu-thai"})
  void theKeyOfATermIsTheSameInEachLocale(String tag) {
    Locale before = Locale.getDefault();
    Locale.setDefault(Locale.forLanguageTag(tag));
    try {
      assertThat(Keys.term("a", 10)).isEqualTo("~terms/a/0000000000000000010");
    } finally {
      Locale.setDefault(before);
    }
  }
}
