package io.election.benchmarks.candidates;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;

/**
 * The claims of one process in a mapped file: what was written survives {@code kill -9}, and others
 * can read it at any time. {@link System#nanoTime()} is one clock for all processes of a machine.
 */
public final class ClaimFile {

  private static final int CAPACITY = 100_000;

  /** Who is not asked for so long is not known to claim anything, for instance while it is paused. */
  private static final long SILENCE = TimeUnit.MILLISECONDS.toNanos(100);

  private static final int COUNT = 0;

  private static final int SAMPLED_AT = 8;

  private static final int LEADING = 16;

  private static final int LED = 24;

  private static final int QUESTION = 32;

  private static final int CLAIMS = 48;

  private final MappedByteBuffer buffer;

  private ClaimFile(MappedByteBuffer buffer) {
    this.buffer = buffer;
  }

  /**
   * Opens a file, and makes it if it is not there.
   *
   * @param path the file
   * @return its claims
   */
  public static ClaimFile open(Path path) {
    try (FileChannel channel = FileChannel.open(
        path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return new ClaimFile(channel.map(FileChannel.MapMode.READ_WRITE, 0, CLAIMS + 16L * CAPACITY));
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /**
   * Records a sample.
   *
   * @param before the instant before the question
   * @param after the instant after the answer
   * @param leader the answer
   */
  void sample(long before, long after, boolean leader) {
    boolean goesOn =
        this.buffer.getLong(LEADING) == 1 && before - this.buffer.getLong(SAMPLED_AT) < SILENCE;
    int count = (int) this.buffer.getLong(COUNT);
    if (leader && goesOn) {
      this.buffer.putLong(at(count - 1) + 8, before);
    } else if (leader) {
      if (count == CAPACITY) {
        throw new IllegalStateException("More than " + CAPACITY + " claims");
      }
      this.buffer.putLong(at(count), after);
      this.buffer.putLong(at(count) + 8, after);
      this.buffer.putLong(COUNT, count + 1L);
    }
    this.buffer.putLong(LEADING, leader ? 1 : 0);
    this.buffer.putLong(SAMPLED_AT, after);
  }

  /** Records in how many elections the process leads. */
  void led(int elections) {
    this.buffer.putLong(LED, elections);
  }

  /**
   * In how many elections the process leads.
   *
   * @return the number when it was last counted
   */
  public long led() {
    return this.buffer.getLong(LED);
  }

  /** Records what a question costs. */
  void question(double nanos) {
    this.buffer.putDouble(QUESTION, nanos);
  }

  /**
   * What a question costs.
   *
   * @return nanoseconds; 0 if not measured yet
   */
  public double question() {
    return this.buffer.getDouble(QUESTION);
  }

  /**
   * Whether the process said that it leads when it was last asked.
   *
   * @return the last answer
   */
  public boolean isLeading() {
    return this.buffer.getLong(LEADING) == 1;
  }

  /**
   * When the process was last asked.
   *
   * @return the instant, 0 for never
   */
  public long sampledAt() {
    return this.buffer.getLong(SAMPLED_AT);
  }

  /**
   * The claims that end after an instant.
   *
   * @param node the name of the process
   * @param since the instant
   * @return the claims in their order
   */
  public List<Claim> claims(String node, long since) {
    List<Claim> claims = new ArrayList<>();
    for (int i = (int) this.buffer.getLong(COUNT) - 1; i >= 0; i--) {
      Claim claim = new Claim(node, this.buffer.getLong(at(i)), this.buffer.getLong(at(i) + 8));
      if (claim.to() - since < 0) {
        break;
      }
      claims.add(0, claim);
    }
    return claims;
  }

  private static int at(int index) {
    return CLAIMS + 16 * index;
  }
}
