package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;
import org.springframework.boot.test.system.CapturedOutput;
import org.springframework.boot.test.system.OutputCaptureExtension;

/** The operator's command, as a real script. */
@ExtendWith(OutputCaptureExtension.class)
class KillCommandTest {

  private static final Duration LIMIT = Duration.ofSeconds(1);

  @TempDir
  private Path folder;

  /** Runs a script, which can write to {@code $told}. */
  private boolean run(String text) throws Exception {
    Path script =
        Files.writeString(this.folder.resolve("kill"), "told=%s\n%s\n".formatted(told(), text));
    return run(List.of("sh", script.toString()));
  }

  private static boolean run(List<String> command) {
    return new KillCommand(command, LIMIT).run();
  }

  private Path told() {
    return this.folder.resolve("told");
  }

  @Test
  void aFailureIsLogged(CapturedOutput output) throws Exception {
    assertThat(run("exit 0")).isTrue();
    assertThat(run("exit 3")).isFalse();
    assertThat(output).contains("kill-server has not ended with exit code 0 within PT1S: [sh, ");
    assertThat(run(List.of("no-such-command"))).isFalse();
    assertThat(output).contains("cannot be run: Cannot run program \"no-such-command\"");
    assertThat(run(List.of())).isFalse();
  }

  /** The processes that the command started are killed too. */
  @Test
  void aCommandThatHangsIsEnded(CapturedOutput output) throws Exception {
    long began = System.nanoTime();
    assertThat(run("(sleep 4; echo late > $told) & sleep 30")).isFalse();
    assertThat(Duration.ofNanos(System.nanoTime() - began)).isBetween(LIMIT, LIMIT.multipliedBy(3));
    assertThat(output).contains("has not ended with exit code 0 within PT1S");
    TimeUnit.SECONDS.sleep(4);
    assertThat(told()).doesNotExist();
  }

  @Test
  void anInterruptedAgentDoesNotWaitForTheCommand() throws Exception {
    Thread.currentThread().interrupt();
    assertThat(run(List.of("sleep", "30"))).isFalse();
    assertThat(Thread.interrupted()).isTrue();
  }
}
