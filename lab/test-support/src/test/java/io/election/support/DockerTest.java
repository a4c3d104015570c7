package io.election.support;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DockerTest {

  @Test
  void oneProcessAsksAndTheOthersReadItsAnswer(@TempDir Path folder) {
    Path answers = folder.resolve("target/docker");
    assertThat(Docker.ask(answers, () -> "Docker")).isEqualTo("Docker");
    assertThat(Docker.ask(answers, () -> "embedded")).isEqualTo("Docker");
  }

  @Test
  void theAnswerOfAProcessThatWasKilledIsAskedForAgain(@TempDir Path folder) throws Exception {
    Files.createFile(folder.resolve("answer"));
    assertThat(Docker.ask(folder, () -> "Docker")).isEqualTo("Docker");
  }
}
