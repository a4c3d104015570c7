package io.election.support;

import io.election.embedded.DirectoryLock;
import io.election.embedded.MariaDbPrograms;
import io.election.embedded.PrivateFolder;
import java.io.IOException;
import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.Objects;
import org.junit.jupiter.api.Assumptions;

/**
 * The releases of PostgreSQL that tests use: programs of the class path for Linux on amd64, or those
 * of Debian. A test whose programs are not there is skipped by name.
 */
public enum PostgresqlPrograms {
  /** The newest one: the default of the tests on PostgreSQL. */
  V18("18.3.0"),
  V17("17.9.0"),
  /** The oldest one, of Debian. */
  V15("15");

  private final String version;

  PostgresqlPrograms(String version) {
    this.version = version;
  }

  /** The folder of the programs, which the first caller on a machine unpacks. */
  Path folder() throws IOException {
    if (this == V15) {
      Path debian = Path.of("/usr/lib/postgresql/15/bin");
      Assumptions.assumeTrue(Files.isExecutable(debian.resolve("postgres")), this + " is missing");
      return debian;
    }
    String platform = System.getProperty("os.name") + " " + System.getProperty("os.arch");
    Assumptions.assumeTrue(platform.equals("Linux amd64"), "no " + this + " for " + platform);
    Tool.XZ.assumeWorks();
    Path cache = cache();
    Path base = cache.resolve("postgresql-" + this.version);
    return DirectoryLock.oneAtATime(cache, () -> {
      if (!Files.isDirectory(base)) {
        unpack(base);
      }
      return base.resolve("bin");
    });
  }

  /** Where users whom this process starts programs as can run them. */
  private static Path cache() throws IOException {
    if (!Unprivileged.IS_ROOT) {
      return PrivateFolder.create(MariaDbPrograms.CACHE); // programs are run from there
    }
    Path cache = Files.createDirectories(Path.of("/var/cache/election"));
    return Files.setPosixFilePermissions(cache, PosixFilePermissions.fromString("rwxr-xr-x"));
  }

  private void unpack(Path base) throws IOException {
    Path unfinished = base.resolveSibling(base.getFileName() + ".unfinished");
    MariaDbPrograms.delete(unfinished);
    Files.createDirectory(unfinished);
    Path packed = unfinished.resolve("programs.txz");
    String resource = "/postgresql-" + this.version + "/postgres-linux-x86_64.txz";
    try (InputStream file =
        Objects.requireNonNull(PostgresqlPrograms.class.getResourceAsStream(resource), resource)) {
      Files.copy(file, packed);
    }
    Tool.problem(60, "tar", "-xJf", packed.toString(), "-C", unfinished.toString())
        .ifPresent((problem) -> {
          throw new IllegalStateException(problem);
        });
    Files.delete(packed);
    Files.move(unfinished, base, StandardCopyOption.ATOMIC_MOVE);
  }

  @Override
  public String toString() {
    return "PostgreSQL " + this.version;
  }
}
