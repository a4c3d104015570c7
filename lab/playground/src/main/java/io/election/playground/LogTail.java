package io.election.playground;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** Reads a log as it grows, each line once. The last lines can be asked for by any thread. */
final class LogTail {

  private static final int LAST = 8;

  private static final int BYTES = 64 * 1024;

  private final Path log;
  private long position;
  private volatile List<String> last = List.of();

  LogTail(Path log) {
    this.log = log;
  }

  /** The whole lines that were added since the last call, as many as fit into 64 KB. */
  List<String> read() {
    if (!Files.exists(log)) {
      return List.of();
    }
    ByteBuffer bytes = ByteBuffer.allocate(BYTES);
    try (FileChannel channel = FileChannel.open(log)) {
      channel.read(bytes, position);
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
    int end = bytes.position();
    while (end > 0 && bytes.get(end - 1) != '\n') {
      end--;
    }
    if (end == 0 && bytes.hasRemaining()) {
      return List.of();
    }
    int length = end > 0 ? end : BYTES; // a longer line is cut
    position += length;
    List<String> lines =
        new String(bytes.array(), 0, length, StandardCharsets.UTF_8).lines().toList();
    List<String> all = new ArrayList<>(last);
    all.addAll(lines);
    last = List.copyOf(all.subList(Math.max(0, all.size() - LAST), all.size()));
    return lines;
  }

  /** The last lines that were read. */
  List<String> lastLines() {
    return last;
  }
}
