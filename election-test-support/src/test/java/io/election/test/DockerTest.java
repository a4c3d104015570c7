package io.election.test;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DockerTest {

  @Test
  void oneProcessAsksAndTheOthersReadItsAnswer(@TempDir Path folder) {
    Path file = folder.resolve("target/answer");
    assertThat(Docker.ask(file, () -> "Docker")).isEqualTo("Docker");
    assertThat(Docker.ask(file, () -> "embedded")).isEqualTo("Docker");
  }

  @Test
  void theAnswerOfAProcessThatWasKilledIsAskedForAgain(@TempDir Path folder) throws Exception {
    Path file = Files.createFile(folder.resolve("answer"));
    assertThat(Docker.ask(file, () -> "Docker")).isEqualTo("Docker");
  }
}
