package io.election.benchmarks.scale;

import java.util.EnumMap;
import java.util.HashMap;
import java.util.Map;

/** What happens in a simulation. */
final class SimulatedFigures {

  private final Map<Call, long[]> durations = new EnumMap<>(Call.class);

  private final Map<String, Long> takenAt = new HashMap<>();

  private long statements;

  private long lost;

  SimulatedFigures() {
    for (Call call : Call.values()) {
      this.durations.put(call, new long[Durations.BUCKETS]);
    }
  }

  void record(Call call, long nanos) {
    counts(call)[Durations.bucket(nanos)]++;
  }

  private long[] counts(Call call) {
    return this.durations.computeIfAbsent(call, (key) -> new long[Durations.BUCKETS]);
  }

  void statements(int count) {
    this.statements += count;
  }

  void lost() {
    this.lost++;
  }

  void taken(String election, long instant) {
    this.takenAt.put(election, instant);
  }

  Durations durations(Call call) {
    return Durations.of(counts(call).clone());
  }

  long statementCount() {
    return this.statements;
  }

  long lostCount() {
    return this.lost;
  }

  /** When each election was taken last. */
  Map<String, Long> takenAt() {
    return this.takenAt;
  }
}
