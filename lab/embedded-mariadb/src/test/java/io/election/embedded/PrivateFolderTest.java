package io.election.embedded;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.FileSystemException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.nio.file.attribute.UserPrincipal;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.DisabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

@DisabledOnOs(value = OS.WINDOWS, disabledReason = "it has no POSIX permissions")
class PrivateFolderTest {

  @TempDir
  Path parent;

  @Test
  void createsAFolderAndItsParents() throws Exception {
    Path folder = PrivateFolder.create(parent.resolve("a/b"));
    assertThat(permissions(folder)).isEqualTo("rwx------");
    assertThat(PrivateFolder.create(folder)).isEqualTo(folder);
  }

  @Test
  void closesAFolderThatOthersCouldOnlyRead() throws Exception {
    Path folder = folder("rwxr-xr-x");
    Files.writeString(folder.resolve("kept"), "");
    PrivateFolder.create(folder);
    assertThat(permissions(folder)).isEqualTo("rwx------");
    assertThat(folder.resolve("kept")).exists();
  }

  @ParameterizedTest
  @ValueSource(strings = {"rwxrwxr-x", "rwxr-xrwx", "rwx-w----", "rwx----w-"})
  void refusesAFolderThatOthersCanWrite(String permissions) throws Exception {
    Path folder = folder(permissions);
    assertThatThrownBy(() -> PrivateFolder.create(folder))
        .isInstanceOf(FileSystemException.class)
        .hasMessageContaining(folder + ": it can be written by other users");
    assertThat(permissions(folder)).isEqualTo(permissions);
  }

  @Test
  void refusesALink() throws Exception {
    Path link = Files.createSymbolicLink(parent.resolve("link"), folder("rwx------"));
    assertThatThrownBy(() -> PrivateFolder.create(link)).hasMessageContaining("it is a link");
    Path dangling = Files.createSymbolicLink(parent.resolve("dangling"), parent.resolve("none"));
    assertThatThrownBy(() -> PrivateFolder.create(dangling)).hasMessageContaining("it is a link");
  }

  @Test
  void refusesAFolderOfAnotherUser() throws Exception {
    Path folder = folder("rwx------");
    giveAway(folder);
    assertThatThrownBy(() -> PrivateFolder.create(folder))
        .hasMessageContaining("it belongs to the user nobody");
  }

  @Test
  void runsNoProgramOfAnotherUser() throws Exception {
    Path folder = folder("rwxr-xr-x");
    giveAway(folder);
    assertThatThrownBy(() -> EmbeddedDatabase.join(folder))
        .hasMessageContaining("it belongs to the user nobody");
    assertThat(folder).isEmptyDirectory();
  }

  private Path folder(String permissions) throws IOException {
    Path folder = Files.createDirectory(parent.resolve("folder"));
    return Files.setPosixFilePermissions(folder, PosixFilePermissions.fromString(permissions));
  }

  private static void giveAway(Path folder) throws IOException {
    boolean given;
    try {
      UserPrincipal nobody =
          folder.getFileSystem().getUserPrincipalLookupService().lookupPrincipalByName("nobody");
      Files.setOwner(folder, nobody);
      given = true;
    } catch (IOException ex) {
      given = false;
    }
    assumeTrue(given, "only root can give a folder away");
  }

  private static String permissions(Path folder) throws IOException {
    return PosixFilePermissions.toString(Files.getPosixFilePermissions(folder));
  }
}
