package io.election.playground;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.time.Duration;
import java.util.Map;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class OptionsTest {

  @Test
  void hasDefaults() {
    Options options = Options.parse();
    assertThat(options.nodes()).isEqualTo(3);
    assertThat(options.lease()).isEqualTo(Duration.ofSeconds(5));
    assertThat(options.renew()).isEqualTo(Duration.ofSeconds(1));
    assertThat(options.wrongOne()).isFalse();
    assertThat(options.url()).isNull();
  }

  @Test
  void readsWhatIsGiven() {
    Options options = Options.parse(
        Map.of("SPRING_DATASOURCE_PASSWORD", "secret"),
        "--nodes=5",
        "--lease=4s",
        "--renew=500ms",
        "--server.port=8123",
        "--show-a-wrong-one",
        "--spring.datasource.url=jdbc:mysql://db.example:3307/jobs?sslMode=DISABLED");
    assertThat(options.password()).isEqualTo("secret");
    assertThat(options.nodes()).isEqualTo(5);
    assertThat(options.renew()).isEqualTo(Duration.ofMillis(500));
    assertThat(options.port()).isEqualTo(8123);
    assertThat(options.wrongOne()).isTrue();
    assertThat(Address.of("" + options.url()).through(4711))
        .isEqualTo("jdbc:mysql://127.0.0.1:4711/jobs?sslMode=DISABLED");
  }

  @ParameterizedTest
  @CsvSource({
    "--nodes=6,       Write a number from 2 to 5",
    "--nodes=three,   Write a number from 2 to 5",
    "--lease=soon,    Write a time from 100ms to 10m",
    "--lease=3s,      Let the lease be at least 3062 ms",
    "--renew=2s,      Let the lease be at least three times as long",
    "--node=3,        is not an option of the playground",
    "nodes=3,         is not an option of the playground",
    "--spring.datasource.password=x, Set SPRING_DATASOURCE_PASSWORD in the environment",
    "--spring.datasource.url=jdbc:mysql://h/x?user=a&password=x, Set SPRING_DATASOURCE_PASSWORD",
    "--spring.datasource.url=jdbc:h2:mem:x, Write jdbc:mysql://host:port/database"
  })
  void refusesWithTheRemedy(String argument, String remedy) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Options.parse(argument))
        .withMessageContaining(remedy)
        .withMessageContaining(argument.replaceFirst("=.*", ""));
  }
}
