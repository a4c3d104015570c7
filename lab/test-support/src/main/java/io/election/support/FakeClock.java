package io.election.support;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.time.Duration;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.stream.Stream;
import org.junit.jupiter.api.Assumptions;

/** The wall clock of other processes, moved by libfaketime; their monotonic clocks stay. */
public record FakeClock(Path library, Path folder) {

  private static final String LIBRARY = "libfaketimeMT.so.1";

  /** Creates a clock that shows the true time; aborts the test if libfaketime is not installed. */
  public static FakeClock create() {
    Path library = Objects.requireNonNull(library(LIBRARY).getParent());
    try {
      // A server in a container runs as another user.
      Path folder = Files.createTempDirectory(
          "election-clock-",
          PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwxr-xr-x")));
      FakeClock clock = new FakeClock(library, folder);
      clock.setOffset(Duration.ZERO);
      return clock;
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** A library of libfaketime; aborts the test if it is not installed. */
  static Path library(String name) {
    return Stream.of("", "64", "/x86_64-linux-gnu", "/aarch64-linux-gnu")
        .map((folder) -> Path.of("/usr/lib" + folder, "faketime", name))
        .filter(Files::exists)
        .findFirst()
        .orElseGet(() -> Assumptions.abort("libfaketime is not installed"));
  }

  /** Moves the clock of all processes that use it ahead of the true time. */
  public void setOffset(Duration offset) {
    try {
      Path next = this.folder.resolve("next");
      Files.writeString(
          next,
          String.format(Locale.ROOT, "%+d.%03d\n", offset.toSeconds(), offset.toMillisPart()));
      Files.setPosixFilePermissions(next, PosixFilePermissions.fromString("rw-r--r--"));
      Files.move(next, this.folder.resolve("offset"), StandardCopyOption.ATOMIC_MOVE);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** The command line that starts a program on this machine with the clock. */
  public String[] command() {
    return Stream.concat(
            Stream.of("env"),
            environment(this.library, this.folder).entrySet().stream().map(Map.Entry::toString))
        .toArray(String[]::new);
  }

  static Map<String, String> environment(Path libraryFolder, Path folder) {
    return Map.of(
        "LD_PRELOAD", libraryFolder.resolve(LIBRARY).toString(),
        "FAKETIME_TIMESTAMP_FILE", folder.resolve("offset").toString(),
        "FAKETIME_NO_CACHE", "1",
        "FAKETIME_DONT_FAKE_MONOTONIC", "1",
        // Otherwise, timed waits on the monotonic clock return at once.
        "FAKETIME_FORCE_MONOTONIC_FIX", "0");
  }
}
