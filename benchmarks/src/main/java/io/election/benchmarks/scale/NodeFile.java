package io.election.benchmarks.scale;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;

/**
 * What the nodes of one process measure, in a mapped file: it survives {@code kill -9}, and others can
 * read it at any time.
 */
final class NodeFile {

  /** What is counted. */
  enum Counter {
    /** Set by the program that measures: the nodes may start. */
    GO,
    /** Set by the program that measures: the nodes of this process shall lead everything. */
    DESIGNATE,
    /** When all nodes were last asked. */
    SWEPT_AT,
    /** How long that took. */
    SWEEP_NANOS,
    /** Nodes that have started. */
    STARTED,
    /** Leaderships that began. */
    ACQUIRED,
    /** Leaderships that ended without the node's own doing. */
    LOST,
    /** Leases that were not the node's any more when it renewed them. */
    REFUSED_RENEWALS,
    /** Claims that are written. */
    CLAIMS
  }

  private static final VarHandle LONGS =
      MethodHandles.byteBufferViewVarHandle(long[].class, ByteOrder.nativeOrder());

  private static final int CAPACITY = 50_000;

  private static final int DURATIONS = Counter.values().length;

  private static final int CLAIMS = DURATIONS + Call.values().length * Durations.BUCKETS;

  private final MappedByteBuffer buffer;

  private NodeFile(MappedByteBuffer buffer) {
    this.buffer = buffer;
  }

  static NodeFile open(Path path) {
    try (FileChannel channel = FileChannel.open(
        path, StandardOpenOption.CREATE, StandardOpenOption.READ, StandardOpenOption.WRITE)) {
      long length = Long.BYTES * (CLAIMS + (long) Tenure.LONGS * CAPACITY);
      return new NodeFile(channel.map(FileChannel.MapMode.READ_WRITE, 0, length));
    } catch (IOException ex) {
      throw new UncheckedIOException(ex);
    }
  }

  long get(Counter counter) {
    return get(counter.ordinal());
  }

  void set(Counter counter, long value) {
    set(counter.ordinal(), value);
  }

  void add(Counter counter, long value) {
    LONGS.getAndAdd(this.buffer, counter.ordinal() * Long.BYTES, value);
  }

  void record(Call call, long nanos) {
    int at = DURATIONS + call.ordinal() * Durations.BUCKETS + Durations.bucket(nanos);
    LONGS.getAndAdd(this.buffer, at * Long.BYTES, 1L);
  }

  Durations durations(Call call) {
    long[] counts = new long[Durations.BUCKETS];
    for (int i = 0; i < counts.length; i++) {
      counts[i] = get(DURATIONS + call.ordinal() * Durations.BUCKETS + i);
    }
    return Durations.of(counts);
  }

  /** Adds a tenure, and gives its place. Used by one thread. */
  int add(Tenure tenure) {
    int place = (int) get(Counter.CLAIMS);
    if (place == CAPACITY) {
      throw new IllegalStateException("More than " + CAPACITY + " tenures");
    }
    put(place, tenure);
    set(Counter.CLAIMS, place + 1L);
    return place;
  }

  void put(int place, Tenure tenure) {
    long[] cells = tenure.cells();
    for (int i = 0; i < cells.length; i++) {
      set(CLAIMS + place * Tenure.LONGS + i, cells[i]);
    }
  }

  List<Tenure> tenures() {
    List<Tenure> tenures = new ArrayList<>();
    int count = (int) get(Counter.CLAIMS);
    for (int place = 0; place < count; place++) {
      long[] cells = new long[Tenure.LONGS];
      for (int i = 0; i < cells.length; i++) {
        cells[i] = get(CLAIMS + place * Tenure.LONGS + i);
      }
      tenures.add(Tenure.of(cells));
    }
    return tenures;
  }

  private long get(int index) {
    return (long) LONGS.getVolatile(this.buffer, index * Long.BYTES);
  }

  private void set(int index, long value) {
    LONGS.setVolatile(this.buffer, index * Long.BYTES, value);
  }
}
