package io.election.store;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.election.Names;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class LeaseSettingsTest {

  @ParameterizedTest
  @CsvSource({
    "PT0S,  PT2S,    PT1S,    PT10S, lease-duration,    it must be at least 1ms",
    "PT-5S, PT2S,    PT1S,    PT10S, lease-duration,    it must be at least 1ms",
    "PT2H,  PT2S,    PT1S,    PT10S, lease-duration,    it must be at most one hour",
    "PT5S,  PT2S,    PT1S,    PT10S, lease-duration,    'it must be at least three times the renew-interval (2s): use at least 6s, or a renew-interval of at most 1666ms'",
    "PT1H,  PT1H,    PT1S,    PT10S, lease-duration,    it must be at least three times the renew-interval",
    "PT3S,  PT1S,    PT1S,    PT10S, lease-duration,    'a renewal must fit into it: renew-interval (1s) + 2 x operation-timeout (1s) + 2 % of the lease are 3060ms; use a longer lease-duration, or an operation-timeout of at most 970ms'",
    "PT10S, PT0S,    PT1S,    PT10S, renew-interval,    it must be at least 1ms",
    "PT10S, PT2S,    PT0S,    PT10S, operation-timeout, it must be at least 1ms",
    "PT10S, PT2S,    PT1S,    PT-1S, drain-timeout,     it must be from 0 to one day"
  })
  void aValueOutOfRangeIsRefusedWithItsRuleAndRemedy(
      Duration lease,
      Duration renew,
      Duration operation,
      Duration drain,
      String setting,
      String rule) {
    assertThatExceptionOfType(InvalidLeaseSettingException.class)
        .isThrownBy(() -> new LeaseSettings(lease, renew, operation, drain, true))
        .satisfies((ex) -> {
          assertThat(ex.setting()).isEqualTo(setting);
          assertThat(ex.rule()).startsWith(rule);
          assertThat(ex.value()).isIn(lease, renew, operation, drain);
        });
  }

  /** The margin covers a rate error of one percent on both sides. */
  @Test
  void fault_28_clock_rates_differ() {
    for (long millis : new long[] {100, 777, 999, 10_000, 3_600_000}) {
      Duration lease = Duration.ofMillis(millis);
      LeaseSettings settings =
          new LeaseSettings(lease, lease.dividedBy(3), Duration.ofMillis(1), Duration.ZERO, true);
      long tenure = settings.leadershipNanos();
      assertThat(tenure * 1.01).isLessThanOrEqualTo(lease.toNanos() * 0.99);
    }
  }

  @Test
  void namesThatStoresCouldConfuseAreRefused() {
    assertThat(Names.problem("host:8080:1")).isNull();
    assertThat(Names.problem("主节点")).isNull();
    assertThat(Names.problem("")).isEqualTo("must not be empty");
    assertThat(Names.problem("caf\u00e9")).isNull();
    assertThat(Names.problem("cafe\u0301")).contains("NFC");
    assertThat(Names.problem("a ")).isEqualTo("must not begin or end with white space");
    assertThat(Names.problem("a\u0000b")).isEqualTo("must not contain control characters");
    assertThat(Names.problem("a\u200bb")).isEqualTo("must not contain control characters");
    assertThat(Names.problem("x".repeat(129)))
        .isEqualTo("has 129 characters, but may have at most 128");
  }

  @ParameterizedTest
  @ValueSource(strings = {"PT59M59S", "PT0S", "-PT1H", "P36500DT1S"})
  void aHistoryIsKeptForAnHourAtLeastAndAHundredYearsAtMost(Duration retention) {
    assertThatExceptionOfType(InvalidLeaseSettingException.class)
        .isThrownBy(() -> new LeaseSettings(
            Duration.ofSeconds(10),
            Duration.ofSeconds(2),
            Duration.ofSeconds(1),
            Duration.ZERO,
            true,
            retention,
            ""))
        .satisfies((ex) -> assertThat(ex.setting()).isEqualTo("history-retention"))
        .withMessageContaining("it must be from one hour to 36500 days");
  }

  @Test
  void theLimitsThemselvesAreAccepted() {
    Duration least = Duration.ofMillis(1);
    Duration hour = Duration.ofHours(1);
    Duration timeout = Duration.ofMillis(3_900);
    assertThatCode(() -> new LeaseSettings(
            Duration.ofSeconds(10), Duration.ofSeconds(2), timeout, Duration.ZERO, true))
        .doesNotThrowAnyException();
    for (Duration retention : List.of(hour, Duration.ofDays(36_500))) {
      assertThatCode(
              () -> new LeaseSettings(hour, least, least, Duration.ofDays(1), true, retention, ""))
          .doesNotThrowAnyException();
    }
  }
}
