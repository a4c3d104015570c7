package io.election.support;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ToolTest {

  @Test
  void aProgramThatEndsWithoutAnErrorWorks() {
    assertThat(Tool.problem(20, "true")).isEmpty();
  }

  @Test
  void aProgramThatFailsDoesNotWork() {
    assertThat(Tool.problem(20, "false")).hasValue("false does not work here: it ended with 1");
  }

  @Test
  void aProgramThatHangsDoesNotWork() {
    assertThat(Tool.problem(1, "sleep", "60"))
        .hasValue("sleep 60 does not work here: it has not ended after 1 s");
  }

  @Test
  void aFileThatIsNoProgramDoesNotWork() {
    assertThat(Tool.problem(20, "/etc/passwd").orElseThrow()).contains("it did not start");
  }
}
