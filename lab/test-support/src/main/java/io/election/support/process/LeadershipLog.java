package io.election.support.process;

import io.election.ElectionService;
import io.election.Leadership;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * A log of when a process claimed to lead, in a memory-mapped file: its entries survive {@code
 * kill -9}, and other processes can read it at any time. All processes of a machine share
 * the clock of {@link System#nanoTime()}.
 *
 * <p>A process that takes part more than once (in several elections, or as several nodes) has a
 * track for each. A process that takes part once has only track 0.
 */
public final class LeadershipLog {

  /** The term to record for "does not lead". */
  public static final long NOT_LEADING = -1;

  /** The deadline of a process that does not lead, or leads without end. */
  public static final long NO_DEADLINE = 0;

  private static final int CAPACITY = 100_000;
  private static final int COUNT = 0;
  private static final int SAMPLED_AT = 8;
  private static final int LEADING = 16;
  private static final int LED = 24;
  private static final int DEADLINE = 32;
  private static final int CLAIMS = 40;
  private static final int CLAIM_BYTES = 32;

  private final ByteBuffer buffer;
  private final long silence;

  /** By track that leads, the index of its claim. */
  private final Map<Integer, Integer> open = new HashMap<>();

  private LeadershipLog(ByteBuffer buffer, long silence) {
    this.buffer = buffer;
    this.silence = silence;
  }

  /** Opens a log; creates it if it does not exist. */
  public static LeadershipLog open(Path path) {
    return open(path, Duration.ofNanos(Long.MAX_VALUE));
  }

  /** Opens a log in which a claim ends if the process is not sampled for some time. */
  public static LeadershipLog open(Path path, Duration silence) {
    try (FileChannel channel = FileChannel.open(
        path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      return new LeadershipLog(
          channel.map(FileChannel.MapMode.READ_WRITE, 0, at(CAPACITY)), silence.toNanos());
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  /** Creates a log without a file, for a few claims, and for one thread at a time. */
  static LeadershipLog inMemory() {
    return new LeadershipLog(ByteBuffer.allocate(at(1_000)), Long.MAX_VALUE);
  }

  public void sample(ElectionService election) {
    long before = System.nanoTime();
    boolean leader = election.isLeader();
    long after = System.nanoTime();
    if (!leader) {
      this.buffer.putLong(DEADLINE, NO_DEADLINE);
      sample(before, after, NOT_LEADING);
      return;
    }
    // If leadership ends between the two questions, the term is unknown and the sample is left out.
    election.leadership().ifPresent((leadership) -> {
      this.buffer.putLong(DEADLINE, deadline(leadership, after));
      sample(before, after, leadership.term());
    });
  }

  private static long deadline(Leadership leadership, long now) {
    return leadership.remaining().equals(Leadership.UNLIMITED)
        ? NO_DEADLINE
        : now + leadership.remaining().toNanos();
  }

  /** Records an answer of a process that takes part once. */
  public void sample(long before, long after, long term) {
    sample(0, before, after, term);
  }

  /** Records an answer between two instants: on a track, the term or {@link #NOT_LEADING}. */
  public void sample(int track, long before, long after, long term) {
    Integer current = this.open.get(track);
    if (term == NOT_LEADING) {
      this.open.remove(track);
    } else if (current != null
        && term(current) == term
        && before - this.buffer.getLong(SAMPLED_AT) < this.silence) {
      this.buffer.putLong(at(current) + 24, before);
    } else {
      this.open.put(track, add(track, term, after));
    }
    this.buffer.putLong(LEADING, this.open.isEmpty() ? 0 : 1);
    this.buffer.putLong(SAMPLED_AT, after);
  }

  private int add(int track, long term, long instant) {
    int count = count();
    if (at(count) == this.buffer.capacity()) {
      throw new IllegalStateException("More than " + count + " claims");
    }
    this.buffer.putLong(at(count), track);
    this.buffer.putLong(at(count) + 8, term);
    this.buffer.putLong(at(count) + 16, instant);
    this.buffer.putLong(at(count) + 24, instant);
    this.buffer.putLong(COUNT, count + 1L);
    return count;
  }

  public void led(int elections) {
    this.buffer.putLong(LED, elections);
  }

  public long led() {
    return this.buffer.getLong(LED);
  }

  public boolean isLeading() {
    return this.buffer.getLong(LEADING) == 1;
  }

  /** The end of the lease by the last sample; {@link #NO_DEADLINE} if there is none. */
  public long deadline() {
    return this.buffer.getLong(DEADLINE);
  }

  /** The instant of the last sample; 0 if there is none. */
  public long sampledAt() {
    return this.buffer.getLong(SAMPLED_AT);
  }

  /** The claims of a process that takes part once, in their order. */
  public List<Claim> claims(String node) {
    return claims(node, Long.MIN_VALUE);
  }

  /** The same, except claims that ended before an instant. */
  public List<Claim> claims(String node, long since) {
    List<Claim> claims = new ArrayList<>();
    for (int i = count() - 1; i >= 0 && this.buffer.getLong(at(i) + 24) >= since; i--) {
      claims.add(claim(node, i));
    }
    Collections.reverse(claims);
    return claims;
  }

  /** The claims of each track in their order. */
  public Map<Integer, List<Claim>> claimsByTrack(String node) {
    Map<Integer, List<Claim>> claims = new TreeMap<>();
    int count = count();
    for (int i = 0; i < count; i++) {
      claims
          .computeIfAbsent((int) this.buffer.getLong(at(i)), (ignored) -> new ArrayList<>())
          .add(claim(node, i));
    }
    return claims;
  }

  private Claim claim(String node, int index) {
    return new Claim(
        node,
        term(index),
        this.buffer.getLong(at(index) + 16),
        this.buffer.getLong(at(index) + 24));
  }

  private int count() {
    return (int) this.buffer.getLong(COUNT);
  }

  private long term(int index) {
    return this.buffer.getLong(at(index) + 8);
  }

  private static int at(int index) {
    return CLAIMS + CLAIM_BYTES * index;
  }
}
