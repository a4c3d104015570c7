package io.election.faults;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * The claims of one process in a mapped file: what was written survives {@code kill -9}, and others
 * can read it at any time.
 */
final class ClaimFile {

  private static final int CAPACITY = 10_000;

  private static final int COUNT = 0;

  private static final int SAMPLED_AT = 8;

  private static final int LEADING = 16;

  private static final int LONGEST_SILENCE = 24;

  private static final int CLAIMS = 32;

  private final MappedByteBuffer buffer;

  private ClaimFile(MappedByteBuffer buffer) {
    this.buffer = buffer;
  }

  static ClaimFile open(Path path) {
    try (FileChannel channel = FileChannel.open(
        path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return new ClaimFile(channel.map(FileChannel.MapMode.READ_WRITE, 0, CLAIMS + 24L * CAPACITY));
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** Records a sample: instants before and after the question, and the term, or -1 for "no". */
  void sample(long before, long after, long term) {
    long last = this.buffer.getLong(SAMPLED_AT);
    if (last != 0 && after - last > this.buffer.getLong(LONGEST_SILENCE)) {
      this.buffer.putLong(LONGEST_SILENCE, after - last);
    }
    int count = (int) this.buffer.getLong(COUNT);
    if (term >= 0) {
      if (this.buffer.getLong(LEADING) == 1 && term(count - 1) == term) {
        this.buffer.putLong(at(count - 1) + 16, before);
      } else {
        if (count == CAPACITY) {
          throw new IllegalStateException("More than " + CAPACITY + " claims");
        }
        this.buffer.putLong(at(count), term);
        this.buffer.putLong(at(count) + 8, after);
        this.buffer.putLong(at(count) + 16, after);
        this.buffer.putLong(COUNT, count + 1L);
      }
    }
    this.buffer.putLong(LEADING, term >= 0 ? 1 : 0);
    this.buffer.putLong(SAMPLED_AT, after);
  }

  boolean isLeading() {
    return this.buffer.getLong(LEADING) == 1;
  }

  boolean isSampling() {
    return this.buffer.getLong(SAMPLED_AT) != 0;
  }

  /** The last sample's {@link System#nanoTime()}. */
  long sampledAt() {
    return this.buffer.getLong(SAMPLED_AT);
  }

  List<Claim> claims(String node) {
    List<Claim> claims = new ArrayList<>();
    int count = (int) this.buffer.getLong(COUNT);
    for (int i = 0; i < count; i++) {
      claims.add(new Claim(
          node, term(i), this.buffer.getLong(at(i) + 8), this.buffer.getLong(at(i) + 16)));
    }
    return claims;
  }

  private long term(int index) {
    return this.buffer.getLong(at(index));
  }

  private static int at(int index) {
    return CLAIMS + 24 * index;
  }
}
