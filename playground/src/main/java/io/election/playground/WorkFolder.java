package io.election.playground;

import io.election.embedded.PrivateFolder;
import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.LinkOption;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Optional;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;
import org.springframework.util.FileSystemUtils;

/**
 * The folder of one playground. The playground holds a lock in it for as long as it lives, and lists
 * its processes in it. So a later playground recognises what a killed one has left.
 */
final class WorkFolder implements Closeable {

  private static final Duration START_TOLERANCE = Duration.ofSeconds(2);

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
    started(ProcessHandle.of(pid)).ifPresent((start) -> {
      try {
        Files.writeString(
            path.resolve("processes"),
            pid + " " + start + "\n",
            StandardOpenOption.CREATE,
            StandardOpenOption.APPEND);
      } catch (IOException ex) {
        throw new UncheckedIOException(ex);
      }
    });
  }

  private static Optional<Instant> started(Optional<ProcessHandle> process) {
    return process.flatMap((each) -> each.info().startInstant());
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
              .flatMap((line) -> find(line).stream())
              .toList()
          : List.of();
      left.forEach(ProcessHandle::destroyForcibly);
      left.forEach((process) -> process.onExit().join());
      FileSystemUtils.deleteRecursively(folder);
      return "A playground was killed before. %d of its processes were ended, and its folder was deleted"
          .formatted(left.size());
    } catch (IOException | java.nio.channels.OverlappingFileLockException ex) {
      return null; // another playground starts and cleans at the same time
    }
  }

  /** Finds a listed process, unless its number belongs to another process by now. */
  private static Optional<ProcessHandle> find(String line) {
    String[] parts = line.split(" ", 2);
    if (parts.length < 2) {
      return Optional.empty(); // half written
    }
    Instant start = Instant.parse(parts[1]);
    return ProcessHandle.of(Long.parseLong(parts[0]))
        .filter((process) -> process
            .info()
            .startInstant()
            .map((now) -> Duration.between(now, start).abs().compareTo(START_TOLERANCE) < 0)
            .orElse(false));
  }

  @Override
  public void close() throws IOException {
    lock.close();
    FileSystemUtils.deleteRecursively(path);
  }
}
