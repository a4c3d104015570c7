package io.election.mysql.failover.agent;

import static org.assertj.core.api.Assertions.assertThat;
import static org.awaitility.Awaitility.await;

import io.election.mysql.failover.agent.AgentProperties.Rank;
import java.io.IOException;
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

/** The operator's commands, as real scripts. */
@ExtendWith(OutputCaptureExtension.class)
class HooksTest {

  private static final Duration LIMIT = Duration.ofSeconds(1);

  @TempDir
  private Path folder;

  private final Hooks hooks =
      new Hooks(CandidacyTest.properties("b", Rank.ALLOWED, LIMIT, "a", "b"));

  /** Returns the command of a script, which can write to {@code $told}. */
  private List<String> script(String text) throws Exception {
    Path script =
        Files.writeString(this.folder.resolve("hook"), "told=%s\n%s\n".formatted(told(), text));
    return List.of("sh", script.toString());
  }

  private Path told() {
    return this.folder.resolve("told");
  }

  @Test
  void aCommandGetsServerAddressAndTerm() throws Exception {
    List<String> command =
        script("echo $AS_FAILOVER_SERVER $AS_FAILOVER_ADDRESS $AS_FAILOVER_TERM > $told");
    assertThat(this.hooks.run("on-promote", command, 7)).isTrue();
    assertThat(told()).hasContent("b b.example:3306 7");
  }

  @Test
  void aFailureIsLogged(CapturedOutput output) throws Exception {
    List<String> command = script("exit 3");
    assertThat(this.hooks.run("on-promote", command, 7)).isFalse();
    assertThat(output).contains("on-promote has failed with exit code 3: " + command);
    assertThat(this.hooks.run("on-demote", List.of("no-such-command"), 0)).isFalse();
    assertThat(output).contains("on-demote cannot be run: Cannot run program \"no-such-command\"");
    assertThat(this.hooks.run("on-demote", List.of(), 0)).isFalse();
  }

  /** The processes that the command started are killed too. */
  @Test
  void aCommandThatHangsIsEnded(CapturedOutput output) throws Exception {
    List<String> command = script("(sleep 4; echo late > $told) & sleep 30");
    long began = System.nanoTime();
    assertThat(this.hooks.run("on-promote", command, 7)).isFalse();
    assertThat(Duration.ofNanos(System.nanoTime() - began)).isBetween(LIMIT, LIMIT.multipliedBy(3));
    assertThat(output)
        .contains("on-promote took longer than as.failover.hook-timeout, PT1S, and was killed");
    TimeUnit.SECONDS.sleep(4);
    assertThat(told()).doesNotExist();
  }

  @Test
  void aCommandThatRunsAsideIsEndedBeforeTheNextOne(CapturedOutput output) throws Exception {
    Hooks.Run run =
        this.hooks.start("on-promote", script("echo $$ > $told; sleep 30; echo late > $told"), 7);
    await().atMost(Duration.ofSeconds(10)).until(() -> !text().isBlank());
    ProcessHandle command = ProcessHandle.of(Long.parseLong(text().strip())).orElseThrow();
    run.end();
    assertThat(output).contains("on-promote was killed before it finished");
    await().atMost(Duration.ofSeconds(10)).until(() -> !command.isAlive());
    assertThat(text()).isNotEqualToIgnoringWhitespace("late");
    run = this.hooks.start("on-promote", script("echo next > $told"), 8);
    await().atMost(Duration.ofSeconds(10)).until(() -> text().startsWith("next"));
    run.end();
  }

  private String text() throws IOException {
    return Files.exists(told()) ? Files.readString(told()) : "";
  }
}
