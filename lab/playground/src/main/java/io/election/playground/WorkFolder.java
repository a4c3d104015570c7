package io.election.playground;

import static java.nio.charset.StandardCharsets.ISO_8859_1;

import io.election.embedded.PrivateFolder;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.List;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.util.FileSystemUtils;

/**
 * The folder of one playground. The playground holds a lock in it for as long as it lives, and lists
 * its processes in it. So a later playground recognises what a killed one has left.
 */
final class WorkFolder implements Closeable {

  private final Path path;
  private final FileChannel lock;

  private WorkFolder(Path path, FileChannel lock) {
    this.path = path;
    this.lock = lock;
  }

  /** The folder of all playgrounds of this user. */
  static Path parent() {
    return Path.of(
        System.getProperty("java.io.tmpdir"),
        "election-playground-" + System.getProperty("user.name"));
  }

  /** Creates a folder in a parent, which is created if missing. */
  static WorkFolder create(Path parent) throws IOException {
    PrivateFolder.create(parent);
    Path path = Files.createTempDirectory(parent, "run-");
    WorkFolder folder = new WorkFolder(path, open(path));
    folder.lock.lock();
    return folder;
  }

  private static FileChannel open(Path path) throws IOException {
    return FileChannel.open(
        path.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
  }

  Path path() {
    return path;
  }

  /** Lists a process, to be ended if this playground is killed. */
  synchronized void list(long pid) {
    try {
      Files.writeString(
          path.resolve("processes"),
          pid + "\n",
          StandardOpenOption.CREATE,
          StandardOpenOption.APPEND);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /**
   * Ends the processes that killed playgrounds have left, and deletes their folders.
   *
   * @return a description of each
   */
  static List<String> clean(Path parent) throws IOException {
    if (Files.notExists(parent, LinkOption.NOFOLLOW_LINKS)) {
      return List.of();
    }
    PrivateFolder.create(parent); // others could name processes in it
    try (Stream<Path> folders = Files.list(parent)) {
      return folders
          .filter((folder) -> folder.getFileName().toString().startsWith("run-"))
          .flatMap((folder) -> Stream.ofNullable(cleanOne(folder)))
          .toList();
    }
  }

  private static @Nullable String cleanOne(Path folder) {
    try (FileChannel lock = open(folder)) {
      if (lock.tryLock() == null) {
        return null; // its playground lives
      }
      Path list = folder.resolve("processes");
      List<ProcessHandle> left = Files.exists(list)
          ? Files.readAllLines(list).stream()
              .filter((pid) -> pid.matches("\\d{1,18}"))
              .flatMap((pid) -> ProcessHandle.of(Long.parseLong(pid)).stream())
              .filter((process) -> isOurs(process, folder))
              .toList()
          : List.of();
      left.forEach(ProcessHandle::destroyForcibly);
      left.forEach((process) -> process.onExit().join());
      FileSystemUtils.deleteRecursively(folder);
      return "A playground was killed before. %s of its processes were ended, and its folder was deleted"
          .formatted(left.size());
    } catch (IOException | java.nio.channels.OverlappingFileLockException ex) {
      return null; // another playground starts and cleans at the same time
    }
  }

  /**
   * Whether a listed process is of the playground of a folder, since its number may be that of
   * another one by now. Each has an option that names a file in the folder, whose name is random.
   */
  private static boolean isOurs(ProcessHandle process, Path folder) {
    return arguments(process)
        .anyMatch((argument) -> argument.startsWith("--") && argument.contains("=" + folder + "/"));
  }

  /** All of them: Java returns none if they are long, as those of a node are. */
  private static Stream<String> arguments(ProcessHandle process) {
    try {
      return Stream.of(Files.readString(Path.of("/proc", "" + process.pid(), "cmdline"), ISO_8859_1)
          .split("\0"));
    } catch (IOException ex) {
      return process.info().arguments().stream().flatMap(Stream::of);
    }
  }

  @Override
  public void close() throws IOException {
    lock.close();
    FileSystemUtils.deleteRecursively(path);
  }
}
