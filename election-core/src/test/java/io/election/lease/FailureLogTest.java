package io.election.lease;

import static org.assertj.core.api.Assertions.assertThat;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import ch.qos.logback.classic.LoggerContext;
import ch.qos.logback.classic.spi.ILoggingEvent;
import ch.qos.logback.core.read.ListAppender;
import java.time.Duration;
import java.util.List;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

class FailureLogTest {

  private final Logger logger = new LoggerContext().getLogger("failures");

  private final ListAppender<ILoggingEvent> logged = new ListAppender<>();

  private final FailureLog log = new FailureLog(this.logger);

  @BeforeEach
  void listen() {
    this.logger.setLevel(Level.DEBUG);
    this.logger.addAppender(this.logged);
    this.logged.start();
  }

  private void failed(String message, long second) {
    this.log.failed(message, "so what", null, Duration.ofSeconds(second).toNanos());
  }

  private List<String> lines(Level level) {
    List<String> lines = this.logged.list.stream()
        .filter((event) -> event.getLevel() == level)
        .map(ILoggingEvent::getFormattedMessage)
        .toList();
    this.logged.list.clear();
    return lines;
  }

  @Test
  void equalFailuresAreLoggedOnceAMinuteAndCounted() {
    for (long second : new long[] {0, 1, 59, 60, 61, 179, 180, 181, 299, 359}) {
      failed("gone", second);
    }
    assertThat(lines(Level.WARN))
        .containsExactly(
            "gone (so what)",
            "gone (so what; 2 more times in the last minute)",
            "gone (so what; 1 more times in the last minute)",
            "gone (so what)",
            "gone (so what)");
  }

  @Test
  void everyFailureIsLoggedForDebugging() {
    failed("gone", 0);
    failed("gone", 1);
    assertThat(lines(Level.DEBUG)).containsExactly("gone", "gone");
  }

  @Test
  void failuresOfTooManyKindsAreLoggedOnceAMinuteTogether() {
    for (int kind = 1; kind <= 22; kind++) {
      failed("kind " + kind, 10);
    }
    assertThat(lines(Level.WARN)).hasSize(21).last().isEqualTo("kind 21 (so what)");
    failed("kind 20", 69);
    failed("kind 23", 69);
    assertThat(lines(Level.WARN)).isEmpty();
    failed("kind 23", 70);
    failed("kind 24", 70);
    assertThat(lines(Level.WARN)).containsExactly("kind 23 (so what)", "kind 24 (so what)");
  }

  @Test
  void kindsThatWereLoggedAMinuteAgoMakeRoomForOthers() {
    for (int kind = 1; kind <= 20; kind++) {
      failed("kind " + kind, 10);
    }
    failed("kind 21", 70);
    failed("kind 21", 71);
    assertThat(lines(Level.WARN)).hasSize(21).endsWith("kind 21 (so what)");
  }

  @Test
  void aSuccessIsLoggedAsProminentlyAsTheFailures() {
    this.log.succeeded("it", 0);
    failed("gone", 10);
    failed("gone", 11);
    this.log.succeeded("it", Duration.ofSeconds(15).toNanos());
    this.log.succeeded("it", Duration.ofSeconds(16).toNanos());
    assertThat(lines(Level.INFO)).containsExactly("it works again after 2 failures in 5 s");
    failed("gone", 20);
    this.log.succeeded("it", Duration.ofSeconds(21).toNanos());
    assertThat(lines(Level.DEBUG)).last().isEqualTo("it works again after 1 failures in 1 s");
    failed("gone", 80);
    this.log.ended();
    this.log.succeeded("it", Duration.ofSeconds(81).toNanos());
    assertThat(lines(Level.INFO)).isEmpty();
  }
}
