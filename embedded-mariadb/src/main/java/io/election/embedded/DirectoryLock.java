package io.election.embedded;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Keeps those apart who change a directory: processes by a lock on the file {@code lock} in it, threads
 * by a monitor, because a file lock is no obstacle within one process.
 */
public final class DirectoryLock {

  private static final Logger log = LoggerFactory.getLogger(DirectoryLock.class);

  private DirectoryLock() {}

  /**
   * Runs an action alone.
   *
   * @param <T> the type of its result
   * @param directory what it changes; exists
   * @param action the action
   * @return its result
   * @throws IOException if it fails, or the directory cannot be locked
   */
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

  /**
   * What runs alone.
   *
   * @param <T> the type of its result
   */
  @FunctionalInterface
  public interface IoAction<T> {

    /**
     * Runs.
     *
     * @return the result
     * @throws IOException if it fails
     */
    T run() throws IOException;
  }
}
