package io.election.playground;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

@DisabledOnOs(value = OS.WINDOWS, disabledReason = "it runs sleep")
class WorkFolderTest {

  @TempDir
  Path parent;

  private final Process process = sleep();

  private static Process sleep() {
    try {
      return new ProcessBuilder("sleep", "600").start();
    } catch (IOException ex) {
      throw new IllegalStateException(ex);
    }
  }

  @AfterEach
  void end() {
    process.destroyForcibly();
  }

  @Test
  void endsWhatAKilledPlaygroundLeft() throws Exception {
    Path left = leftBehind();
    assertThat(WorkFolder.clean(parent)).hasSize(1).first().asString().contains("1 of its");
    assertThat(process.waitFor(10, TimeUnit.SECONDS)).isTrue();
    assertThat(left).doesNotExist();
  }

  @Test
  void leavesAnotherProcessWithTheSameNumberAlone() throws Exception {
    Path left = leftBehind();
    Files.writeString(left.resolve("processes"), process.pid() + " 2020-01-01T00:00:00Z\n9");
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
