package io.election.playground;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@DisabledOnOs(value = OS.WINDOWS, disabledReason = "it runs sh")
class WorkFolderTest {

  @TempDir
  Path parent;

  private final List<Process> processes = new ArrayList<>();

  private Process process;

  @BeforeEach
  void begin() throws IOException {
    process = start("--datadir=" + parent.resolve("run-killed/data"));
  }

  /** Starts a process that waits, with some arguments. */
  private Process start(String... arguments) throws IOException {
    List<String> command = new ArrayList<>(List.of("sh", "-c", "read line", "sh"));
    command.addAll(List.of(arguments));
    processes.add(new ProcessBuilder(command).start());
    return processes.get(processes.size() - 1);
  }

  @AfterEach
  void end() {
    processes.forEach(Process::destroyForcibly);
  }

  @Test
  void endsWhatAKilledPlaygroundLeft() throws Exception {
    Path left = leftBehind();
    assertThat(WorkFolder.clean(parent)).hasSize(1).first().asString().contains("1 of its");
    assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
    assertThat(left).doesNotExist();
  }

  /** Java does not tell the arguments of a node, which has a long class path. */
  @Test
  void recognisesItsProcessesByTheLastOfManyArguments() throws Exception {
    process = start("x".repeat(20_000), "--test.claims=" + parent.resolve("run-killed/a.claims"));
    leftBehind();
    assertThat(WorkFolder.clean(parent)).first().asString().contains("1 of its");
    assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
  }

  @ParameterizedTest
  @ValueSource(
      strings = {
        "",
        "*/run-killed/node-1.log",
        "of=*/run-killed/copy",
        "--file=*/run-killed2/data",
        "--file=*/run-2/data"
      })
  void leavesAnotherProcessWithTheSameNumberAlone(String argument) throws Exception {
    process = start(argument.replace("*", parent.toString()));
    Path left = leftBehind();
    Files.writeString(left.resolve("processes"), "x\n9", StandardOpenOption.APPEND);
    assertThat(WorkFolder.clean(parent)).hasSize(1).first().asString().contains("0 of its");
    assertThat(process.isAlive()).isTrue();
  }

  @Test
  void leavesALivingPlaygroundAlone() throws Exception {
    try (WorkFolder folder = WorkFolder.create(parent)) {
      folder.list(process.pid());
      assertThat(WorkFolder.clean(parent)).isEmpty();
      assertThat(folder.path()).isDirectory();
      assertThat(process.isAlive()).isTrue();
    }
    assertThat(parent).isEmptyDirectory();
  }

  @Test
  void touchesNothingElse() throws Exception {
    Path other = Files.createDirectory(parent.resolve("other"));
    assertThat(WorkFolder.clean(parent)).isEmpty();
    assertThat(WorkFolder.clean(parent.resolve("missing"))).isEmpty();
    assertThat(other).isDirectory();
  }

  @Test
  void endsNoProcessThatOthersCanHaveNamed() throws Exception {
    Path left = leftBehind();
    Files.setPosixFilePermissions(parent, PosixFilePermissions.fromString("rwxrwxrwx"));
    assertThatThrownBy(() -> WorkFolder.clean(parent)).hasMessageContaining("can be written");
    assertThatThrownBy(() -> WorkFolder.create(parent)).hasMessageContaining("can be written");
    assertThat(process.isAlive()).isTrue();
    assertThat(left).isDirectory();
  }

  /** The folder of a playground that holds no lock any more. */
  private Path leftBehind() throws IOException {
    Path left = Files.createDirectory(parent.resolve("run-killed"));
    try (WorkFolder folder = WorkFolder.create(parent)) {
      folder.list(process.pid());
      Files.copy(folder.path().resolve("processes"), left.resolve("processes"));
    }
    return left;
  }
}
