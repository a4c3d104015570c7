package io.election.benchmarks.scale;

import io.election.benchmarks.scale.NodeFile.Counter;
import io.election.benchmarks.servers.Server;
import java.util.EnumMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * All that was counted until an instant.
 *
 * @param instant by {@link System#nanoTime()}
 * @param server by the server
 * @param calls by the nodes
 * @param counters by the nodes
 */
record Snapshot(
    long instant,
    Map<String, Double> server,
    Map<Call, Durations> calls,
    Map<Counter, Long> counters) {

  static Snapshot take(Server server, List<NodesProcess> processes) {
    Map<Call, Durations> calls = new EnumMap<>(Call.class);
    Map<Counter, Long> counters = new EnumMap<>(Counter.class);
    for (NodesProcess process : processes) {
      for (Call call : Call.values()) {
        calls.merge(call, process.file().durations(call), Durations::plus);
      }
      for (Counter counter : Counter.values()) {
        counters.merge(counter, process.file().get(counter), Long::sum);
      }
    }
    return new Snapshot(System.nanoTime(), server.counters(), calls, counters);
  }

  /** What happened since an earlier one, by measure. */
  Map<String, Double> since(Snapshot before) {
    Map<String, Double> measures = new LinkedHashMap<>();
    double seconds = (this.instant - before.instant) / 1e9;
    measures.put("window_s", seconds);
    Map<String, String> rates = new LinkedHashMap<>();
    rates.put("Questions", "statements_per_s");
    rates.put("Com_select", "selects_per_s");
    rates.put("Com_update", "updates_per_s");
    rates.put("Com_insert", "inserts_per_s");
    rates.put("Com_commit", "commits_per_s");
    rates.put("Com_rollback", "rollbacks_per_s");
    rates.put("cpu_seconds", "server_cores");
    rates.forEach((counter, measure) -> {
      if (this.server.containsKey(counter)) {
        measures.put(measure, counted(before, counter) / seconds);
      }
    });
    measures.put("statements_count", counted(before, "Questions"));
    measures.put("connections_count", counted(before, "Connections"));
    measures.put("row_lock_waits_count", counted(before, "Innodb_row_lock_waits"));
    measures.put("row_lock_wait_ms", counted(before, "Innodb_row_lock_time"));
    Map.of(Call.RENEW, "renewal", Call.READ, "poll", Call.RENEWAL_AGE, "renewal_age")
        .forEach((call, name) -> {
          Durations durations = calls(before, call);
          measures.put(name + "_count", (double) durations.count());
          measures.put(name + "_p50_ms", durations.millis(0.5));
          measures.put(name + "_p99_ms", durations.millis(0.99));
          measures.put(name + "_p999_ms", durations.millis(0.999));
          measures.put(name + "_max_ms", durations.millis(1));
        });
    Map.of(
            Call.TAKE, "take_count",
            Call.REFUSED_TAKE, "refused_take_count",
            Call.FAILED, "failed_call_count",
            Call.FAILED_RENEW, "failed_renewal_count")
        .forEach((call, name) -> measures.put(name, (double) calls(before, call).count()));
    measures.put("take_p50_ms", calls(before, Call.TAKE).millis(0.5));
    measures.put("take_max_ms", calls(before, Call.TAKE).millis(1));
    measures.put("lost_count", counted(before, Counter.LOST));
    measures.put("refused_renewal_count", counted(before, Counter.REFUSED_RENEWALS));
    measures.values().removeIf((value) -> value.isNaN());
    return measures;
  }

  private Durations calls(Snapshot before, Call call) {
    return this.calls
        .getOrDefault(call, Durations.none())
        .since(before.calls.getOrDefault(call, Durations.none()));
  }

  private double counted(Snapshot before, String counter) {
    return this.server.getOrDefault(counter, 0.0) - before.server.getOrDefault(counter, 0.0);
  }

  private double counted(Snapshot before, Counter counter) {
    return this.counters.getOrDefault(counter, 0L) - before.counters.getOrDefault(counter, 0L);
  }
}
