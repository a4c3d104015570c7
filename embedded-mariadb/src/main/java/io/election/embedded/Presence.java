package io.election.embedded;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.Map;

/**
 * Marks a database as used by this process, by a shared lock on a file. The operating system
 * releases the lock when the process ends, however it ends. A process that gets the lock
 * exclusively is the last one.
 *
 * <p>The lock belongs to the process. The application contexts of one process, for instance cached
 * test contexts, share it and are counted here.
 */
final class Presence {

  private static final Map<Path, Presence> PRESENCES = new HashMap<>();

  private final FileChannel channel;

  private final FileLock share;

  private int contexts;

  private Presence(FileChannel channel) throws IOException {
    this.channel = channel;
    this.share = channel.lock(0, Long.MAX_VALUE, true);
  }

  static synchronized void enter(Path directory) throws IOException {
    Presence presence = PRESENCES.get(directory);
    if (presence == null) {
      presence = new Presence(FileChannel.open(
          directory.resolve("nodes"),
          StandardOpenOption.CREATE,
          StandardOpenOption.READ,
          StandardOpenOption.WRITE));
      PRESENCES.put(directory, presence);
    }
    presence.contexts++;
  }

  /**
   * Undoes one {@link #enter}.
   *
   * @return whether neither this process nor another one uses the database any more
   */
  static synchronized boolean leave(Path directory) throws IOException {
    Presence presence = PRESENCES.get(directory);
    if (presence == null || --presence.contexts > 0) {
      return false;
    }
    PRESENCES.remove(directory);
    try (FileChannel channel = presence.channel) {
      presence.share.release();
      return channel.tryLock() != null;
    }
  }
}
