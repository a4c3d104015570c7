package io.election.embedded;

import static java.nio.file.StandardOpenOption.CREATE;
import static java.nio.file.StandardOpenOption.READ;
import static java.nio.file.StandardOpenOption.WRITE;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.Map;

/**
 * Marks a database as used by this process, by a shared lock on a file, which the operating system
 * ends with the process. The last process is the one that gets it alone. The contexts of a process share
 * it and are counted here.
 */
final class Presence {

  private static final Map<Path, FileLock> SHARES = new HashMap<>();
  private static final Map<Path, Integer> CONTEXTS = new HashMap<>();

  private Presence() {}

  static synchronized void enter(Path directory) throws IOException {
    if (!SHARES.containsKey(directory)) {
      FileChannel channel = FileChannel.open(directory.resolve("nodes"), CREATE, READ, WRITE);
      SHARES.put(directory, channel.lock(0, Long.MAX_VALUE, true));
    }
    CONTEXTS.merge(directory, 1, Integer::sum);
  }

  /** Undoes one {@link #enter}; returns whether no process uses the database any more. */
  static synchronized boolean leave(Path directory) throws IOException {
    FileLock share = SHARES.get(directory);
    if (share == null || CONTEXTS.merge(directory, -1, Integer::sum) > 0) {
      return false;
    }
    SHARES.remove(directory);
    try (FileChannel channel = share.channel()) {
      share.release();
      return channel.tryLock() != null;
    }
  }
}
