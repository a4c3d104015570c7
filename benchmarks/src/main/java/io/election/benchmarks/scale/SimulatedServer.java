package io.election.benchmarks.scale;

import io.election.lease.LeaseRow;
import io.election.lease.LeaseStore.Reading;
import io.election.lease.MemoryLeaseStore;
import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.PriorityQueue;
import java.util.Set;

/**
 * A database on simulated time: its records, so many cores with one queue before them, and the locks of
 * its rows. Calls have to come in the order of their instants.
 */
final class SimulatedServer {

  /** The records. */
  final MemoryLeaseStore records = new MemoryLeaseStore();

  private final PriorityQueue<Long> cores = new PriorityQueue<>();

  private final Map<String, LeaseRow> rows = new HashMap<>();

  private final Map<String, Long> writtenAt = new HashMap<>();

  private final Map<String, Long> unlockedAt = new HashMap<>();

  private double busyMicros;

  SimulatedServer(int cores) {
    for (int i = 0; i < cores; i++) {
      this.cores.add(0L);
    }
  }

  /** When what was sent at an instant is done, after all that was sent before. */
  long serve(long sent, double micros) {
    long free = this.cores.remove();
    long done = Math.max(sent, free) + nanos(micros);
    this.cores.add(done);
    this.busyMicros += micros;
    return done;
  }

  /** The same with a row that is locked until it is done, and for a while after. */
  long serveLocked(long sent, double micros, double lockedMicros, String row) {
    long done = Math.max(serve(sent, micros), this.unlockedAt.getOrDefault(row, 0L));
    this.unlockedAt.put(row, done + nanos(lockedMicros));
    return done + nanos(lockedMicros);
  }

  private static long nanos(double micros) {
    return (long) (micros * 1000);
  }

  /** The processor time that was asked for so far. */
  double busyMicros() {
    return this.busyMicros;
  }

  void wrote(String row, long instant) {
    this.rows.remove(row);
    this.writtenAt.put(row, instant);
  }

  Map<String, Reading> read(Set<String> ids, long instant) {
    Map<String, Reading> readings = new LinkedHashMap<>();
    for (String id : ids) {
      LeaseRow row = this.rows.get(id);
      if (row == null) {
        Reading reading = this.records.read(Set.of(id)).get(id);
        if (reading == null) {
          continue;
        }
        row = reading.row();
        this.rows.put(id, row);
      }
      long age = Math.max(0, instant - this.writtenAt.getOrDefault(id, instant));
      readings.put(id, new Reading(row, Duration.ofNanos(age)));
    }
    return readings;
  }
}
