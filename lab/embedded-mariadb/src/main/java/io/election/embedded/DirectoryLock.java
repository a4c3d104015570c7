package io.election.embedded;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Excludes other processes by a lock on the file {@code lock}, and other threads by a monitor. */
public final class DirectoryLock {

  private static final Logger log = LoggerFactory.getLogger(DirectoryLock.class);

  private DirectoryLock() {}

  /** Runs an action that changes an existing directory exclusively. */
  public static synchronized <T> T oneAtATime(Path directory, IoAction<T> action)
      throws IOException {
    try (FileChannel lock = FileChannel.open(
        directory.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
      if (lock.tryLock() == null) {
        log.info("waiting for another node that is starting or stopping MariaDB");
        lock.lock();
      }
      return action.run();
    }
  }

  /** An action that runs exclusively. */
  @FunctionalInterface
  public interface IoAction<T> {

    T run() throws IOException;
  }
}
