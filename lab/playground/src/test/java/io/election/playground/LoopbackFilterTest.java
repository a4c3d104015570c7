package io.election.playground;

import static org.assertj.core.api.Assertions.assertThat;

import org.jspecify.annotations.Nullable;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LoopbackFilterTest {

  @ParameterizedTest
  @CsvSource({
    "127.0.0.1:8090,      ,                          true",
    "localhost:8090,      http://localhost:8090,     true",
    "[::1]:8090,          http://[::1]:8090,         true",
    "localhost:8090,      http://localhost:9000,     false",
    "localhost:8090,      http://evil.example,       false",
    "localhost:8090,      null,                      false",
    "evil.example:8090,   ,                          false",
    "127.0.0.1.evil.example, ,                       false",
    ",                    ,                          false"
  })
  void acceptsOnlyPagesOfThisMachine(
      @Nullable String host, @Nullable String origin, boolean accepted) {
    assertThat(LoopbackFilter.accepts(host, origin)).isEqualTo(accepted);
  }
}
